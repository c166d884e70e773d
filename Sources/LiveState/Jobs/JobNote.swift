// Stores the customer's note to the rider.

package import EnrouteWire
package import NIOCore
package import Redis

extension JobLedger {
    package enum NoteResult: Sendable, Hashable {
        case changed
        /// The job already had this note, or none.
        case unchanged
        /// No such job, or it is another customer's.
        case noSuchJob
        case ended(JobStatus)
    }

    /// Replaces the customer's note. Followers read the job again. Safe to repeat.
    ///
    /// - Parameters:
    ///   - note: `nil` removes the stored one.
    ///   - customer: the customer that the job must have; `nil` for any.
    package func note(
        _ note: CustomerNote?, on job: JobID, of customer: PersonID?
    ) -> EventLoopFuture<Durable<NoteResult>> {
        self.change(
            job, Scripts.noteJob, keys: [self.keyspace.events(of: job)],
            arguments: [
                .text(customer?.text ?? ""), .text(note?.text ?? ""),
                .text(JobStatus.allCases.filter { $0.end != nil }.map(\.rawValue).joined(separator: ",")),
                self.retention,
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            switch (parts.first?.integer, parts.dropFirst().first?.text.flatMap(JobStatus.init)) {
            case (1, _): return Durable(value: .changed, replicas: answer.replicas)
            case (2, _): return Durable(value: .unchanged, replicas: answer.replicas)
            case (0, _): return Durable(value: .noSuchJob, replicas: nil)
            case (-2, let status?): return Durable(value: .ended(status), replicas: nil)
            default: throw RedisError.unexpectedAnswer(command: Scripts.noteJob.name)
            }
        }
    }
}
