// The stops that a rider makes before a job, as the rider's app reports them. Stored in the live instance for two
// minutes; an app that keeps reporting sends them again.

package import EnrouteWire
package import NIOCore
package import Redis

/// The stops before a job. Safe to use from any thread.
package struct StopSequenceStore: Sendable {
    /// How long a sequence of stops is valid after it was reported.
    package static let lifetime = Duration.seconds(120)
    /// Maximum number of stops before a job: the maximum number of other jobs in one report.
    package static let maxStops = LocationReport.maxJobs - 1

    private let live: RedisClient
    private let keyspace: Keyspace

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Stores the stops that a rider makes before a job.
    ///
    /// - Parameters:
    ///   - stops: jobs whose stops come first, in order; an empty list clears them.
    ///   - job: a job for which the rider shares its position.
    /// - Throws: (in the future) `RedisError`.
    package func store(_ stops: [JobID], before job: JobID) -> EventLoopFuture<Void> {
        self.live.send([
            "SET", .text(self.keyspace.stopsBefore(job)),
            .text(stops.prefix(Self.maxStops).map(\.text).joined(separator: " ")), "PX",
            .integer(Self.lifetime.milliseconds),
        ]).map { _ in }
    }

    package func stops(before job: JobID) -> EventLoopFuture<[JobID]> {
        let key = self.keyspace.stopsBefore(job)
        return self.live.send(["GET", .text(key)]).map { answer in
            self.live.value(answer, of: key, by: "GET") { value in
                let ids = (value.text ?? "").split(separator: " ", omittingEmptySubsequences: false)
                let stops = ids == [""] ? [] : ids.map { JobID(String($0)) }
                return stops.count <= Self.maxStops && stops.allSatisfy { $0 != nil } ? stops.compactMap { $0 } : nil
            } ?? []
        }
    }
}
