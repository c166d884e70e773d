// The replication state of a server: its parsed reply to INFO replication.

private import Redis

/// The replication state of a server.
package struct ReplicationState: Sendable {
    private let fields: [String: String]

    /// How long replicas may take to receive a write, ms.
    package static let waitMilliseconds = 5000

    package init(of server: LoopbackEndpoint) async throws {
        let text = try await server.carryOut("INFO", "replication").text ?? ""
        let pairs = text.split(whereSeparator: \.isNewline).compactMap { line -> (String, String)? in
            let words = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return words.count == 2 ? (words[0], words[1]) : nil
        }
        self.fields = Dictionary(pairs, uniquingKeysWith: { $1 })
    }

    package var isMaster: Bool { self.fields["role"] == "master" }
    /// For a master: the number of replicas that receive writes. It may briefly be lower than the number of replicas that claim
    /// to be in sync: a replica that received a copy must acknowledge it first.
    package var replicaCount: Int {
        self.fields.count { name, value in
            name.hasPrefix("slave") && name.last?.isNumber == true && value.contains("state=online")
        }
    }
    /// For a replica: whether it is connected, and has what its master had.
    package var isInStep: Bool { self.fields["master_link_status"] == "up" }
    package var masterPort: Int? { self.fields["master_port"].flatMap(Int.init) }
    /// Changes with each master.
    package var replicationID: String { self.fields["master_replid"] ?? "" }
}
