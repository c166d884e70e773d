// A job in the list of operations: its kind, status and people, what its followers see, and the exact reason why there
// is no location. It contains no position.

/// The tracking state for operations: what followers see, and also whether the rider is lost.
public enum JobTracking: String, Hashable, Sendable, CaseIterable {
    case waiting, live, stale
    /// Travel mode is on, but the rider has been silent for so long that the last position is no longer stored.
    /// Followers see `waiting`, as before the first location.
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

/// One row in the list of a zone's open jobs.
public struct JobRow: Hashable, Sendable {
    public var job: JobID
    public var kind: JobKind
    public var status: JobStatus
    /// ms since the epoch
    public var statusAt: Int64
    public var customer: PersonID
    public var rider: PersonID?
    public var tracking: JobTracking
    /// Why no position is shown, in `paused`, `arrived` and `ended`.
    public var reason: EndReason?
    /// Why there is no location although travel mode is on.
    public var unavailable: UnavailableReason?
    /// When the last location arrived, ms since the epoch. Present only while it is stale or lost, so a row does not
    /// change while locations arrive.
    public var seenAt: Int64?
    public var proximity: ProximityState?
    /// Until when the rider may share their position, ms since the epoch; `nil` while travel mode is off.
    public var deadline: Int64?
    /// The arrival time that followers see, ms since the epoch; `nil` while they see none.
    public var arrivesAt: Int64?
    /// The end of the promised time, ms since the epoch; `nil` if nothing was promised.
    public var promisedBy: Int64?
    /// The number that people know the job by, of its `display`; `nil` if it has none.
    public var orderNumber: String?
    /// Why the destination's address has no coordinates: `low` or `nothing`.
    public var geocoding: GeocodingState?
    /// The number of followers on all gateways, a few seconds ago.
    public var followers: Int

    public init(
        job: JobID, kind: JobKind, status: JobStatus, statusAt: Int64, customer: PersonID, rider: PersonID? = nil,
        tracking: JobTracking, reason: EndReason? = nil, unavailable: UnavailableReason? = nil, seenAt: Int64? = nil,
        proximity: ProximityState? = nil, deadline: Int64? = nil, arrivesAt: Int64? = nil,
        promisedBy: Int64? = nil, orderNumber: String? = nil, geocoding: GeocodingState? = nil, followers: Int = 0
    ) {
        (self.job, self.kind, self.status, self.statusAt) = (job, kind, status, statusAt)
        (self.customer, self.rider) = (customer, rider)
        (self.tracking, self.reason, self.unavailable, self.seenAt) = (tracking, reason, unavailable, seenAt)
        (self.proximity, self.deadline, self.arrivesAt) = (proximity, deadline, arrivesAt)
        (self.promisedBy, self.orderNumber) = (promisedBy, orderNumber)
        (self.geocoding, self.followers) = (geocoding, followers)
    }
}

/// A zone's open jobs, or their changes.
public struct JobRows: Hashable, Sendable {
    public var zone: ZoneID
    /// The value of `since` for a later request.
    public var version: String
    /// Whether the jobs replace everything that was shown before.
    public var isReset: Bool
    public var rows: [JobRow]
    /// Jobs that are no longer open in this zone.
    public var gone: [JobID]
    /// The number of open jobs in the whole zone.
    public var count: Int
    /// The value of `after` for the next page; `nil` on the last page.
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
    func write(to writer: inout JSONWriter) {
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
            writer.field("arrivesAt", self.arrivesAt)
            writer.field("promisedBy", self.promisedBy)
            if let orderNumber { writer.object("display") { $0.field("orderNumber", orderNumber) } }
            writer.field("geocoding", self.geocoding?.rawValue)
            writer.field("followers", Int64(self.followers))
        }
    }
}
