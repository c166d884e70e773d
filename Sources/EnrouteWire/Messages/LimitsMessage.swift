// The limits that `welcome` contains: those that a client needs to know to stay within them.

extension Limits {
    func write(into writer: inout JSONWriter) {
        for (name, path) in Self.members { writer.field(name, Int64(self[keyPath: path])) }
        writer.field("subscribeJobs", Int64(Self.subscribeJobs))
    }

    /// Limits that an older gateway does not send have their default values.
    init(from reader: inout JSONReader) throws(BadMessage) {
        var limits = Limits()
        try reader.object { (name, reader) throws(BadMessage) in
            guard let member = Self.members.first(where: { name.equals($0.name) }) else {
                try reader.value()
                return
            }
            limits[keyPath: member.path] = Int(clamping: try reader.integer())
        }
        self = limits
    }

    private static let members: [(name: StaticString, path: any WritableKeyPath<Limits, Int> & Sendable)] = [
        ("messageBytes", \.messageBytes), ("messagesPerSecond", \.messagesPerSecond),
        ("messagesBurst", \.messagesBurst), ("subscriptions", \.subscriptions), ("watchedZones", \.watchedZones),
        ("positionsPerSecond", \.positionsPerSecond),
    ]
}
