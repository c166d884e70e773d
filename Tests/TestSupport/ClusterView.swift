// A cluster as one of its nodes sees it: the parsed reply to CLUSTER NODES.

/// What one node knows about all nodes.
package struct ClusterView: Equatable, Sendable {
    package struct Node: Equatable, Sendable {
        package var id: String
        package var flags: Set<String>
        /// For a replica.
        package var masterID: String?
        package var epoch: Int
        package var slots: [ClosedRange<Int>]
        /// Slots being moved, as in Redis: `[slot->-id]` is leaving, `[slot-<-id]` is arriving.
        package var moving: [String]

        package var isMaster: Bool { self.flags.contains("master") }
        package func owns(_ slot: Int) -> Bool { self.slots.contains { $0.contains(slot) } }
    }

    package var nodes: [Node]

    /// - Parameter text: `id ip:port@cport flags master ping pong epoch link slots…`, one line per node.
    package init(_ text: String) {
        self.nodes = text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 8 else { return nil }
            return Node(
                id: words[0], flags: Set(words[2].split(separator: ",").map(String.init)),
                masterID: words[3] == "-" ? nil : words[3], epoch: Int(words[6]) ?? 0,
                slots: words[8...].compactMap(Self.range), moving: words[8...].filter { $0.hasPrefix("[") })
        }
    }

    /// The queried node.
    package var own: Node? { self.nodes.first { $0.flags.contains("myself") } }

    /// The owners of slots; nodes without slots are omitted.
    package var owners: [String: [ClosedRange<Int>]] {
        Dictionary(uniqueKeysWithValues: self.nodes.filter { !$0.slots.isEmpty }.map { ($0.id, $0.slots) })
    }

    /// `7` or `7-9`; `nil` for a slot being moved.
    private static func range(_ word: String) -> ClosedRange<Int>? {
        let ends = word.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return nil }
        return first...last
    }
}
