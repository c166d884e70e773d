// The reads of positions over REST that the audit trail has recorded in this minute. A client that polls a job reads
// the same position repeatedly. Recording each read would cost a command to the ledger and push older entries out of
// the stream.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import Realtime
internal import Synchronization

/// Who has been shown a job's position over REST in the current minute. Safe to use from any thread.
final class RecordedReads: Sendable {
    struct Read: Hashable, Sendable {
        var job: JobID
        var person: PersonID
        var role: Role
    }

    private struct Period {
        var number: Int64 = 0
        var reads: Set<Read> = []
    }

    private let current = Mutex(Period())

    /// A person's reads of a job within one period of the gateway's clock are one entry.
    static let periodMilliseconds: Int64 = 60_000
    /// Maximum number of reads that are remembered. Beyond it, each read in the period gets its own entry, so that none
    /// is missing.
    static let maxReads = 20_000

    /// Returns whether the read has no entry in this period yet, and remembers it.
    ///
    /// - Parameter now: ms since the epoch.
    func isFirst(_ read: Read, now: Int64) -> Bool {
        self.current.withLock { current in
            let number = now / Self.periodMilliseconds
            if current.number != number { current = Period(number: number) }
            guard !current.reads.contains(read) else { return false }
            if current.reads.count < Self.maxReads { current.reads.insert(read) }
            return true
        }
    }
}

extension Routes {
    /// Records that the caller was shown where the rider is. Does nothing if the view has no position, or if this
    /// person's read of the job has been recorded in this minute. Like a session, the response does not wait for the
    /// ledger (Realtime/decisions/asynchronous-audit-trail.md).
    ///
    /// - Parameter via: `rest`, or `page`.
    func recordRead(of view: JobView, _ job: JobID, by grant: Grant, via: String) {
        guard view.snapshot.position != nil else { return }
        let read = RecordedReads.Read(job: job, person: grant.person, role: grant.role)
        guard self.shared.recordedReads.isFirst(read, now: WallClock.nowMilliseconds) else { return }
        self.services.audit(.read(job, by: grant.person, role: grant.role.rawValue, via: via))
    }
}
