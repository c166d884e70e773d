// Erasure of a job on behalf of the service, for example because a customer asks for it (GDPR, article 17). Several
// slots and both instances are involved, so it is a sequence. Every step can be repeated, and the record is erased
// last: if a gateway dies in between, the same request erases the rest. Then data that was written meanwhile is erased
// too. If that fails, this gateway repeats it in the background.

package import EnrouteWire
internal import HTTPValues
internal import LiveState
package import NIOCore
package import Redis

extension JobService {
    /// How often an erasure is retried when others change the job concurrently.
    private static let maxErasureAttempts = 5
    /// How often the links of a job are deleted in one attempt, while others create links concurrently.
    private static let maxLinkErasures = 20

    /// Erases a job: its positions, validation results and arrival time, its rider's task, its links, its events, its
    /// record and log, and its entries in lists. Its followers' subscriptions end with `revoked`. A job with a
    /// malformed record can also be erased.
    ///
    /// - Parameters:
    ///   - actor: who requests it.
    ///   - record: writes the audit entry, which stays. Called with the number of keys and events deleted before the record.
    /// - Returns: fails with `Refused` when there is no such job, for example because it was erased before and enough
    ///   replicas have that erasure.
    package func erase(
        _ job: JobID, by actor: PersonID, recording: @escaping @Sendable (_ keys: Int) -> EventLoopFuture<Void>,
        attempt: Int = 1
    ) -> EventLoopFuture<Durable<Void>> {
        let loop = self.loop
        return self.ledger.erasable(job).flatMap { erasable in
            guard let record = erasable else { return self.finishErasure(of: job) }
            // No position of the job can be shared from here on: decisions up to this fence can no longer open the
            // feed.
            let fence = (record.version?.fence ?? 0) + 1
            return self.feed.close(job, because: .revoked, fence: fence, endsJob: true).flatMap { _ in
                self.releaseTask(job, record, by: actor)
            }.flatMap {
                self.feed.erase(job).and(self.ledger.eraseLinks(of: job))
            }.flatMap { live, links in
                self.ledger.eraseEvents(of: job).map { live + links + $0 }
            }.flatMap { count in
                // No job is ever erased without an entry. If a later step fails, the repeated request writes another.
                recording(count)
            }.flatMap {
                self.eraseRecord(of: job, as: record.version)
            }.flatMap { erasure in
                switch erasure.value {
                case .erased:
                    let rest = self.eraseRest(of: job, record, by: actor)
                    return self.unfinished.attempt(job, on: loop, rest) {
                        self.eraseRestLater(of: job, record, by: actor)
                    }.map { Durable(value: (), replicas: erasure.replicas) }
                case .noSuchJob: return self.confirm(erasure)
                case .overtaken where attempt < Self.maxErasureAttempts,
                    .hasLinks where attempt < Self.maxErasureAttempts:
                    return self.erase(job, by: actor, recording: recording, attempt: attempt + 1)
                case .overtaken, .hasLinks:
                    return loop.makeFailedFuture(Refused.changedConcurrently)
                }
            }
        }
    }

    /// Erases the record, and the links that were created since `eraseLinks`: Redis erases no record of a job with a link.
    private func eraseRecord(
        of job: JobID, as version: ErasableJob.Version?, attempt: Int = 1
    ) -> EventLoopFuture<Durable<JobLedger.Erasure>> {
        self.ledger.erase(job, as: version).flatMap { erasure in
            guard erasure.value == .hasLinks, attempt < Self.maxLinkErasures else {
                return self.loop.makeSucceededFuture(erasure)
            }
            return self.ledger.eraseLinks(of: job).flatMap { _ in
                self.eraseRecord(of: job, as: version, attempt: attempt + 1)
            }
        }
    }

    /// Erases once more, because the job may have changed before its record was gone.
    private func eraseRest(of job: JobID, _ record: ErasableJob, by actor: PersonID) -> EventLoopFuture<Void> {
        let stored = self.ledger.unlist(job, record).and(self.ledger.eraseRemainingEvents(of: job))
        return stored.and(self.feed.erase(job)).flatMap { _ in self.settleTask(of: job, record, by: actor) }
    }

    /// The same for a later attempt. If the job has been created again meanwhile, its keys belong to the new job.
    private func eraseRestLater(of job: JobID, _ record: ErasableJob, by actor: PersonID) -> EventLoopFuture<Void> {
        self.ledger.wasErased(job).flatMap { wasErased in
            wasErased ? self.eraseRest(of: job, record, by: actor) : self.settleTask(of: job, record, by: actor)
        }
    }

    private func settleTask(of job: JobID, _ record: ErasableJob, by actor: PersonID) -> EventLoopFuture<Void> {
        guard let rider = record.rider else { return self.loop.makeSucceededVoidFuture() }
        return self.settleTask(job, of: rider, because: .cancelled, by: actor)
    }

    /// Erases data that an earlier request may have left, if the request is repeated after the record is gone.
    private func finishErasure(of job: JobID) -> EventLoopFuture<Durable<Void>> {
        self.ledger.wasErased(job).flatMap { wasErased in
            guard wasErased else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
            return self.feed.erase(job).and(self.ledger.eraseRemainingEvents(of: job)).flatMap { _ in
                self.ledger.erase(job, as: nil)
            }.flatMap { self.confirm($0) }
        }
    }

    /// The outcome of a repeated erasure: there is no such job, unless too few replicas have the first erasure.
    private func confirm(_ erasure: Durable<JobLedger.Erasure>) -> EventLoopFuture<Durable<Void>> {
        guard erasure.value == .noSuchJob, erasure.isReplicationUnconfirmed else {
            return self.loop.makeFailedFuture(Refused.noSuchJob)
        }
        return self.loop.makeSucceededFuture(Durable(value: (), replicas: erasure.replicas))
    }

    private func releaseTask(_ job: JobID, _ record: ErasableJob, by actor: PersonID) -> EventLoopFuture<Void> {
        guard let rider = record.rider else { return self.loop.makeSucceededVoidFuture() }
        return self.release(job, of: rider, because: .cancelled, by: actor)
    }
}
