// The limits that `welcome` contains: those that a client needs to know to stay within them.

extension Limits {
    func write(into writer: inout JSONWriter) {
        for (name, path) in Self.said { writer.field(name, Int64(self[keyPath: path])) }
        writer.field("subscribeJobs", Int64(Self.subscribeJobs))
    }

    /// Limits that an older gateway does not send have their default values.
    init(from reader: inout JSONReader) throws(BadMessage) {
        var limits = Limits()
        try reader.object { (name, reader) throws(BadMessage) in
            guard let said = Self.said.first(where: { name.equals($0.name) }) else {
                try reader.value()
                return
            }
            limits[keyPath: said.path] = Int(clamping: try reader.integer())
        }
        self = limits
    }

    private static let said: [(name: StaticString, path: any WritableKeyPath<Limits, Int> & Sendable)] = [
        ("messageBytes", \.messageBytes), ("messagesPerSecond", \.messagesPerSecond),
        ("messagesBurst", \.messagesBurst), ("subscriptions", \.subscriptions), ("watchedZones", \.watchedZones),
        ("positionsPerSecond", \.positionsPerSecond),
    ]
}
