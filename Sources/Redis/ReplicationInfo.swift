// The parts of a node's INFO replication that Enroute needs. Parsed in one pass over the bytes, because every event
// loop queries every master once a second.

/// The replication state of one node.
struct ReplicationInfo: Hashable, Sendable {
    /// `role` is `master`.
    private(set) var isMaster = false
    /// `master_replid`, the id of the node's history.
    private(set) var history: [UInt8]?
    /// `master_replid2` is set: the node continues the history of another master.
    private(set) var hasPreviousHistory = false
    /// Replicas that receive writes. As for WAIT, replicas that still copy the data set do not count.
    private(set) var onlineReplicas = 0

    /// - Parameter text: the reply, lines of `name:value`.
    init(_ text: some Sequence<UInt8>) {
        for line in Array(text).split(whereSeparator: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
            // The first letter rules out most lines.
            switch line.first {
            case UInt8(ascii: "r"): if line.elementsEqual("role:master".utf8) { self.isMaster = true }
            case UInt8(ascii: "m"):
                if let value = line.value(of: "master_replid:") {
                    self.history = Array(value)
                } else if let value = line.value(of: "master_replid2:") {
                    self.hasPreviousHistory = value.contains { $0 != UInt8(ascii: "0") }
                }
            case UInt8(ascii: "s"):
                guard let value = line.value(of: "slave"), let colon = value.firstIndex(of: UInt8(ascii: ":")),
                    value[..<colon].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
                else { continue }
                let fields = value[colon...].dropFirst().split(separator: UInt8(ascii: ","))
                if fields.contains(where: { $0.elementsEqual("state=online".utf8) }) { self.onlineReplicas += 1 }
            default: continue
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// The rest of the line, if it starts with `prefix`.
    fileprivate func value(of prefix: StaticString) -> ArraySlice<UInt8>? {
        let count = prefix.utf8CodeUnitCount
        guard self.count >= count,
            self.prefix(count).elementsEqual(UnsafeBufferPointer(start: prefix.utf8Start, count: count))
        else { return nil }
        return self.dropFirst(count)
    }
}
