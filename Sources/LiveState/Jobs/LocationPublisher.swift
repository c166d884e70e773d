// Publishes a location: chooses keys, channel and lifetime. The script decides whether the location is the newest.
//
// Step 5 of 10 of the hot path. Before: Realtime/Trips/TripValidators.swift
// Next: lua/publish_location.lua

package import EnrouteWire
internal import HotPath
package import NIOCore
package import Redis

/// Publishes locations at the live instance.
package struct LocationPublisher: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace
    private let lifetime: RedisCommand.Word

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
        self.lifetime = .integer(settings.positionLifetime.milliseconds)
    }

    /// The result of publishing a location.
    package enum Verdict: Sendable, Hashable {
        /// - Parameter listeners: subscribed connections that received it, one per gateway event loop with a follower; 0 when
        ///   the job has no follower.
        case accepted(id: UInt64, listeners: Int)
        /// Not newer than the stored position.
        case stale
        /// Captured more than 30 s in the future, by the clock of Redis.
        case future
        case travelModeOff
        /// The live instance has no entry for the job's travel mode: it was never on, or the entry was lost.
        case unknown
        /// The deadline for sharing has passed, ms since the epoch.
        case timeLimit(deadline: Int64)
        /// Another rider shares its position for this job.
        case otherRider
    }

    /// - Parameter replacesMalformed: the position that was replaced was malformed.
    private func accepted(_ job: JobID, id: UInt64, listeners: Int, replacesMalformed: Bool) -> Verdict {
        if replacesMalformed { self.live.refuse(self.keyspace.position(of: job), by: Scripts.publishLocation.name) }
        return .accepted(id: id, listeners: listeners)
    }

    /// - Throws: (in the future) `RedisError`.
    package func publish(_ fix: Fix, for job: JobID, by rider: PersonID, receivedAt: Int64) -> EventLoopFuture<Verdict>
    {
        HotPath.pass(.locationPublisher)
        return self.live.evaluate(
            Scripts.publishLocation,
            keys: [self.keyspace.travel(of: job), self.keyspace.position(of: job), self.keyspace.feed(of: job)],
            arguments: [
                .text(rider.text), .integer(fix.at),
                .bytes(PublishedLocation.tail(of: fix, job: job, receivedAt: receivedAt)), self.lifetime,
            ]
        ).flatMapThrowing { answer in
            switch (answer.array?.first?.integer, answer.array?.dropFirst().first?.integer) {
            case (1, let id?) where id.isVersion:
                self.accepted(
                    job, id: UInt64(id), listeners: Int(clamping: answer.array?.dropFirst(2).first?.integer ?? 0),
                    replacesMalformed: answer.array?.count == 4)
            case (0, _): .stale
            case (-1, _): .travelModeOff
            case (-2, _): .otherRider
            case (-3, _): .future
            case (-4, _): .unknown
            case (-5, let deadline?) where deadline.isTimestamp: .timeLimit(deadline: deadline)
            default:
                throw self.live.refusal(of: self.keyspace.travel(of: job), by: Scripts.publishLocation.name)
            }
        }
    }
}
