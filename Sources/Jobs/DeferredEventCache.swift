// The jobs of events that cannot be applied yet, with their geocoded addresses. Such an event is sent again every few
// seconds until the rider can get the job, and the addresses must not be geocoded each time.

internal import EnrouteWire
package import Events
package import NIOCore
internal import Synchronization

/// Geocoding results for events that will be sent again. Safe to use from any thread.
package final class DeferredEventCache: Sendable {
    private struct Entry {
        let job: CreatedJob
        let until: NIODeadline
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// Maximum number of events. Beyond it, the entry that expires first is dropped.
    package static let maxEvents = 1_000
    /// How long an entry is stored: if all places were found, and if one was not found or the geocoder did not answer.
    package static let lifetime = (found: TimeAmount.minutes(10), missing: TimeAmount.minutes(1))

    package init() {}

    /// Returns the job of an event with its geocoded places; `nil` if the cache has none.
    ///
    /// - Parameter event: its id in the ledger.
    package func job(of event: String, now: NIODeadline) -> CreatedJob? {
        self.entries.withLock { entries in entries[event].flatMap { $0.until > now ? $0.job : nil } }
    }

    package func store(_ job: CreatedJob, of event: String, now: NIODeadline) {
        let isMissing = [job.geocoded, job.vendor?.geocoded].contains { $0?.state == .nothing }
        let lifetime = isMissing ? Self.lifetime.missing : Self.lifetime.found
        self.entries.withLock { entries in
            // Keep the original expiry: the result does not become newer.
            if let known = entries[event], known.until > now { return }
            if entries.count >= Self.maxEvents { entries = entries.filter { $0.value.until > now } }
            if entries.count >= Self.maxEvents, let next = entries.min(by: { $0.value.until < $1.value.until }) {
                entries[next.key] = nil
            }
            entries[event] = Entry(job: job, until: now + lifetime)
        }
    }
}
