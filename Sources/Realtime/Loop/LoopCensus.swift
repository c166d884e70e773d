// What one event loop contributes to the metrics and to the health of the gateway.

internal import Access
package import Telemetry

/// A snapshot of one event loop. A value.
package struct LoopCensus: Sendable {
    package var counts = Counts()
    package var durations = Durations()
    /// All sessions, including those that have not signed in.
    package var sessions = 0
    /// The sessions that have signed in.
    package var sessionRoles: [SessionRole: Int] = [:]
    /// Bytes queued for slow followers.
    package var outboxBytes = 0

    package init() {}

    init(
        counts: Counts, durations: Durations, sessions: Int, sessionRoles: [SessionRole: Int], outboxBytes: Int
    ) {
        self.counts = counts
        self.durations = durations
        self.sessions = sessions
        self.sessionRoles = sessionRoles
        self.outboxBytes = outboxBytes
    }

    /// Adds the numbers of another event loop.
    package mutating func add(_ other: LoopCensus) {
        self.counts.add(other.counts)
        self.durations.add(other.durations)
        self.sessions += other.sessions
        self.sessionRoles.merge(other.sessionRoles) { $0 + $1 }
        self.outboxBytes += other.outboxBytes
    }
}

extension SessionRole {
    /// The role of a client that signed in with a token.
    init(_ role: Role) {
        self =
            switch role {
            case .customer: .customer
            case .rider: .rider
            case .ops: .ops
            case .service: .service
            }
    }
}
