// Which stops a rider makes before a job, as its app tells by the order of a round. At the live instance, and for two minutes:
// a rider that goes on reporting says it again.

package import EnrouteWire
package import NIOCore
package import Redis

/// The stops before a job. May be used from any thread.
package struct RiderRounds: Sendable {
    /// How long a round is known after it was told.
    package static let lifetime = Duration.seconds(120)
    /// Stops before a job that are kept, at most: as many as a report has other jobs.
    package static let mostStops = LocationReport.mostJobs - 1

    private let live: RedisClient
    private let keyspace: Keyspace

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// - Parameters:
    ///   - stops: jobs whose stops come first, in their order; none forgets those told before.
    ///   - job: one for which the rider shares its position.
    /// - Throws: (in the future) `RedisError`.
    package func tell(_ stops: [JobID], before job: JobID) -> EventLoopFuture<Void> {
        self.live.send([
            "SET", .text(self.keyspace.before(job)),
            .text(stops.prefix(Self.mostStops).map(\.text).joined(separator: " ")), "PX",
            .integer(Self.lifetime.milliseconds),
        ]).map { _ in }
    }

    package func stops(before job: JobID) -> EventLoopFuture<[JobID]> {
        let key = self.keyspace.before(job)
        return self.live.send(["GET", .text(key)]).map { answer in
            self.live.value(answer, of: key, by: "GET") { value in
                let words = (value.text ?? "").split(separator: " ", omittingEmptySubsequences: false)
                let stops = words == [""] ? [] : words.map { JobID(String($0)) }
                return stops.count <= Self.mostStops && stops.allSatisfy { $0 != nil } ? stops.compactMap { $0 } : nil
            } ?? []
        }
    }
}
