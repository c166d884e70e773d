// Which node of a cluster owns which slot, from CLUSTER SLOTS and corrected by every MOVED.

/// The owners of all slots.
struct ClusterMap: Hashable, Sendable {
    /// Every node that has owned a slot; `owners` holds indices into it.
    private var known: [RedisAddress.Node] = []
    /// -1: no owner.
    private var owners = [Int16](repeating: -1, count: HashSlot.count)
    /// The current owners.
    private(set) var nodes: Set<RedisAddress.Node> = []
    /// Whether every slot has an owner.
    private(set) var isWhole = false

    init() {}

    /// Number of slots that have an owner.
    var ownedSlots: Int { self.owners.count { $0 >= 0 } }

    /// - Parameters:
    ///   - answer: the reply to CLUSTER SLOTS: [first slot, last slot, [host, port, …] of the master, replicas…] per range.
    ///   - node: the node that replied. It omits its own host when it does not know it.
    init?(_ answer: RESPValue, from node: RedisAddress.Node) {
        guard let ranges = answer.array else { return nil }
        for range in ranges {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].integer, let last = parts[1].integer,
                let master = parts[2].array, master.count >= 2, let port = master[1].integer,
                (1...65_535).contains(port),
                0 <= first, first <= last, last < HashSlot.count
            else { return nil }
            let host = master[0].text ?? ""
            let owner = RedisAddress.Node(host: host.isEmpty || host == "?" ? node.host : host, port: Int(port))
            let number = self.number(of: owner)
            for slot in Int(first)...Int(last) { self.owners[slot] = number }
        }
        self.nodes = Set(self.known)
        self.isWhole = !self.owners.contains(-1)
    }

    func owner(of slot: Int) -> RedisAddress.Node? {
        let number = self.owners[slot]
        return number < 0 ? nil : self.known[Int(number)]
    }

    /// Records a new owner. A redirection says nothing about the other slots.
    mutating func apply(_ redirection: Redirection) {
        self.owners[redirection.slot] = self.number(of: redirection.node)
        self.nodes.insert(redirection.node)
    }

    private mutating func number(of node: RedisAddress.Node) -> Int16 {
        if let number = self.known.firstIndex(of: node) { return Int16(number) }
        // More nodes than a cluster can have: leave the slot without an owner until the next CLUSTER SLOTS.
        guard self.known.count < HashSlot.count else { return -1 }
        self.known.append(node)
        return Int16(self.known.count - 1)
    }
}

/// `MOVED 3999 127.0.0.1:6381` redirects permanently, `ASK …` only once.
struct Redirection: Hashable, Sendable {
    var isPermanent: Bool
    var slot: Int
    var node: RedisAddress.Node

    /// - Parameter asked: the node that answered; a redirection without a host means its host.
    init?(_ error: any Error, asked: RedisAddress.Node) {
        guard case RedisError.refused(let code, let message) = error, code == "MOVED" || code == "ASK" else {
            return nil
        }
        let words = message.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]), (0..<HashSlot.count).contains(slot),
            let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: colon)...]),
            port > 0
        else { return nil }
        let host = words[2][..<colon]
        self.isPermanent = code == "MOVED"
        self.slot = slot
        self.node = RedisAddress.Node(host: host.isEmpty || host == "?" ? asked.host : String(host), port: Int(port))
    }
}
