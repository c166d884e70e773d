// Opaque links to follow one job without an account: the link names a secret, the secret stands for a job here.

package import EnrouteWire
package import NIOCore
package import Redis

/// Secrets of tracking links at the live instance. May be used from any thread.
package struct TrackingLinks: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    /// Characters of a secret: 128 random bits in hexadecimal.
    package static let length = Secret.length

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Makes a link for a job.
    ///
    /// - Returns: its secret, to be shown once.
    package func issue(for job: JobID, lifetime: Duration) -> EventLoopFuture<String> {
        let secret = Secret.make()
        return self.live.send([
            "SET", .text(self.keyspace.link(secret)), .text(job.text), "PX", .integer(lifetime.milliseconds),
        ]).map { _ in secret }
    }

    /// - Returns: the job that a secret stands for; `nil` when there is none (any more).
    package func job(of secret: String) -> EventLoopFuture<JobID?> {
        guard Secret.isOne(secret) else { return self.live.eventLoop.makeSucceededFuture(nil) }
        return self.live.send(["GET", .text(self.keyspace.link(secret))]).map { $0.text.flatMap { JobID($0) } }
    }
}
