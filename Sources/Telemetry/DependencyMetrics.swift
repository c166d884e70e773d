// The availability of every external dependency, as gauges. All gateways share these dependencies. An outage of one
// should therefore raise an alert but not make a gateway unready, because other gateways could not do better.

/// An external service that gateways use. For a routing provider, the raw value must be that of its `ArrivalSource`; otherwise
/// its state is not recorded.
package enum Dependency: String, Hashable, Sendable, CaseIterable {
    case redisLive = "redis_live"
    case redisLedger = "redis_ledger"
    /// The token issuer's JWKS endpoint.
    case tokenKeys = "token_keys"
    /// The Amazon SQS queue.
    case queue = "sqs"
    case azureMaps = "azure_maps"
    case mapbox
    case osrm
}

/// Whether a dependency is reachable, and since when. A value.
package struct DependencyState: Hashable, Sendable {
    package let dependency: Dependency
    package var isUp: Bool
    /// When `isUp` last changed, in ms since the Unix epoch.
    package var since: Int64

    package init(_ dependency: Dependency, isUp: Bool, since: Int64) {
        (self.dependency, self.isUp, self.since) = (dependency, isUp, since)
    }

    /// Records an observation. If it does not change `isUp`, `since` stays as it is.
    ///
    /// - Parameter since: when the observed state began.
    package mutating func observe(isUp: Bool, since: Int64) {
        guard isUp != self.isUp else { return }
        (self.isUp, self.since) = (isUp, since)
    }

    /// Combines the states seen by two observers: the dependency is up only if both see it up.
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
    /// The gauges in Prometheus text format 0.0.4.
    package var exposition: String {
        let up = self.map { "enroute_dependency_up{dependency=\"\($0.dependency.rawValue)\"} \($0.isUp ? 1 : 0)" }
        let since = self.map {
            "enroute_dependency_last_change_timestamp_seconds{dependency=\"\($0.dependency.rawValue)\"} \(Double($0.since) / 1000)"
        }
        let lines =
            [
                "# HELP enroute_dependency_up 1 while this gateway can reach the dependency, otherwise 0.",
                "# TYPE enroute_dependency_up gauge",
            ] + up + [
                "# HELP enroute_dependency_last_change_timestamp_seconds Unix time at which enroute_dependency_up last changed.",
                "# TYPE enroute_dependency_last_change_timestamp_seconds gauge",
            ] + since
        return lines.joined(separator: "\n") + "\n"
    }
}
