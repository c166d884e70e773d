// What went wrong with Redis: errors by role and kind, and values that are not ours by what kind of name they had. Labels
// are two, so they have an exposition of their own.

/// Counted by a whole gateway. A value.
package struct RedisMetrics: Sendable {
    /// Which of the two instances.
    package enum Role: String, Hashable, Sendable, CaseIterable {
        case live, ledger
    }

    /// Why a command was not carried out.
    package enum Failure: String, Hashable, Sendable, CaseIterable {
        /// Memory is full, and nothing is evicted.
        case outOfMemory = "oom"
        /// It cannot write to its disk.
        case diskRefused = "misconf"
        case readOnly = "readonly"
        case tooFewReplicas = "noreplicas"
        case noPermission = "noperm"
        case loading, busy
        /// The cluster, or the master of a replica, is not there.
        case clusterDown = "clusterdown"
        case timedOut = "timeout"
        case disconnected
        /// Too many commands waited.
        case overloaded
        case unreachable
        /// AUTH, TLS, SELECT, or a node that is no master.
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

    package mutating func failed(_ failure: Failure, at role: Role) {
        self.errors[Error(role: role, failure: failure), default: 0] += 1
    }

    /// - Parameter kind: of the name, one of a closed list.
    package mutating func refused(_ kind: String) { self.refusals[kind, default: 0] += 1 }

    package mutating func add(_ other: RedisMetrics) {
        self.errors.merge(other.errors) { $0 + $1 }
        self.refusals.merge(other.refusals) { $0 + $1 }
    }

    package subscript(failure: Failure, role: Role) -> Int { self.errors[Error(role: role, failure: failure)] ?? 0 }

    package static let errorsName = "enroute_redis_errors_total"
    package static let refusalsName = "enroute_redis_data_refused_total"

    /// Prometheus' text format 0.0.4.
    ///
    /// - Parameter kinds: all that names can be, so that each is there from the beginning.
    package func text(kinds: [String]) -> String {
        var lines = [
            "# HELP \(Self.errorsName) Redis commands that failed, by Redis role and kind of error.",
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
