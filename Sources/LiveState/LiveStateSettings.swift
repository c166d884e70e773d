// Lifetimes of data in Redis, and the prefix of all names: passed to every type that accesses Redis.

internal import Access

/// Lifetimes of data in Redis, and the prefix of its names.
package struct LiveStateSettings: Sendable {
    package var keyspace = Keyspace()
    /// A job's record and log, after their last change.
    package var retention: Duration = .seconds(48 * 3600)
    /// The last known position, after the last fix.
    package var positionLifetime: Duration = .seconds(600)
    /// Travel mode, from the rider's first start for a job (BR-002).
    package var maxSharingDuration: Duration = .seconds(4 * 3600)
    /// How long a rider counts as reachable, and its place as valid, after a heartbeat.
    package var heartbeatTimeout: Duration = .seconds(90)
    /// How long after its last heartbeat a rider without a task is set offline; at least `heartbeatTimeout`.
    package var autoOfflineDelay: Duration = .seconds(1800)
    /// Approximate length of the streams `access` and `audit`.
    package var accessEntries = 100_000
    package var auditEntries = 100_000
    /// The slots of a cluster in which this process has changed jobs. All copies of these settings share it.
    package let outboxes = WrittenOutboxes()

    /// How old the revocation of a job is when a change of the job renews it. Younger ones outlive the job, see
    /// `revocationRetention`, so a job that changes often adds few entries to the stream.
    package static let revocationRenewal = Duration.seconds(3600)

    /// Revocations: as long as job records are retained or a token lives, whichever is longer. In addition, twice the
    /// age at which they are renewed: the clocks of gateways and Redis may differ, and a renewal may have to be repeated.
    package var revocationRetention: Duration {
        max(self.retention, .seconds(TokenVerifier.longestRevocation)) + Self.revocationRenewal * 2
    }

    /// Browsers to notify: as long as a job lives after a change, but at least 48 h, the lifetime in earlier versions.
    /// Revocations are remembered at least as long.
    package var pushLifetime: Duration { max(self.retention, .seconds(48 * 3600)) }

    package init() {}
}

extension Duration {
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
