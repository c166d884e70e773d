// A job as operations see it in a list: what it is and whose, what its followers are shown, and exactly why nothing is seen
// of its rider. Where anybody is is not among it.

/// What operations are told of a job's positions: what followers are shown, and beyond that whether the rider is lost.
public enum JobTracking: String, Hashable, Sendable, CaseIterable {
    case waiting, live, stale
    /// The rider shares its position, and nothing has come for so long that the last one is no longer kept. Followers are
    /// shown `waiting`, as before the first one.
    case lost
    case paused, arrived, ended

    public init(_ state: TrackingState) {
        switch state {
        case .waiting: self = .waiting
        case .live: self = .live
        case .stale: self = .stale
        case .paused: self = .paused
        case .arrived: self = .arrived
        case .ended: self = .ended
        }
    }
}

/// One row of the list of a zone's open jobs.
public struct JobRow: Hashable, Sendable {
    public var job: JobID
    public var kind: JobKind
    public var status: JobStatus
    /// ms since the epoch
    public var statusAt: Int64
    public var customer: PersonID
    public var rider: PersonID?
    public var tracking: JobTracking
    /// Why nothing is shown any more; of `paused`, `arrived` and `ended`.
    public var reason: EndReason?
    /// Why nothing is seen of the rider, while it shares its position.
    public var unavailable: UnavailableReason?
    /// When the last position came in, ms since the epoch; only while it is stale or lost, so that a row stays the same
    /// while all is well.
    public var seenAt: Int64?
    public var proximity: ProximityState?
    /// Until when the position may be shared, ms since the epoch; `nil` while it is not.
    public var deadline: Int64?
    /// At all gateways, some seconds ago.
    public var followers: Int

    public init(
        job: JobID, kind: JobKind, status: JobStatus, statusAt: Int64, customer: PersonID, rider: PersonID? = nil,
        tracking: JobTracking, reason: EndReason? = nil, unavailable: UnavailableReason? = nil, seenAt: Int64? = nil,
        proximity: ProximityState? = nil, deadline: Int64? = nil, followers: Int = 0
    ) {
        (self.job, self.kind, self.status, self.statusAt) = (job, kind, status, statusAt)
        (self.customer, self.rider) = (customer, rider)
        (self.tracking, self.reason, self.unavailable, self.seenAt) = (tracking, reason, unavailable, seenAt)
        (self.proximity, self.deadline, self.followers) = (proximity, deadline, followers)
    }
}

/// A zone's open jobs, or what changed of them.
public struct JobRows: Hashable, Sendable {
    public var zone: ZoneID
    /// What to ask for the changes since.
    public var version: String
    /// In the place of all that was shown before.
    public var isReset: Bool
    public var rows: [JobRow]
    /// Are not open in this zone any more.
    public var gone: [JobID]
    /// Of the whole zone.
    public var count: Int
    /// After which job to go on; `nil` when these are all.
    public var next: JobID?

    public init(
        zone: ZoneID, version: String, isReset: Bool, rows: [JobRow], gone: [JobID] = [], count: Int,
        next: JobID? = nil
    ) {
        (self.zone, self.version, self.isReset) = (zone, version, isReset)
        (self.rows, self.gone, self.count, self.next) = (rows, gone, count, next)
    }

    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 256 + 256 * self.rows.count)
        writer.object { writer in
            writer.field("zone", self.zone.text)
            writer.field("version", self.version)
            writer.field("reset", self.isReset)
            writer.field("count", Int64(self.count))
            writer.array("jobs", self.rows) { $1.write(to: &$0) }
            writer.texts("gone", self.gone.map(\.text))
            writer.field("next", self.next?.text)
        }
        return writer.bytes
    }
}

extension JobRow {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("job", self.job.text)
            writer.field("kind", self.kind.rawValue)
            writer.field("status", self.status.rawValue)
            writer.field("statusAt", self.statusAt)
            writer.field("customer", self.customer.text)
            writer.field("rider", self.rider?.text)
            writer.field("tracking", self.tracking.rawValue)
            writer.field("reason", self.reason?.rawValue)
            writer.field("unavailable", self.unavailable?.rawValue)
            writer.field("seenAt", self.seenAt)
            writer.field("proximity", self.proximity?.rawValue)
            writer.field("deadline", self.deadline)
            writer.field("followers", Int64(self.followers))
        }
    }
}
