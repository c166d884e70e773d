// The note of operations staff about a job. It is part of the job's record, so it is stored as long as the job and
// erased with it.

package import EnrouteWire
package import NIOCore
package import Redis

extension JobLedger {
    package enum NoteChange: Sendable, Hashable {
        /// ms since the epoch
        case changed(at: Int64)
        /// The job already had this note; `nil` if it already had none.
        case unchanged(OperationsNote?)
        case noSuchJob
    }

    /// Stores or removes a job's note. Safe to repeat.
    ///
    /// - Parameter text: valid according to `OperationsNote.isNote`; `nil` removes the note.
    package func note(_ text: String?, on job: JobID, by actor: PersonID) -> EventLoopFuture<Durable<NoteChange>> {
        self.writes.evaluateDurably(
            Scripts.keepNote, keys: [self.keyspace.job(job)], arguments: [.text(text ?? ""), .text(actor.text)]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            switch (parts.first?.integer, parts.count) {
            case (0, 1): return Durable(value: .noSuchJob, replicas: nil)
            case (1, 2):
                guard let at = parts[1].timestamp else { break }
                return Durable(value: .changed(at: at), replicas: answer.replicas)
            case (2, 3):
                guard let text else { return Durable(value: .unchanged(nil), replicas: answer.replicas) }
                guard let at = parts[1].timestamp, let by = parts[2].text.flatMap({ PersonID($0) }) else { break }
                return Durable(
                    value: .unchanged(OperationsNote(text: text, at: at, by: by)), replicas: answer.replicas)
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.job(job), by: Scripts.keepNote.name)
        }
    }

    /// Reads a job's note. `nil` if it has none, or if the stored one is malformed.
    package func note(of job: JobID) -> EventLoopFuture<OperationsNote?> {
        let key = self.keyspace.job(job)
        return self.ledger.send(["HMGET", .text(key), "note", "note_at", "note_by"]).map { answer in
            let fields = answer.array ?? []
            guard fields.count == 3, let text = fields[0].text, OperationsNote.isNote(text),
                let at = fields[1].text?.timestamp, let by = fields[2].text.flatMap({ PersonID($0) })
            else { return nil }
            return OperationsNote(text: text, at: at, by: by)
        }
    }
}
