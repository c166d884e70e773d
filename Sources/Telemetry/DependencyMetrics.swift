// What gateways depend on and share with each other: whether each of it answers, and since when. A gauge for each, because an
// outage of something shared belongs into alerts and not into readiness.

/// Something that gateways need and do not run themselves.
package enum Dependency: String, Hashable, Sendable, CaseIterable {
    case redisLive = "redis_live"
    case redisLedger = "redis_ledger"
    /// The issuer whose keys check tokens.
    case tokenKeys = "token_keys"
    /// The queue of SQS.
    case queue = "sqs"
    case azureMaps = "azure_maps"
    case mapbox
    case osrm
}

/// Whether a dependency answers, and since when. A value.
package struct DependencyState: Hashable, Sendable {
    package let dependency: Dependency
    package var isUp: Bool
    /// Since when it has been so, ms since the epoch.
    package var since: Int64

    package init(_ dependency: Dependency, isUp: Bool, since: Int64) {
        (self.dependency, self.isUp, self.since) = (dependency, isUp, since)
    }

    /// - Parameter since: when it became so; what is so already keeps its time.
    package mutating func heard(isUp: Bool, since: Int64) {
        guard isUp != self.isUp else { return }
        (self.isUp, self.since) = (isUp, since)
    }

    /// What several observers see together: up when all of them see it up.
    package func merged(with other: DependencyState) -> DependencyState {
        switch (self.isUp, other.isUp) {
        case (true, true): self.since >= other.since ? self : other
        case (false, false): self.since <= other.since ? self : other
        case (false, true): self
        case (true, false): other
        }
    }
}

extension [DependencyState] {
    /// Prometheus' text format 0.0.4.
    package var exposition: String {
        let up = self.map { "enroute_dependency_up{dependency=\"\($0.dependency.rawValue)\"} \($0.isUp ? 1 : 0)" }
        let since = self.map {
            "enroute_dependency_since_seconds{dependency=\"\($0.dependency.rawValue)\"} \(Double($0.since) / 1000)"
        }
        let lines =
            [
                "# HELP enroute_dependency_up 1 while this gateway can reach the dependency, otherwise 0.",
                "# TYPE enroute_dependency_up gauge",
            ] + up + [
                "# HELP enroute_dependency_since_seconds Unix time at which enroute_dependency_up last changed.",
                "# TYPE enroute_dependency_since_seconds gauge",
            ] + since
        return lines.joined(separator: "\n") + "\n"
    }
}
