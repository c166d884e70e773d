// The shared state of a job's arrival time: which gateway calculates it next, and the last result. The live instance
// may lose both; then the lease is free for the next gateway whose calculation is due.

package import EnrouteWire
package import NIOCore
package import Redis

/// Leases and results of arrival times in the live instance. Safe to use from any thread.
package struct ETAStore: Sendable {
    /// How long a result is stored.
    package static let lifetime = Duration.seconds(120)

    private let live: RedisClient
    private let keyspace: Keyspace

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Tries to become the gateway that calculates next.
    ///
    /// - Parameter lease: how long no other gateway may calculate. It is never released early, because it also spaces
    ///   out the requests to providers.
    /// - Returns: whether the lease was acquired.
    /// - Throws: (in the future) `RedisError`.
    package func claim(_ job: JobID, for lease: Duration) -> EventLoopFuture<Bool> {
        self.live.send([
            "SET", .text(self.keyspace.etaLease(of: job)), "1", "NX", "PX", .integer(max(1, lease.milliseconds)),
        ]).map { $0.text == "OK" }
    }

    /// What happened to a result.
    package enum Publication: Sendable, Hashable {
        case published
        /// Not published: another gateway's result is too recent to be replaced.
        case notReplaced
        /// Not published: the rider does not share its position for the job.
        case notShared
    }

    /// Stores a result and publishes it to the job's followers on every gateway.
    ///
    /// - Parameters:
    ///   - rider: whose arrival it is.
    ///   - minAge: a stored result that is younger is not replaced.
    /// - Throws: (in the future) `RedisError`.
    package func publish(
        _ estimate: ArrivalEstimate, of job: JobID, by rider: PersonID, minAge: Duration = .zero
    ) -> EventLoopFuture<Publication> {
        self.live.evaluate(
            Scripts.publishETA,
            keys: [self.keyspace.travel(of: job), self.keyspace.eta(of: job), self.keyspace.feed(of: job)],
            arguments: [
                .text(rider.text), .bytes(ServerMessage.eta(job: job, estimate).encoded),
                .integer(Self.lifetime.milliseconds), .integer(minAge.milliseconds),
            ]
        ).flatMapThrowing { answer in
            switch answer.array?.first?.integer {
            case 1: .published
            case 0: .notReplaced
            case -1: .notShared
            default: throw RedisError.unexpectedAnswer(command: Scripts.publishETA.name)
            }
        }
    }

    /// Counts a request to a provider, for all gateways together.
    ///
    /// - Parameters:
    ///   - service: name of the provider.
    ///   - day: since the epoch.
    /// - Returns: requests of that day, including this one. The count starts again if the live instance loses its data.
    package func count(_ service: String, day: Int64) -> EventLoopFuture<Int64> {
        let key = self.keyspace.etaBudget(of: service, day: day)
        let answer = self.live.send(["INCR", .text(key)])
        // Each request sets the lifetime again: after a failover that lost it, the counter would otherwise stay for ever.
        _ = self.live.send(["PEXPIRE", .text(key), .integer(Self.budgetLifetime.milliseconds)])
        return answer.flatMapThrowing { answer in
            guard let count = answer.integer, count > 0, count.isFence else {
                throw self.live.refusal(of: key, by: "INCR")
            }
            return count
        }
    }

    /// After the last request. A day, plus one for gateways whose clocks differ.
    private static let budgetLifetime = Duration.seconds(172_800)

    /// A stored result, `<fence> <written_ms> <message>`.
    package struct StoredEstimate: Sendable, Hashable {
        /// The fence of the travel mode. A result for another fence must not be shown.
        package let fence: Int64
        package let estimate: ArrivalEstimate

        package init(fence: Int64, estimate: ArrivalEstimate) { (self.fence, self.estimate) = (fence, estimate) }

        init?(_ bytes: [UInt8], of job: JobID) {
            let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 2)
            guard parts.count == 3, let fence = String(decoding: parts[0], as: UTF8.self).fence,
                String(decoding: parts[1], as: UTF8.self).timestamp != nil,
                case .eta(job, let estimate)? = parts[2].withUnsafeBytes({ ServerMessage(ours: $0) })
            else { return nil }
            (self.fence, self.estimate) = (fence, estimate)
        }
    }
}
