// The open jobs of a zone, for display to operations staff. A gateway that changed a job updates the list afterwards
// and does not wait for it; no decision depends on the list. A missing job reappears with its next change. A reader
// shows each job as its record describes it. It removes a job that does not belong on the list because it has ended,
// has moved to another zone or has no record any longer.

package import EnrouteWire
package import NIOCore
package import Redis

/// The lists of open jobs in the ledger. Safe to use from any thread.
package struct ZoneJobs: Sendable {
    private let ledger: RedisClient
    private let settings: LiveStateSettings
    private var keyspace: Keyspace { self.settings.keyspace }

    /// Maximum length of a zone's list. The jobs that changed longest ago are dropped.
    package static let maxListedJobs = 20_000
    /// Maximum number of zones shown: those with the latest changes.
    package static let maxZones = 500
    /// The list of jobs without a zone. A zone with this name shares it.
    package static let withoutZone = ZoneID("-")!

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.settings = settings
    }

    /// Adds a changed job to its zone's list, or removes it from the list once it has ended.
    ///
    /// - Parameter now: ms since the epoch.
    /// - Throws: (in the future) `RedisError`; the list is then unchanged.
    package func update(_ job: JobID, now: Int64) -> EventLoopFuture<Void> {
        self.ledger.send(["HMGET", .text(self.keyspace.job(job)), "zone", "status"]).flatMap { answer in
            let fields = answer.array ?? []
            guard fields.count == 2, fields[1] != .null else { return self.ledger.eventLoop.makeSucceededVoidFuture() }
            guard let status = fields[1].text.flatMap(JobStatus.init),
                let named = optional(fields[0].text ?? "", { ZoneID($0) })
            else {
                return self.ledger.eventLoop.makeFailedFuture(
                    self.ledger.refusal(of: self.keyspace.job(job), by: "HMGET"))
            }
            let zone = named ?? Self.withoutZone
            guard status.end == nil else {
                return self.ledger.send(["ZREM", .text(self.keyspace.jobs(in: zone)), .text(job.text)]).map { _ in }
            }
            return self.add(job, to: zone, now)
        }
    }

    private func add(_ job: JobID, to zone: ZoneID, _ now: Int64) -> EventLoopFuture<Void> {
        let list = RedisCommand.Word.text(self.keyspace.jobs(in: zone))
        let zones = RedisCommand.Word.text(self.keyspace.zonesOfJobs)
        let lifetime = RedisCommand.Word.integer(self.settings.retention.milliseconds)
        _ = self.ledger.send(["ZADD", zones, .integer(now), .text(zone.text)])
        defer { for key in [zones, list] { _ = self.ledger.send(["PEXPIRE", key, lifetime]) } }
        return self.ledger.send(["ZADD", list, .integer(now), .text(job.text)]).flatMap { added in
            guard added.integer == 1 else { return self.ledger.eventLoop.makeSucceededVoidFuture() }
            // The list has grown: drop entries that have outlived their records, and those beyond the maximum.
            let oldest = RedisCommand.Word.text(String(now - self.settings.retention.milliseconds))
            _ = self.ledger.send(["ZREMRANGEBYSCORE", zones, "-inf", oldest])
            _ = self.ledger.send(["ZREMRANGEBYSCORE", list, "-inf", oldest])
            return self.ledger.send(["ZREMRANGEBYRANK", list, 0, .integer(-Self.maxListedJobs - 1)]).map { _ in }
        }
    }

    /// Zones that have or recently had jobs, last changed first.
    package func zones() -> EventLoopFuture<[ZoneID]> {
        let key = self.keyspace.zonesOfJobs
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.maxZones - 1), "REV"])
            .map { self.ledger.names($0, of: key, by: "ZRANGE") }
    }

    /// Number of jobs on a zone's list, of riders in its pool, and of riders online.
    package struct Sizes: Sendable, Hashable {
        package var jobs = 0
        package var available = 0
        package var online = 0
    }

    /// The sizes of a zone's lists; 0 for a list that is of another type.
    package func sizes(of zone: ZoneID) -> EventLoopFuture<Sizes> {
        let keys = [
            self.keyspace.jobs(in: zone), self.keyspace.available(in: zone), self.keyspace.due(in: zone),
        ]
        let counts = keys.map { key in
            self.ledger.send(["ZCARD", .text(key)]).map { Int(clamping: $0.integer ?? 0) }.skippingMalformedData(as: 0)
        }
        return EventLoopFuture.whenAllSucceed(counts, on: self.ledger.eventLoop).map {
            Sizes(jobs: $0[0], available: $0[1], online: $0[2])
        }
    }

    /// The jobs on a zone's list, last changed first.
    package func jobIDs(in zone: ZoneID) -> EventLoopFuture<[JobID]> {
        let key = self.keyspace.jobs(in: zone)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.maxListedJobs - 1), "REV"])
            .map { self.ledger.names($0, of: key, by: "ZRANGE") }
    }

    /// The jobs on a zone's list that changed last.
    package func latest(_ count: Int, in zone: ZoneID) -> EventLoopFuture<[JobID]> {
        let key = self.keyspace.jobs(in: zone)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(max(count, 1) - 1), "REV"])
            .map { self.ledger.names($0, of: key, by: "ZRANGE") }
    }

    package var eventLoop: any EventLoop { self.ledger.eventLoop }

    /// An open job that is in the zone.
    package struct OpenJob: Sendable, Hashable {
        package var job: JobID
        package var record: JobRecord
        /// The state as `recover` returns it to a follower that has missed nothing.
        package var recovery: JobLedger.Recovery { .init(record: self.record, isReset: false, missed: []) }
    }

    /// Reads jobs of a zone's list. Returns those that are open and in the zone. Sends one HMGET for each job at the same time,
    /// so callers should pass a few hundred jobs per call.
    ///
    /// - Parameter isListed: whether the jobs are from the list. Then jobs that are not open or not in the zone are
    ///   removed from it.
    package func openJobs(
        _ jobs: ArraySlice<JobID>, in zone: ZoneID, isListed: Bool = true
    ) -> EventLoopFuture<[OpenJob]> {
        let answers = jobs.map { job in
            self.ledger.send(JobRecord.query(JobRecord.listedFields, of: self.keyspace.job(job)))
                .skippingMalformedData(as: .array([]))
        }
        return EventLoopFuture.whenAllSucceed(answers, on: self.ledger.eventLoop).map { answers in
            var open: [OpenJob] = []
            var others: [RedisCommand.Word] = []
            for (job, answer) in zip(jobs, answers) {
                let record = JobRecord(answer: answer)
                if record == nil, !JobRecord.isMissing(answer) {
                    self.ledger.refuse(self.keyspace.job(job), by: "HMGET")
                }
                if let record, record.status.end == nil, record.zone ?? Self.withoutZone == zone {
                    open.append(OpenJob(job: job, record: record))
                } else {
                    others.append(.text(job.text))
                }
            }
            if isListed, !others.isEmpty {
                let list = RedisCommand.Word.text(self.keyspace.jobs(in: zone))
                _ = self.ledger.send(RedisCommand([.text("ZREM"), list] + others))
            }
            return open
        }
    }
}

extension JobLedger {
    /// The zone lists of its jobs.
    package var listing: ZoneJobs { ZoneJobs(ledger: self.ledger, settings: self.settings) }
    /// The stream of revocations.
    package var revocations: RevocationLog { RevocationLog(ledger: self.writes, settings: self.settings) }
    /// The stream of all events.
    package var events: EventStreams { EventStreams(ledger: self.ledger, settings: self.settings) }
}
