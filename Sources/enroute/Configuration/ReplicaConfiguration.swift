// How many replicas of the ledger must have a change before it is acknowledged.

import Redis

extension ProcessConfiguration {
    /// More replicas than any installation has.
    static let maxReplicas = 100

    func replicaQuorum() throws -> ReplicaQuorum {
        let name = "ENROUTE_REDIS_LEDGER_WAIT_REPLICAS"
        switch self.text(name) {
        case nil, "majority": return .majority
        case "all": return .all
        case let text?:
            guard let count = Int(text), (0...Self.maxReplicas).contains(count) else {
                throw ConfigurationError(
                    description: "\(name) is \(text); it must be majority, all, or a whole number from 0 to "
                        + "\(Self.maxReplicas).")
            }
            return .count(count)
        }
    }
}
