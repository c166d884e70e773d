// Corrections of a job's status, which its lifecycle does not allow, and late log entries: events that arrived too late
// to change anything.

package import EnrouteWire
package import NIOCore
package import Redis

/// A correction of a job's status.
package struct StatusCorrection: Sendable, Hashable {
    /// The correct status.
    package var status: JobStatus
    package var reason: String
    package var actor: PersonID
    /// Id of the request, at most 128 printable characters.
    package var request: String

    package init(to status: JobStatus, because reason: String, by actor: PersonID, request: String = "") {
        (self.status, self.reason, self.actor, self.request) = (status, reason, actor, request)
    }
}

/// An event that arrived too late.
package enum LateEvent: Sendable, Hashable {
    /// - `happensOnce`: a job has this status only once, so a second report of it says nothing new.
    case status(JobStatus, happensOnce: Bool)
    case assignment(LateAssignment)
}

extension JobLedger {
    package enum Correction: Sendable, Hashable {
        case corrected(CorrectedStatus)
        /// The same person already made a correction with this request id. This is its result.
        case repeated(CorrectedStatus)
        /// The job has the status already.
        case unchanged(JobStatus)
        /// The job has changed since it was read.
        case overtaken(status: JobStatus, head: StatusID)
        case noSuchJob
    }

    /// Returns a job to another status, whatever its lifecycle allows.
    ///
    /// - Parameters:
    ///   - record: the record as it was read.
    ///   - dropsRider: whether to unassign the rider, because it cannot get the task again.
    package func correct(
        _ job: JobID, _ correction: StatusCorrection, of record: JobRecord, dropsRider: Bool
    ) -> EventLoopFuture<Durable<Correction>> {
        let status = correction.status
        return self.change(
            job, Scripts.correctJob, keys: [self.keyspace.events(of: job)],
            arguments: [
                .text(ExpectedHead(epoch: record.epoch, id: record.head).text), .text(status.rawValue),
                .text(record.kind.reached(returningTo: status, from: record.reached).rawValue),
                .text(correction.actor.text), .text(correction.reason), .text(correction.request),
                status.allowsTravel ? 1 : 0, status.end == nil ? 0 : 1, dropsRider ? 1 : 0, self.retention,
            ]
        ).flatMapThrowing { answer in
            guard let outcome = Self.correction(answer.value, of: job, to: status) else {
                throw self.ledger.refusal(of: self.keyspace.job(job), by: Scripts.correctJob.name)
            }
            switch outcome {
            case .corrected, .repeated: return Durable(value: outcome, replicas: answer.replicas)
            case .unchanged, .overtaken, .noSuchJob: return Durable(value: outcome, replicas: nil)
            }
        }
    }

    /// `nil` when the reply does not match the script's contract.
    private static func correction(_ answer: RESPValue, of job: JobID, to status: JobStatus) -> Correction? {
        let parts = answer.array ?? []
        let current = parts.dropFirst().first?.text.flatMap(JobStatus.init)
        switch (parts.first?.integer, current) {
        case (0, _): return .noSuchJob
        case (-1, let current?): return .unchanged(current)
        case (-2, let current?):
            guard parts.count == 3, let head = parts[2].text.flatMap({ StatusID($0) }) else { return nil }
            return .overtaken(status: current, head: head)
        case (let code?, _) where code == 1 || code == 2:
            guard parts.count == 7, let epoch = parts[1].text, epoch.isNonce, let previous = parts[2].text,
                let id = parts[3].text.flatMap({ StatusID($0) }), let at = parts[4].timestamp,
                let corrected = parts[5].text.flatMap(JobStatus.init),
                let rider = optional(parts[6].text ?? "", { PersonID($0) })
            else { return nil }
            let event = StatusEvent(epoch: epoch, previous: StatusID(previous), id: id, status: status, at: at)
            let result = CorrectedStatus(job: job, event: event, corrected: corrected, rider: rider)
            return code == 1 ? .corrected(result) : .repeated(result)
        default: return nil
        }
    }

    /// Adds an event to the job's log although later events have overtaken it. The job itself does not change. Safe to
    /// repeat: the log contains each event once.
    ///
    /// - Parameters:
    ///   - occurredAt: when it happened, ms since the epoch; `nil` if that is unknown.
    ///   - request: id of the event, 1 to 128 printable characters.
    /// - Returns: its id; `nil` if it was not recorded: it is a duplicate, the log has too many late entries, or there
    ///   is no such job.
    package func recordLate(
        _ event: LateEvent, of job: JobID, by actor: PersonID, occurredAt: Int64?, request: String
    ) -> EventLoopFuture<StatusID?> {
        var words: [RedisCommand.Word]
        switch event {
        case .status(let status, let happensOnce): words = [.text(status.rawValue), happensOnce ? 1 : 0, "*", ""]
        case .assignment(let assignment):
            let rider = assignment.rider.map { $0?.text ?? "" } ?? "*"
            words = ["", 0, .text(rider), .text(assignment.customer?.text ?? "")]
        }
        words += [.text(actor.text), .text(occurredAt.map(String.init) ?? ""), .text(request)]
        return self.writes.evaluate(
            Scripts.recordLate, keys: [self.keyspace.job(job), self.keyspace.log(of: job)], arguments: words
        ).flatMapThrowing { answer in
            guard let parts = answer.array, let code = parts.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.recordLate.name)
            }
            return code == 1 ? parts.last?.text.flatMap { StatusID($0) } : nil
        }
    }
}
