// What a server says about replication: its answer to INFO replication, read.

private import Redis

/// A server's part in replication.
package struct ReplicationState: Sendable {
    private let fields: [String: String]

    /// How long replicas may take to have what was written, ms.
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
    /// Of a master: replicas that are sent what is written. For a moment there may be fewer than say of themselves that
    /// they are in step: a replica that was sent a copy has to acknowledge it first.
    package var replicaCount: Int {
        self.fields.count { name, value in
            name.hasPrefix("slave") && name.last?.isNumber == true && value.contains("state=online")
        }
    }
    /// Of a replica: whether it is connected, and has what its master had.
    package var isInStep: Bool { self.fields["master_link_status"] == "up" }
    package var masterPort: Int? { self.fields["master_port"].flatMap(Int.init) }
    /// Changes with each master.
    package var replicationID: String { self.fields["master_replid"] ?? "" }
}
