// Erases what Redis stores about a job. The ledger's record is erased last: as long as it exists, an interrupted
// erasure can be repeated from the start. Jobs/JobErasure.swift defines the order.

package import EnrouteWire
package import NIOCore
package import Redis

/// The part of a job's record that an erasure needs. The record may be malformed.
package struct ErasableJob: Sendable, Hashable {
    /// `nil` when it is malformed.
    package var customer: PersonID?
    package var rider: PersonID?
    package var zone: ZoneID?
    /// Epoch and fence, which change with every decision; `nil` when one of them is malformed.
    package var version: Version?

    package struct Version: Sendable, Hashable {
        var epoch: String
        package var fence: Int64
    }

    /// For a key that is not even a hash.
    init() {}

    /// - Parameter values: of the fields `epoch`, `fence`, `customer`, `rider` and `zone`.
    init(_ values: [RESPValue]) {
        let texts = values.map { $0 == .null ? "" : $0.text }
        if let epoch = texts[0], epoch.isNonce, let fence = texts[1].flatMap({ optional($0, \.fence) }) {
            self.version = Version(epoch: epoch, fence: fence ?? 0)
        }
        self.customer = texts[2].flatMap { PersonID($0) }
        self.rider = texts[3].flatMap { PersonID($0) }
        self.zone = texts[4].flatMap { ZoneID($0) }
    }
}

extension JobLedger {
    package enum Erasure: Sendable, Hashable {
        /// This many keys were deleted.
        case erased(keys: Int)
        /// The job does not exist. If it was erased before, the replicas are those that have that erasure.
        case noSuchJob
        /// The job has changed since it was read.
        case overtaken
        /// The job has tracking links; see `eraseLinks`.
        case hasLinks
    }

    /// How long an erasure is remembered: as long as Amazon SQS can retain the event that created the job. The fence is
    /// kept with it, although it is needed only for some minutes.
    static let tombstoneLifetime = Duration.seconds(14 * 86_400)

    /// Reads what an erasure needs. Unlike `recover`, it also reads a malformed record.
    ///
    /// - Returns: `nil` when there is no such job.
    package func erasable(_ job: JobID) -> EventLoopFuture<ErasableJob?> {
        let key = self.keyspace.job(job)
        let fields = ["epoch", "fence", "customer", "rider", "zone"]
        return self.ledger.send(JobRecord.query(fields + ["kind", "status", "head"], of: key)).map { answer in
            guard let values = answer.array, values.count == fields.count + 3 else { return ErasableJob() }
            // An erased job keeps only the fence.
            let isMissing = values.enumerated().allSatisfy { $0 == 1 || $1 == .null }
            return isMissing ? nil : ErasableJob(values)
        }.flatMapErrorThrowing { error in
            guard (error as? RedisError)?.isMalformedData == true else { throw error }
            return ErasableJob()
        }
    }

    /// Erases the record, the log and the list of links of a job, if that is empty.
    ///
    /// - Parameter version: of the record as it was read; `nil` if that is malformed.
    package func erase(_ job: JobID, as version: ErasableJob.Version?) -> EventLoopFuture<Durable<Erasure>> {
        self.change(
            job, Scripts.eraseJob, keys: [self.keyspace.links(of: job), self.keyspace.events(of: job)],
            arguments: [
                .text(version?.epoch ?? ""), .integer(version?.fence ?? 0),
                .integer(Self.tombstoneLifetime.milliseconds),
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            switch (parts.first?.integer, parts.last?.integer) {
            case (1, let keys?): return Durable(value: .erased(keys: Int(clamping: keys)), replicas: answer.replicas)
            case (0, _): return Durable(value: .noSuchJob, replicas: answer.replicas)
            case (-1, _): return Durable(value: .overtaken, replicas: nil)
            case (-2, _): return Durable(value: .hasLinks, replicas: nil)
            default: throw RedisError.unexpectedAnswer(command: Scripts.eraseJob.name)
            }
        }
    }

    /// Whether the job was erased in the last 14 days, and not created again: its fence is left, and no status.
    package func wasErased(_ job: JobID) -> EventLoopFuture<Bool> {
        self.ledger.send(["HMGET", .text(self.keyspace.job(job)), "fence", "status"]).map { answer in
            guard let fields = answer.array, fields.count == 2 else { return false }
            return fields[0] != .null && fields[1] == .null
        }
    }

    /// Maximum number of links of a job; a new link deletes the one that expires first.
    package static let maxListedLinks = 1_000

    /// Deletes the tracking links of a job. Another one may be created until the record is erased.
    ///
    /// - Returns: how many keys were deleted.
    package func eraseLinks(of job: JobID) -> EventLoopFuture<Int> {
        let key = self.keyspace.links(of: job)
        // All of them: for a moment there may be more than the maximum.
        let listed = self.ledger.send(["ZRANGE", .text(key), 0, .integer(-1)])
        return listed.skippingMalformedData(as: .array([])).flatMap { answer in
            let entries = answer.array ?? []
            let links = entries.compactMap(\.text).filter { Secret.isValid($0) }
            if links.count < entries.count || answer.array == nil { self.ledger.refuse(key, by: "ZRANGE") }
            guard !links.isEmpty else { return self.eventLoop.makeSucceededFuture(0) }
            let store = TrackingLinks(ledger: self.ledger, writes: self.writes, settings: self.settings)
            let dropped = EventLoopFuture.whenAllSucceed(links.map { store.drop($0) }, on: self.eventLoop)
            return dropped.flatMap { keys in
                self.writes.send(RedisCommand(["ZREM", .text(key)] + links.map { .text($0) })).map { _ in
                    keys.reduce(0, +)
                }
            }
        }
    }
}

extension JobFeed {
    /// Deletes what the live instance stores about a job besides its position: validation results, the arrival time and
    /// its lease, the stops before the job, and the browsers to notify.
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
