// The jobs of a rider or a customer, as lists. A list is in its person's slot, a job's record in the job's slot, so no
// script can change both. A gateway writes the list first and the record afterwards, so the list of a rider or customer
// never lacks a job. A list may contain surplus entries. The record decides: a reader leaves such entries out and
// removes them (decisions/job-lists.md).

package import EnrouteWire
package import NIOCore
internal import Redis

/// A person's jobs, or the open jobs of a zone.
package enum JobList: Sendable, Hashable {
    case rider(PersonID)
    case customer(PersonID)
    /// Only open jobs.
    case zone(ZoneID)

    /// Whether the list contains a job with this record.
    package func contains(_ record: JobRecord) -> Bool {
        switch self {
        case .rider(let rider): record.rider == rider
        case .customer(let customer): record.customer == customer
        case .zone(let zone): (record.zone ?? ZoneJobs.withoutZone) == zone && record.status.end == nil
        }
    }
}

/// A position in a list, after which the next page starts.
package struct JobListPlace: Sendable, Hashable {
    /// ms since the epoch
    package var score: Int64
    package var job: JobID

    package init(score: Int64, job: JobID) { (self.score, self.job) = (score, job) }
}

/// The position of a job on the list of a person.
package struct JobListEntry: Sendable, Hashable {
    var list: JobList
    var place: JobListPlace
}

/// A page of a list, newest first.
package struct JobListPage: Sendable {
    package var jobs: [(job: JobID, record: JobRecord)]
    /// Where the next page starts; `nil` on the last one.
    package var next: JobListPlace?
    /// The position of the last job.
    fileprivate var end: JobListPlace?
}

extension JobLedger {
    /// Maximum number of jobs on the list of one person; the oldest are dropped.
    package static let maxJobsOfPerson = 20_000
    /// How long a list is stored after the last job was added, and how long a job stays on it. Half of it is at least
    /// as long as a record lives after a change.
    private var listLifetime: Duration { max(.seconds(7 * 86_400), self.settings.retention * 2) }
    /// Maximum number of entries that are read for one page, so that a filter cannot make a request read a whole list.
    package static let maxReadPerPage = 500

    private func key(of list: JobList) -> String {
        switch list {
        case .rider(let rider): self.keyspace.jobs(ofRider: rider)
        case .customer(let customer): self.keyspace.jobs(ofCustomer: customer)
        case .zone(let zone): self.keyspace.jobs(in: zone)
        }
    }

    /// Adds a job to the lists of its rider and its customer. Called before the record contains them.
    ///
    /// - Parameters:
    ///   - now: ms since the epoch.
    ///   - record: of the job, if it exists. On the lists of people that the record already contains, the job keeps its
    ///     time, unless that is older than half of the lifetime. Then the time becomes half of the lifetime ago, so
    ///     that the entry outlives the record.
    package func list(
        _ job: JobID, rider: PersonID?, customer: PersonID, now: Int64, record: JobRecord? = nil
    ) -> EventLoopFuture<Void> {
        let lists = [rider.map { JobList.rider($0) }, .customer(customer)].compactMap { $0 }
        let present = [record?.rider.map { JobList.rider($0) }, (record?.customer).map { .customer($0) }]
        let added = lists.map { list in
            let key = RedisCommand.Word.text(self.key(of: list))
            let lifetime = self.listLifetime.milliseconds
            let place: [RedisCommand.Word] =
                present.contains(list) ? ["GT", .integer(now - lifetime / 2)] : [.integer(now)]
            let command = RedisCommand(["ZADD", key] + place + [.text(job.text)])
            return self.writes.send(command).map { answer in
                _ = self.writes.send(["PEXPIRE", key, .integer(lifetime)])
                guard answer.integer == 1 else { return }
                _ = self.writes.send(["ZREMRANGEBYSCORE", key, "-inf", .integer(now - lifetime)])
                _ = self.writes.send(["ZREMRANGEBYRANK", key, 0, .integer(-Self.maxJobsOfPerson - 1)])
            }
        }
        return EventLoopFuture.andAllSucceed(added, on: self.eventLoop)
    }

    /// Reads the entries of a job on the lists of people whom its record will no longer contain. A list that cannot be
    /// read is left out: its next reader removes the entry.
    package func entries(of job: JobID, rider: PersonID?, customer: PersonID?) -> EventLoopFuture<[JobListEntry]> {
        let lists = [rider.map { JobList.rider($0) }, customer.map { JobList.customer($0) }].compactMap { $0 }
        let entries = lists.map { list in
            self.ledger.send(["ZSCORE", .text(self.key(of: list)), .text(job.text)]).map { answer -> JobListEntry? in
                guard let score = answer.text?.timestamp else { return nil }
                return JobListEntry(list: list, place: JobListPlace(score: score, job: job))
            }.recover { _ in nil }
        }
        return EventLoopFuture.whenAllSucceed(entries, on: self.eventLoop).map { $0.compactMap { $0 } }
    }

    /// Removes entries that contradict the job's new record, unless the job was listed again meanwhile. The caller does
    /// not wait: a remaining entry is not shown, and the next reader of the list removes it.
    package func drop(_ entries: [JobListEntry]) {
        for entry in entries { self.drop(entry.place, from: self.key(of: entry.list)) }
    }

    private func drop(_ place: JobListPlace, from key: String) {
        _ = self.ledger.evaluate(
            Scripts.dropListed, keys: [key], arguments: [.text(place.job.text), .integer(place.score)])
    }

