// How sure a gateway has to be that a change outlives the ledger's master.

import Redis

extension ProcessConfiguration {
    /// More replicas than anybody has.
    private static let mostReplicas = 100

    /// `ENROUTE_REDIS_LEDGER_WAIT_REPLICAS`: replicas that a status or a new job is to reach before it is answered 200.
    func replicaQuorum() throws -> ReplicaQuorum {
        let name = "ENROUTE_REDIS_LEDGER_WAIT_REPLICAS"
        switch self.text(name) {
        case nil, "majority": return .majority
        case "all": return .all
        case let text?:
            guard let count = Int(text), (0...Self.mostReplicas).contains(count) else {
                throw ConfigurationError(
                    description: "\(name) is \(text); it must be majority, all, or a whole number from 0 to "
                        + "\(Self.mostReplicas).")
            }
            return .count(count)
        }
    }
}
