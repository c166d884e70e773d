// How long things are kept, and under which prefix: one value that every call into Redis is made with.

internal import Access

/// Lifetimes of what is kept in Redis, and the prefix of its names.
package struct LiveStateSettings: Sendable {
    package var keyspace = Keyspace()
    /// A job's record and log, after the last change.
    package var retention: Duration = .seconds(48 * 3600)
    /// The last known position, after the last fix.
    package var positionLifetime: Duration = .seconds(600)
    /// Travel mode, from its first start for a job (BR-002).
    package var travelCap: Duration = .seconds(4 * 3600)
    /// For how long a rider counts as reachable after a heartbeat, and its place as known.
    package var riderReach: Duration = .seconds(90)
    /// After how long without a heartbeat a rider without a task is set offline; never before `riderReach`.
    package var riderSilence: Duration = .seconds(1800)
    /// Entries of the streams `access` and `audit`, about.
    package var accessEntries = 100_000
    package var auditEntries = 100_000

    /// What was revoked, after it was: as long as a job is kept or a token lives, whichever is longer.
    package var revocationRetention: Duration { max(self.retention, .seconds(TokenVerifier.longestLifetime)) }

    package init() {}
}

extension Duration {
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
