// Erasure of a job on behalf of the service, for example because a customer asks for it (GDPR, article 17). Several slots and
// both instances are involved, so it is a sequence. Every step can be repeated, and the record goes last: if a gateway dies in
// between, the same request finishes the rest. Once the record is gone, only entries of lists can be left, which are dropped by
// whoever reads them.

package import EnrouteWire
internal import HTTPValues
internal import LiveState
package import NIOCore
package import Redis

extension JobService {
    /// How often an erasure is retried when others change the job concurrently.
    private static let maxErasureAttempts = 5

    /// Erases a job: its positions, validation results and arrival time, its rider's task, its links, its events, its record and
    /// log, and its entries in lists. Its followers' subscriptions end with `revoked`.
    ///
    /// - Parameters:
    ///   - actor: who requests it.
    ///   - record: writes the audit entry, which stays. Called with the number of keys and events deleted before the record.
    /// - Returns: fails with `Refused` when there is no such job, also after a successful erasure.
    package func erase(
        _ job: JobID, by actor: PersonID, recording: @escaping @Sendable (_ keys: Int) -> EventLoopFuture<Void>,
        attempt: Int = 1
    ) -> EventLoopFuture<Durable<Void>> {
        let loop = self.loop
        return self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record else { return loop.makeFailedFuture(Refused.noSuchJob) }
            // Nothing of the job can be shared from here on: decisions up to this fence can no longer open the feed.
            return self.feed.close(job, because: .revoked, fence: record.fence + 1, endsJob: true).flatMap { _ in
                self.releaseTask(job, record, by: actor)
            }.flatMap {
                self.feed.erase(job).and(self.ledger.eraseLinks(of: job))
            }.flatMap { live, links in
                self.ledger.eraseEvents(of: job).map { live + links + $0 }
            }.flatMap { count in
                // No job is ever erased without an entry. If a later step fails, the repeated request writes another.
                recording(count)
            }.flatMap {
                self.ledger.erase(job, as: record)
            }.flatMap { erasure in
                switch erasure.value {
                case .erased:
                    // Once more: meanwhile the job may have changed.
                    return self.ledger.unlist(job, record).and(self.feed.erase(job)).and(
                        self.ledger.eraseEvents(of: job)
                    ).map { _ in Durable(value: (), replicas: erasure.replicas) }
                case .noSuchJob: return loop.makeFailedFuture(Refused.noSuchJob)
                case .overtaken where attempt < Self.maxErasureAttempts:
                    return self.erase(job, by: actor, recording: recording, attempt: attempt + 1)
                case .overtaken:
                    return loop.makeFailedFuture(
                        Refused(code: .unavailable, message: "The job is being changed concurrently. Try again."))
                }
            }
        }
    }

    private func releaseTask(_ job: JobID, _ record: JobRecord, by actor: PersonID) -> EventLoopFuture<Void> {
        guard let rider = record.rider else { return self.loop.makeSucceededVoidFuture() }
        return self.release(job, of: rider, because: .cancelled, by: actor)
    }
}
