// Which node of a cluster owns which slot: what CLUSTER SLOTS says, put right by every MOVED.

/// The owners of all slots.
struct ClusterMap: Hashable, Sendable {
    private(set) var owners = [RedisAddress.Node?](repeating: nil, count: HashSlot.count)

    init() {}

    /// - Parameters:
    ///   - answer: of CLUSTER SLOTS: [first slot, last slot, [host, port, …] of the master, replicas…] for each range.
    ///   - node: who answered; it names itself without a host when it does not know its own.
    init?(_ answer: RESPValue, from node: RedisAddress.Node) {
        guard let ranges = answer.array else { return nil }
        for range in ranges {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].integer, let last = parts[1].integer,
                let master = parts[2].array, master.count >= 2, let port = master[1].integer,
                0 <= first, first <= last, last < HashSlot.count
            else { return nil }
            let host = master[0].text ?? ""
            let owner = RedisAddress.Node(host: host.isEmpty || host == "?" ? node.host : host, port: Int(port))
            for slot in Int(first)...Int(last) { self.owners[slot] = owner }
        }
    }

    mutating func learn(_ redirection: Redirection) { self.owners[redirection.slot] = redirection.node }

    var nodes: Set<RedisAddress.Node> { Set(self.owners.compactMap { $0 }) }
    var isWhole: Bool { !self.owners.contains(nil) }
}

/// `MOVED 3999 127.0.0.1:6381`: the slot is there for good; `ASK …`: this once.
struct Redirection: Hashable, Sendable {
    var isForGood: Bool
    var slot: Int
    var node: RedisAddress.Node

    /// - Parameter asked: the node that answered; a redirection without a host means the same host.
    init?(_ error: any Error, asked: RedisAddress.Node) {
        guard case RedisError.refused(let code, let message) = error, code == "MOVED" || code == "ASK" else {
            return nil
        }
        let words = message.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]), (0..<HashSlot.count).contains(slot),
            let colon = words[2].lastIndex(of: ":"), let port = Int(words[2][words[2].index(after: colon)...])
        else { return nil }
        let host = words[2][..<colon]
        self.isForGood = code == "MOVED"
        self.slot = slot
        self.node = RedisAddress.Node(host: host.isEmpty || host == "?" ? asked.host : String(host), port: port)
    }
}
