// A revocation is remembered for a limited time. A change of a revoked job makes the ledger store the job longer, so its
// revocation is renewed. Otherwise the customer and the rider would have access again.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import LiveState
internal import NIOCore
internal import Redis

extension JobService {
    /// The stream of revocations has its maximum length.
    private struct NoRoom: Error {}

    /// Revokes a revoked job again if its revocation would otherwise be forgotten before the job. Called after every
    /// change that extends the life of the record. The caller does not wait: attempts that fail are repeated.
    func renewRevocation(of job: JobID) {
        guard self.needsRenewal(job) else { return }
        _ = self.unfinished.attempt(job, on: self.loop, self.revokeAgain(job)) {
            // Another change or gateway may have renewed it since.
            self.needsRenewal(job) ? self.revokeAgain(job) : self.loop.makeSucceededVoidFuture()
        }
    }

    private func needsRenewal(_ job: JobID) -> Bool {
        guard let at = self.revocations.time(of: .job(job)) else { return false }
        return WallClock.nowMilliseconds - at > LiveStateSettings.revocationRenewal.milliseconds
    }

    private func revokeAgain(_ job: JobID) -> EventLoopFuture<Void> {
        self.ledger.revocations.revoke(
            .job(job), by: Riders.Requester.gateway.actor, because: "the revoked job was changed"
        ).flatMapThrowing { answer in
            guard answer.value == .revoked else { throw NoRoom() }
        }
    }
}
