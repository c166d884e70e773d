// A cluster as one of its nodes sees it: its answer to CLUSTER NODES, read.

/// What one node knows of all.
package struct ClusterView: Equatable, Sendable {
    package struct Node: Equatable, Sendable {
        package var id: String
        package var flags: Set<String>
        /// Of a replica.
        package var masterID: String?
        package var epoch: Int
        package var slots: [ClosedRange<Int>]
        /// Slots on their way, as Redis says it: `[slot->-id]` leaves, `[slot-<-id]` comes.
        package var moving: [String]

        package var isMaster: Bool { self.flags.contains("master") }
        package func owns(_ slot: Int) -> Bool { self.slots.contains { $0.contains(slot) } }
    }

    package var nodes: [Node]

    /// - Parameter text: `id ip:port@cport flags master ping pong epoch link slots…`, a line for each node.
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

    /// The node that was asked.
    package var own: Node? { self.nodes.first { $0.flags.contains("myself") } }

    /// Who serves which slots, but for those without any.
    package var owners: [String: [ClosedRange<Int>]] {
        Dictionary(uniqueKeysWithValues: self.nodes.filter { !$0.slots.isEmpty }.map { ($0.id, $0.slots) })
    }

    /// `7` or `7-9`; nothing for a slot on its way.
    private static func range(_ word: String) -> ClosedRange<Int>? {
        let ends = word.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return nil }
        return first...last
    }
}