    /// Removes an erased job from all lists: those of its rider and its customer, and those of all zones, because the
    /// job may have been in another zone before.
    package func unlist(_ job: JobID, _ erased: ErasableJob) -> EventLoopFuture<Void> {
        let zones = ZoneJobs(ledger: self.ledger, settings: self.settings).zones()
        return zones.skippingMalformedData(as: []).flatMap { zones in
            let own = erased.zone ?? ZoneJobs.withoutZone
            var lists: [JobList] = [.zone(own)]
            if let customer = erased.customer { lists.append(.customer(customer)) }
            if let rider = erased.rider { lists.append(.rider(rider)) }
            let removed = lists.map { self.ledger.send(["ZREM", .text(self.key(of: $0)), .text(job.text)]) }
            let others = zones.filter { $0 != own }.map { zone in
                self.ledger.send(["ZREM", .text(self.key(of: .zone(zone))), .text(job.text)])
                    .skippingMalformedData(as: .null)
            }
            return EventLoopFuture.andAllSucceed(removed + others, on: self.eventLoop)
        }
    }

    /// Reads a page of a list, newest first. Reads at most `maxReadPerPage` entries, so with a filter a page can be
    /// short although it is not the last.
    ///
    /// - Parameters:
    ///   - now: ms since the epoch.
    ///   - isWanted: a filter for the jobs that belong to the list.
    package func page(
        of list: JobList, after place: JobListPlace?, limit: Int, now: Int64,
        _ isWanted: @escaping @Sendable (JobID, JobRecord) -> Bool
    ) -> EventLoopFuture<JobListPage> {
        self.fill(JobListPage(jobs: [], next: place), of: list, limit: limit, read: 0, now: now, isWanted)
    }

    private func fill(
        _ page: JobListPage, of list: JobList, limit: Int, read: Int, now: Int64,
        _ isWanted: @escaping @Sendable (JobID, JobRecord) -> Bool
    ) -> EventLoopFuture<JobListPage> {
        // One more than fits: without another matching job, this page is the last one.
        let count = min(limit + 1, Self.maxReadPerPage - read)
        guard count > 0 else { return self.eventLoop.makeSucceededFuture(page) }
        return self.entries(of: list, after: page.next, offset: 0, count: count).flatMap { entries in
            self.records(of: entries.map(\.job)).flatMap { records in
                var page = page
                var others: [JobListPlace] = []
                page.next = nil
                for (entry, record) in zip(entries, records) {
                    guard let record, list.contains(record) else {
                        others.append(entry)
                        continue
                    }
                    guard isWanted(entry.job, record) else { continue }
                    guard page.jobs.count < limit else {
                        page.next = page.end
                        self.drop(others, from: list, now: now)
                        return self.eventLoop.makeSucceededFuture(page)
                    }
                    page.jobs.append((entry.job, record))
                    page.end = entry
                }
                self.drop(others, from: list, now: now)
                guard entries.count == count, let last = entries.last else {
                    return self.eventLoop.makeSucceededFuture(page)
                }
                page.next = last
                return self.fill(page, of: list, limit: limit, read: read + entries.count, now: now, isWanted)
            }
        }
    }

    /// Entries after a position, newest first; entries of the same time in the reverse order of their names. Redis can
    /// only start at a time, so entries with the same time as the position are read again and skipped.
    private func entries(
        of list: JobList, after place: JobListPlace?, offset: Int, count: Int
    ) -> EventLoopFuture<[JobListPlace]> {
        let key = self.key(of: list)
        let chunk = offset == 0 ? count : max(count, 100)
        return self.ledger.send([
            "ZRANGE", .text(key), .text(place.map { String($0.score) } ?? "+inf"), "-inf", "BYSCORE", "REV", "LIMIT",
            .integer(offset), .integer(chunk), "WITHSCORES",
        ]).flatMap { answer in
            let texts = (answer.array ?? []).map { $0.text ?? "" }
            var entries: [JobListPlace] = []
            for index in stride(from: 0, to: texts.count - 1, by: 2) where entries.count < count {
                guard let job = JobID(texts[index]), let score = texts[index + 1].timestamp else {
                    self.ledger.refuse(key, by: "ZRANGE")
                    continue
                }
                if let place, score == place.score, job.text >= place.job.text { continue }
                entries.append(JobListPlace(score: score, job: job))
            }
            let (missing, next) = (count - entries.count, offset + chunk)
            guard missing > 0, texts.count == 2 * chunk, next < Self.maxJobsOfPerson else {
                return self.eventLoop.makeSucceededFuture(entries)
            }
            let found = entries
            return self.entries(of: list, after: place, offset: next, count: missing).map { found + $0 }
        }
    }

    private func records(of jobs: [JobID]) -> EventLoopFuture<[JobRecord?]> {
        let answers = jobs.map { job in
            self.ledger.send(JobRecord.query(JobRecord.fields, of: self.keyspace.job(job))).map {
                answer -> JobRecord? in
                let record = JobRecord(answer: answer)
                if record == nil, !JobRecord.isMissing(answer) {
                    self.ledger.refuse(self.keyspace.job(job), by: "HMGET")
                }
                return record
            }.skippingMalformedData(as: nil)
        }
        return EventLoopFuture.whenAllSucceed(answers, on: self.eventLoop)
    }

    /// How long a gateway may take from listing a job to writing its record, ms. The timeouts of Redis are far shorter.
    package static let longestListing: Int64 = 60_000

    /// Removes entries of jobs that are gone or belong to someone else now. New entries stay, because a gateway may be
    /// about to write their records.
    private func drop(_ entries: [JobListPlace], from list: JobList, now: Int64) {
        let key = self.key(of: list)
        for entry in entries where entry.score < now - Self.longestListing { self.drop(entry, from: key) }
    }
}
