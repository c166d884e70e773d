// What gateways share of a job's arrival: who calculates it next, and what was found last. Both are the live instance's to
// forget: whoever is due then finds the place free, and calculates.

package import EnrouteWire
package import NIOCore
package import Redis

/// Leases and answers of arrival times, at the live instance. May be used from any thread.
package struct JobArrivals: Sendable {
    /// How long an answer is kept.
    package static let lifetime = Duration.seconds(120)

    private let live: RedisClient
    private let keyspace: Keyspace

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Asks to be the one that calculates next.
    ///
    /// - Parameter lease: how long nobody else may; it is never given back, since it is what spaces out the questions to
    ///   services.
    /// - Returns: whether it is this one.
    /// - Throws: (in the future) `RedisError`.
    package func claim(_ job: JobID, for lease: Duration) -> EventLoopFuture<Bool> {
        self.live.send([
            "SET", .text(self.keyspace.etaLease(of: job)), "1", "NX", "PX", .integer(max(1, lease.milliseconds)),
        ]).map { $0.text == "OK" }
    }

    /// What became of an answer.
    package enum Telling: Sendable, Hashable {
        case told
        /// Nobody was told: somebody else's is younger.
        case younger
        /// Nobody was told: the rider does not share its position for the job.
        case notShared
    }

    /// Keeps an answer and tells the job's followers, on every gateway.
    ///
    /// - Parameters:
    ///   - rider: whose arrival it is.
    ///   - leastAge: an answer that is younger stands.
    /// - Throws: (in the future) `RedisError`.
    package func tell(
        _ estimate: ArrivalEstimate, of job: JobID, by rider: PersonID, leastAge: Duration = .zero
    ) -> EventLoopFuture<Telling> {
        self.live.evaluate(
            Scripts.publishETA,
            keys: [self.keyspace.travel(of: job), self.keyspace.eta(of: job), self.keyspace.feed(of: job)],
            arguments: [
                .text(rider.text), .bytes(ServerMessage.eta(job: job, estimate).encoded),
                .integer(Self.lifetime.milliseconds), .integer(leastAge.milliseconds),
            ]
        ).flatMapThrowing { answer in
            switch answer.array?.first?.integer {
            case 1: .told
            case 0: .younger
            case -1: .notShared
            default: throw RedisError.unexpectedAnswer(command: Scripts.publishETA.name)
            }
        }
    }

    /// Counts a question to a service, for all gateways together.
    ///
    /// - Parameters:
    ///   - service: by its name.
    ///   - day: since the epoch.
    /// - Returns: questions of that day, with this one. A live instance that forgets begins anew.
    package func count(_ service: String, day: Int64) -> EventLoopFuture<Int64> {
        let key = self.keyspace.etaBudget(of: service, day: day)
        return self.live.send(["SET", .text(key), "0", "NX", "PX", .integer(Self.budgetLifetime.milliseconds)])
            .flatMap { _ in self.live.send(["INCR", .text(key)]) }
            .flatMapThrowing { answer in
                guard let count = answer.integer, count > 0, count.isFence else {
                    throw self.live.refusal(of: key, by: "INCR")
                }
                return count
            }
    }

    /// A day, and another for gateways whose clocks differ.
    private static let budgetLifetime = Duration.seconds(172_800)

    /// An answer as it is kept, `<fence> <written_ms> <message>`.
    struct Kept {
        /// Of the travel mode: what is kept for another is nobody's to see.
        let fence: Int64
        let estimate: ArrivalEstimate

        init?(_ bytes: [UInt8], of job: JobID) {
            let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 2)
            guard parts.count == 3, let fence = String(decoding: parts[0], as: UTF8.self).fence,
                String(decoding: parts[1], as: UTF8.self).moment != nil,
                case .eta(job, let estimate)? = parts[2].withUnsafeBytes({ ServerMessage(ours: $0) })
            else { return nil }
            (self.fence, self.estimate) = (fence, estimate)
        }
    }
}
