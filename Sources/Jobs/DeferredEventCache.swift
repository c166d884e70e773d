// Jobs that came too early, with the places of their addresses: an event is sent again every few seconds until its rider may
// have the job, and no service is to be asked for the same place each time.

internal import EnrouteWire
package import Events
package import NIOCore
internal import Synchronization

/// What was found for events that are to come again. May be used from any thread.
package final class DeferredEventCache: Sendable {

    package init() {}
    private struct Kept {
        let job: CreatedJob
        let until: NIODeadline
    }

    private let kept = Mutex<[String: Kept]>([:])

    /// Events, at most; of more, the one that would be kept for the shortest time is forgotten.
    package static let most = 1_000
    /// How long it is kept, and how long where something was not found or nobody could be asked.
    package static let lifetime = (found: TimeAmount.minutes(10), missing: TimeAmount.minutes(1))

    /// - Parameter event: as the ledger knows it.
    package func job(of event: String, now: NIODeadline) -> CreatedJob? {
        self.kept.withLock { kept in kept[event].flatMap { $0.until > now ? $0.job : nil } }
    }

    package func keep(_ job: CreatedJob, of event: String, now: NIODeadline) {
        let isMissing = [job.geocoded, job.vendor?.geocoded].contains { $0?.state == .nothing }
        let lifetime = isMissing ? Self.lifetime.missing : Self.lifetime.found
        self.kept.withLock { kept in
            // It is as old as when it was found.
            if let known = kept[event], known.until > now { return }
            if kept.count >= Self.most { kept = kept.filter { $0.value.until > now } }
            if kept.count >= Self.most, let next = kept.min(by: { $0.value.until < $1.value.until }) {
                kept[next.key] = nil
            }
            kept[event] = Kept(job: job, until: now + lifetime)
        }
    }
}
