// Erases what Redis stores about a job. The ledger's record goes last: as long as it exists, an erasure that was interrupted can
// be repeated from the start. Jobs/JobErasure.swift has the order.

package import EnrouteWire
package import NIOCore
package import Redis

extension JobLedger {
    package enum Erasure: Sendable, Hashable {
        /// This many keys were deleted.
        case erased(keys: Int)
        case noSuchJob
        /// The job has changed since it was read.
        case overtaken
    }

    /// How long the fence of an erased job stays: longer than any call takes that was sent before.
    static let fenceLifetime = Duration.seconds(300)

    /// Erases the record, the log and the list of links of a job.
    ///
    /// - Parameter record: the record as it was read.
    package func erase(_ job: JobID, as record: JobRecord) -> EventLoopFuture<Durable<Erasure>> {
        self.change(
            job, Scripts.eraseJob,
            keys: [
                self.keyspace.job(job), self.keyspace.log(of: job), self.keyspace.links(of: job),
                self.keyspace.events(of: job),
            ],
            arguments: [
                .text(record.epoch), .integer(record.fence), .integer(Self.fenceLifetime.milliseconds),
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            switch (parts.first?.integer, parts.last?.integer) {
            case (1, let keys?): return Durable(value: .erased(keys: Int(clamping: keys)), replicas: answer.replicas)
            case (0, _): return Durable(value: .noSuchJob, replicas: nil)
            case (-1, _): return Durable(value: .overtaken, replicas: nil)
            default: throw RedisError.unexpectedAnswer(command: Scripts.eraseJob.name)
            }
        }
    }

    /// Whether the job was erased in the last minutes, and not created again: only its fence is left.
    package func wasErased(_ job: JobID) -> EventLoopFuture<Bool> {
        self.ledger.send(["HMGET", .text(self.keyspace.job(job)), "fence", "status"]).map { answer in
            guard let fields = answer.array, fields.count == 2 else { return false }
            return fields[0] != .null && fields[1] == .null
        }
    }

    /// Maximum number of links of a job that are listed; a new link drops the one that expires first.
    package static let maxListedLinks = 1_000

    /// Deletes the tracking links of a job.
    ///
    /// - Returns: how many keys were deleted.
    package func eraseLinks(of job: JobID) -> EventLoopFuture<Int> {
        let key = self.keyspace.links(of: job)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.maxListedLinks)]).flatMap { answer in
            let entries = answer.array ?? []
            let links = entries.compactMap(\.text).filter { Secret.isValid($0) }
            if links.count < entries.count || answer.array == nil { self.ledger.refuse(key, by: "ZRANGE") }
            let deleted = links.map { link in
                self.writes.send(["DEL", .text(self.keyspace.link(link)), .text(self.keyspace.viewers(ofLink: link))])
                    .map { Int(clamping: $0.integer ?? 0) }
            }
            return EventLoopFuture.whenAllSucceed(deleted, on: self.eventLoop).map { $0.reduce(0, +) }
        }
    }
}

extension JobFeed {
    /// Deletes what the live instance stores about a job besides its position: validation results, the arrival time and who may
    /// calculate it, the stops before it, and the browsers that wait for its rider.
    ///
    /// - Returns: how many keys were deleted.
    package func erase(_ job: JobID) -> EventLoopFuture<Int> {
        let keys = [
            self.keyspace.position(of: job), self.keyspace.eta(of: job), self.keyspace.etaLease(of: job),
            self.keyspace.verdicts(of: job), self.keyspace.stopsBefore(job), self.keyspace.push(of: job),
        ]
        return self.live.send(RedisCommand([.text("DEL")] + keys.map { .text($0) })).map {
            Int(clamping: $0.integer ?? 0)
        }
    }
}
