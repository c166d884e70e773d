// Jobs and their status events at the ledger: one typed call for each script.

package import EnrouteWire
package import NIOCore
package import Redis

/// The records of all jobs. Safe to use from any thread.
package struct JobLedger: Sendable {
    let ledger: RedisClient
    /// A separate client, because waiting for replicas delays the commands that follow on the same connection.
    let writes: RedisClient
    let settings: LiveStateSettings
    var keyspace: Keyspace { self.settings.keyspace }

    /// The event loop on which its futures complete.
    package var eventLoop: any EventLoop { self.ledger.eventLoop }

    /// - Parameter writes: the client for changes that replicas should confirm; `nil` to use `ledger`.
    package init(ledger: RedisClient, writes: RedisClient? = nil, settings: LiveStateSettings) {
        self.ledger = ledger
        self.writes = writes ?? ledger
        self.settings = settings
    }

    package enum Creation: Sendable, Hashable {
        case created(epoch: String, id: StatusID)
        case exists(epoch: String, head: StatusID)
        /// The record with this epoch was erased.
        case erased
    }

    /// Creates a job in the first status of its kind. Safe to repeat.
    ///
    /// - Parameter epoch: a nonce that distinguishes this record from every other with the same job id.
    package func create(_ new: NewJob, epoch: String) -> EventLoopFuture<Creation> {
        self.createDurably(new, epoch: epoch).map(\.value)
    }

    /// Creates a job and also returns how many replicas confirmed it.
    package func createDurably(_ new: NewJob, epoch: String) -> EventLoopFuture<Durable<Creation>> {
        func json(_ value: [UInt8]?) -> RedisCommand.Word { value.map { .bytes($0) } ?? "" }
        return self.change(
            new.job, Scripts.createJob,
            arguments: [
                .text(new.kind.rawValue), .text(new.customer.text), .text(new.rider?.text ?? ""),
                .text(new.zone?.text ?? ""),
                json(new.geocoded?.json(with: new.destination) ?? new.destination?.json), json(new.vendor?.json),
                .text(new.kind.firstStatus.rawValue), .text(epoch), .text(new.actor.text), self.retention,
                json(new.display.flatMap { $0.isEmpty ? nil : $0.json }),
                json(new.metadata.flatMap { $0.isEmpty ? nil : $0.json }),
                json(new.recipient.flatMap { $0.isEmpty ? nil : $0.json }),
                .text(new.occurredAt.map(String.init) ?? ""), .text(new.request),
            ]
        ).flatMapThrowing { answer in
            if answer.value == .array([.integer(-1)]) { return Durable(value: .erased, replicas: nil) }
            guard let parts = answer.value.array, parts.count == 3, let epoch = parts[1].text,
                epoch.isNonce, let id = parts[2].text.flatMap({ StatusID($0) })
            else { throw self.ledger.refusal(of: self.keyspace.job(new.job), by: Scripts.createJob.name) }
            let isNew = parts[0].integer == 1
            return Durable(
                value: isNew ? .created(epoch: epoch, id: id) : .exists(epoch: epoch, head: id),
                replicas: isNew ? answer.replicas : nil)
        }
    }

    package enum Assignment: Sendable, Hashable {
        /// `fence` is the number of this decision.
        case assigned(fence: Int64)
        /// The job already had this rider and customer.
        case unchanged(fence: Int64)
        case noSuchJob
        /// Another decision came in between; the record must be read again.
        case overtaken
        case ended(JobStatus)
    }

    /// Assigns a job to a rider and a customer. The caller has already closed the feed with the fence that follows `expected`.
    ///
    /// - Parameters:
    ///   - expected: fence of the record as the caller read it.
    ///   - occurredAt: when it was decided, ms since the epoch; `nil` for now.
    package func assign(
        _ job: JobID, to rider: PersonID?, of customer: PersonID, expected: Int64, occurredAt: Int64? = nil
    ) -> EventLoopFuture<Durable<Assignment>> {
        self.change(
            job, Scripts.assignJob, keys: [self.keyspace.events(of: job)],
            arguments: [
                .integer(expected), .text(rider?.text ?? ""), .text(customer.text),
                .text(JobStatus.allCases.filter { $0.end != nil }.map(\.rawValue).joined(separator: ",")),
                self.retention, .text(occurredAt.map(String.init) ?? ""),
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            switch (parts.first?.integer, parts.dropFirst().first?.text.flatMap(JobStatus.init)) {
            case (1, _):
                guard let fence = parts.last?.fence else { break }
                return Durable(value: .assigned(fence: fence), replicas: answer.replicas)
            case (2, _):
                guard let fence = parts.last?.fence else { break }
                return Durable(value: .unchanged(fence: fence), replicas: answer.replicas)
            case (0, _): return Durable(value: .noSuchJob, replicas: nil)
            case (-1, _): return Durable(value: .overtaken, replicas: nil)
            case (-2, let status?): return Durable(value: .ended(status), replicas: nil)
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.job(job), by: Scripts.assignJob.name)
        }
    }

    /// When the current rider and customer were decided, ms since the epoch; `nil` if they never changed.
    package func assignedAt(_ job: JobID) -> EventLoopFuture<Int64?> {
        let key = self.keyspace.job(job)
        return self.ledger.send(["HMGET", .text(key), "assigned_at"]).map { answer in
            self.ledger.value(answer.array?.first ?? .null, of: key, by: "HMGET") { $0.text?.timestamp }
        }
    }

    /// A job's state, and the events that a follower has missed.
    package struct Recovery: Sendable, Hashable {
        package var record: JobRecord
        /// The log no longer holds the last event the follower saw, so `missed` is incomplete and the follower starts again.
        package var isReset: Bool
        package var missed: [StatusEvent]

        package init(record: JobRecord, isReset: Bool = false, missed: [StatusEvent] = []) {
            (self.record, self.isReset, self.missed) = (record, isReset, missed)
        }
    }

    /// Reads a job's state, and the status events after `since`.
    ///
    /// - Returns: `nil` when there is no such job.
    package func recover(_ job: JobID, since: ResumePoint? = nil) -> EventLoopFuture<Recovery?> {
        self.ledger.evaluate(
            Scripts.recoverJob, keys: [self.keyspace.job(job), self.keyspace.log(of: job)],
            arguments: [.text(since?.epoch ?? ""), .text(since?.id.description ?? "")]
        ).flatMapThrowing { answer in
            guard let parts = answer.array, let code = parts.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.recoverJob.name)
            }
            if code == 0 { return nil }
            guard parts.count == 3, let record = parts[1].array.flatMap(JobRecord.init), let events = parts[2].array
            else { throw self.ledger.refusal(of: self.keyspace.job(job), by: Scripts.recoverJob.name) }
            let missed = try events.map { event in
                guard let event = StatusEvent(event, epoch: record.epoch) else {
                    throw self.ledger.refusal(of: self.keyspace.log(of: job), by: Scripts.recoverJob.name)
                }
                return event
            }
            return Recovery(record: record, isReset: code == 2, missed: missed)
        }
    }

    /// The rider and the status of a job; `nil` when there is no such job. Cost: O(1), without a script.
    package func state(of job: JobID) -> EventLoopFuture<(rider: PersonID?, status: JobStatus)?> {
        let key = self.keyspace.job(job)
        return self.ledger.send(["HMGET", .text(key), "rider", "status"]).flatMapThrowing { answer in
            guard let fields = answer.array, fields.count == 2 else {
                throw RedisError.unexpectedAnswer(command: "HMGET")
            }
            guard fields[1] != .null else { return nil }
            guard let rider = optional(fields[0].text ?? "", { PersonID($0) }),
                let status = fields[1].text.flatMap({ JobStatus(rawValue: $0) })
            else { throw self.ledger.refusal(of: key, by: "HMGET") }
            return (rider, status)
        }
    }

    /// Runs a script that changes a job. The first keys are the record and the log, which live equally long. The last one
    /// is the stream for its events.
    ///
    /// - Parameter keys: those in between.
    func change(
        _ job: JobID, _ script: RedisScript, keys: [String] = [], arguments: [RedisCommand.Word]
    ) -> EventLoopFuture<Durable<RESPValue>> {
        let keys = [self.keyspace.job(job), self.keyspace.log(of: job)] + keys
        guard case .cluster = self.writes.endpoint else {
            return self.writes.evaluateDurably(
                script, keys: keys + [self.keyspace.events(of: job.text)], arguments: arguments)
        }
        let slot = HashSlot.of(self.keyspace.job(job))
        let changed = self.writes.evaluateDurably(
            script, keys: keys + [self.keyspace.outbox(ofSlot: slot)], arguments: arguments)
        // Even if the reply was lost: the change may have been made.
        changed.whenComplete { _ in self.settings.outboxes.add(slot) }
        return changed
    }

    var retention: RedisCommand.Word { .integer(self.settings.retention.milliseconds) }
}

extension StatusEvent {
    /// - Parameter event: id, prev, status, at.
    fileprivate init?(_ event: RESPValue, epoch: String) {
        let texts = event.array?.compactMap(\.text) ?? []
        guard texts.count == 4, let id = StatusID(texts[0]), let status = JobStatus(rawValue: texts[2]),
            let at = texts[3].timestamp
        else { return nil }
        self.init(epoch: epoch, previous: StatusID(texts[1]), id: id, status: status, at: at)
    }
}
