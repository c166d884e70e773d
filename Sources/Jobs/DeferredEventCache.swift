// Jobs of events that cannot be applied yet, with the geocoded places of their addresses. Such an event is sent again every few
// seconds until its rider may have the job, and its addresses must not be geocoded each time.

internal import EnrouteWire
package import Events
package import NIOCore
internal import Synchronization

/// Geocoding results for events that will be sent again. Safe to use from any thread.
package final class DeferredEventCache: Sendable {

    package init() {}
    private struct Kept {
        let job: CreatedJob
        let until: NIODeadline
    }

    private let kept = Mutex<[String: Kept]>([:])

    /// Maximum number of events. Beyond it, the entry that expires first is dropped.
    package static let most = 1_000
    /// How long an entry is stored, and how long if a place was not found or the geocoder did not answer.
    package static let lifetime = (found: TimeAmount.minutes(10), missing: TimeAmount.minutes(1))

    /// - Parameter event: its id at the ledger.
    package func job(of event: String, now: NIODeadline) -> CreatedJob? {
        self.kept.withLock { kept in kept[event].flatMap { $0.until > now ? $0.job : nil } }
    }

    package func keep(_ job: CreatedJob, of event: String, now: NIODeadline) {
        let isMissing = [job.geocoded, job.vendor?.geocoded].contains { $0?.state == .nothing }
        let lifetime = isMissing ? Self.lifetime.missing : Self.lifetime.found
        self.kept.withLock { kept in
            // Keep the original expiry: the result does not become newer.
            if let known = kept[event], known.until > now { return }
            if kept.count >= Self.most { kept = kept.filter { $0.value.until > now } }
            if kept.count >= Self.most, let next = kept.min(by: { $0.value.until < $1.value.until }) {
                kept[next.key] = nil
            }
            kept[event] = Kept(job: job, until: now + lifetime)
        }
    }
}
