// Metrics of Redis failures: failed commands and connection attempts by role and kind of error, and malformed values by kind
// of key. Both have more labels than `Counts` supports, so they write their own exposition.

/// Redis failures of a whole gateway. A value.
package struct RedisMetrics: Sendable {
    /// One of the two Redis instances.
    package enum Role: String, Hashable, Sendable, CaseIterable {
        case live, ledger
    }

    /// Why a command or an attempt to connect failed.
    package enum Failure: String, Hashable, Sendable, CaseIterable {
        /// Redis reached `maxmemory` and evicts nothing.
        case outOfMemory = "oom"
        /// Redis cannot persist to disk.
        case diskRefused = "misconf"
        case readOnly = "readonly"
        case tooFewReplicas = "noreplicas"
        case noPermission = "noperm"
        case loading, busy
        /// The cluster is down, or a replica has lost its master.
        case clusterDown = "clusterdown"
        case timedOut = "timeout"
        case disconnected
        /// Too many commands were queued.
        case overloaded
        /// The connection could not be opened, or Redis closed it immediately because it accepts no more clients.
        case unreachable
        /// AUTH, the TLS handshake or SELECT failed, or the node is not a master.
        case notSignedIn = "sign_in"
        case protocolViolation = "protocol"
        case other
    }

    private struct Error: Hashable {
        let role: Role
        let failure: Failure
    }

    private var errors: [Error: Int] = [:]
    private var refusals: [String: Int] = [:]

    package init() {}

    package mutating func recordFailure(_ failure: Failure, at role: Role) {
        self.errors[Error(role: role, failure: failure), default: 0] += 1
    }

    /// - Parameter kind: the kind of key or channel, from a closed list.
    package mutating func recordInvalidValue(_ kind: String) { self.refusals[kind, default: 0] += 1 }

    package mutating func add(_ other: RedisMetrics) {
        self.errors.merge(other.errors) { $0 + $1 }
        self.refusals.merge(other.refusals) { $0 + $1 }
    }

    package subscript(failure: Failure, role: Role) -> Int { self.errors[Error(role: role, failure: failure)] ?? 0 }

    package static let errorsName = "enroute_redis_errors_total"
    package static let refusalsName = "enroute_redis_invalid_values_total"

    /// Returns the metrics in Prometheus text format 0.0.4.
    ///
    /// - Parameter kinds: every kind of key or channel. Each gets a series even before its first failure, because an alert
    ///   on the increase of a counter misses the first increment of a series that appears with it.
    package func text(kinds: [String]) -> String {
        var lines = [
            "# HELP \(Self.errorsName) Redis commands and attempts to connect that failed, by Redis role and kind of error.",
            "# TYPE \(Self.errorsName) counter",
        ]
        for role in Role.allCases {
            lines += Failure.allCases.map {
                "\(Self.errorsName){role=\"\(role.rawValue)\",kind=\"\($0.rawValue)\"} \(self[$0, role])"
            }
        }
        lines += [
            "# HELP \(Self.refusalsName) Malformed values and messages from Redis that were ignored, by kind of key or channel.",
            "# TYPE \(Self.refusalsName) counter",
        ]
        lines += kinds.map { "\(Self.refusalsName){kind=\"\($0)\"} \(self.refusals[$0] ?? 0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
