// Checks that the decoders of all messages share.

/// Records which members of an object have been read, to reject duplicates.
struct Members {
    private let what: StaticString
    private var seen: UInt32 = 0

    init(_ what: StaticString) { self.what = what }

    mutating func once(_ member: Int) throws(BadMessage) {
        guard self.seen & (1 << member) == 0 else { throw BadMessage("\(self.what) contains a member twice") }
        self.seen |= 1 << member
    }

    func required<Value>(_ value: Value?, _ name: StaticString) throws(BadMessage) -> Value {
        guard let value else { throw BadMessage("\(self.what) needs \(name)") }
        return value
    }
}

extension JSONReader {
    mutating func identifier<Kind>(_ what: StaticString) throws(BadMessage) -> Identifier<Kind> {
        let text = try self.string()
        guard let identifier = Identifier<Kind>(text) else {
            throw BadMessage("\(what) must be 1 to \(Identifier<Kind>.longest) characters of [A-Za-z0-9_-]")
        }
        return identifier
    }

    mutating func optionalDouble(in range: ClosedRange<Double>, _ rule: StaticString) throws(BadMessage) -> Double? {
        if self.null() { return nil }
        let value = try self.double()
        guard range.contains(value) else { throw BadMessage("\(rule)") }
        return value
    }

    mutating func batteryLevel() throws(BadMessage) -> Double? {
        try self.optionalDouble(in: Limits.batteryLevels, "battery must be a level from 0 to 1")
    }

    mutating func statusID(_ what: StaticString) throws(BadMessage) -> StatusID {
        guard let id = StatusID(try self.string()) else { throw BadMessage("\(what) must be a status id") }
        return id
    }
}
