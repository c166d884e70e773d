// Changes of a job's status in the ledger.

package import EnrouteWire
package import NIOCore
package import Redis

extension JobLedger {
    package enum Transition: Sendable, Hashable {
        case published(StatusEvent)
        /// A change with this request id was already made, and this is its result.
        case repeated(StatusEvent)
        case notAllowed(from: JobStatus)
        /// The newest event is not the one that the caller expected.
        case overtaken(status: JobStatus, head: StatusID)
        case noSuchJob
        /// The actor is not the party of the job that it acts as.
        case notTheirs
    }

    /// Moves a job to `status` if its lifecycle allows that from the current status.
    ///
    /// - Parameters:
    ///   - source: `rest`, `socket` or `event`.
    ///   - occurredAt: ms since the epoch, 13 digits; `nil` for now.
    ///   - request: id of the request, at most 128 printable characters.
    ///   - expected: the newest event must be this one; `nil` for any.
    package func publish(
        _ status: JobStatus, of job: JobID, by actor: PersonID, source: String, occurredAt: Int64? = nil,
        request: String = "", expected: ExpectedHead? = nil
    ) -> EventLoopFuture<Transition> {
        self.publishDurably(
            status, of: job, by: actor, source: source, occurredAt: occurredAt, request: request, expected: expected
        ).map(\.value)
    }

    /// Moves a job to `status` and also returns how many replicas confirmed it.
    ///
    /// - Parameters:
    ///   - origins: statuses from which it may follow; `nil` for all from which the lifecycle allows this party to cause it.
    ///   - party: the party as which the actor acts. The script compares a customer or rider with the job's record.
    package func publishDurably(
        _ status: JobStatus, of job: JobID, by actor: PersonID, source: String, occurredAt: Int64? = nil,
        request: String = "", after origins: [JobStatus]? = nil, expected: ExpectedHead? = nil,
        party: JobParty = .service, origin: ChangeOrigin = ChangeOrigin()
    ) -> EventLoopFuture<Durable<Transition>> {
        self.change(
            job, Scripts.publishStatus, keys: [self.keyspace.events(of: job)],
            arguments: [
                .text(job.text),
                .text((origins ?? status.origins(causedBy: party)).map(\.rawValue).joined(separator: ",")),
                .text(status.rawValue), .text(actor.text), .text(source), .text(occurredAt.map(String.init) ?? ""),
                .text(request), status.endOfTravel == nil ? 0 : 1, self.retention, .text(expected?.text ?? ""),
                status.isStep ? 1 : 0, .text(party.isOfJob ? party.rawValue : ""),
                .text(origin.receivedAt.map(String.init) ?? ""), .text(origin.traceparent ?? ""),
                status.end == nil ? 0 : 1,
            ]
        ).flatMapThrowing { answer in
            guard let transition = Self.transition(answer.value, to: status) else {
                throw self.ledger.refusal(of: self.keyspace.job(job), by: Scripts.publishStatus.name)
            }
            switch transition {
            case .published, .repeated: return Durable(value: transition, replicas: answer.replicas)
            case .notAllowed, .overtaken, .noSuchJob, .notTheirs: return Durable(value: transition, replicas: nil)
            }
        }
    }

    /// - Returns: `nil` if the reply does not match the script's contract.
    private static func transition(_ answer: RESPValue, to status: JobStatus) -> Transition? {
        let parts = answer.array ?? []
        switch parts.first?.integer {
        case 0: return .noSuchJob
        case -3: return .notTheirs
        case -1:
            guard let current = parts.dropFirst().first?.text.flatMap(JobStatus.init) else { break }
            return .notAllowed(from: current)
        case -2:
            guard parts.count == 3, let current = parts[1].text.flatMap(JobStatus.init),
                let head = parts[2].text.flatMap({ StatusID($0) })
            else { break }
            return .overtaken(status: current, head: head)
        case let code? where code == 1 || code == 2:
            guard parts.count == 5, let epoch = parts[1].text, let previous = parts[2].text,
                epoch.isNonce, let id = parts[3].text.flatMap({ StatusID($0) }), let at = parts[4].timestamp
            else { break }
            let event = StatusEvent(epoch: epoch, previous: StatusID(previous), id: id, status: status, at: at)
            return code == 1 ? .published(event) : .repeated(event)
        default: break
        }
        return nil
    }
}
