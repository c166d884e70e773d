// The message `jobs`: the open jobs of a zone as its watchers receive them, and the requests to watch them.

/// A part of the open jobs of a zone, or of their changes.
public struct ZoneJobsView: Hashable, Sendable {
    public var zone: ZoneID
    /// Whether the jobs replace everything that was shown.
    public var isReset: Bool
    /// Whether more messages follow that belong to the last `reset`.
    public var hasMore: Bool
    /// The number of open jobs in the whole zone.
    public var count: Int
    /// Jobs that are new, or have changed.
    public var jobs: [JobRow]
    /// Jobs that are no longer open in this zone.
    public var gone: [JobID]

    public init(
        zone: ZoneID, isReset: Bool = false, hasMore: Bool = false, count: Int, jobs: [JobRow] = [],
        gone: [JobID] = []
    ) {
        (self.zone, self.isReset, self.hasMore) = (zone, isReset, hasMore)
        (self.count, self.jobs, self.gone) = (count, jobs, gone)
    }

    public var encoded: [UInt8] {
        JSONWriter.message("jobs") { writer in
            writer.field("zone", self.zone.text)
            writer.field("reset", self.isReset)
            writer.field("more", self.hasMore)
            writer.field("count", Int64(self.count))
            writer.array("jobs", self.jobs) { $1.write(to: &$0) }
            writer.texts("gone", self.gone.map(\.text))
        }
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("jobs")
        var (zone, count) = (ZoneID?.none, Int64?.none)
        var (isReset, hasMore) = (false, false)
        var (jobs, gone): ([JobRow], [JobID]) = ([], [])
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "zone":
                try members.once(0)
                zone = try reader.identifier("zone")
            case "reset":
                try members.once(1)
                isReset = try reader.boolean()
            case "more":
                try members.once(2)
                hasMore = try reader.boolean()
            case "count":
                try members.once(3)
                count = try reader.integer()
            case "jobs":
                try members.once(4)
                try reader.array { (reader) throws(BadMessage) in jobs.append(try JobRow(from: &reader)) }
            case "gone":
                try members.once(5)
                try reader.array { (reader) throws(BadMessage) in gone.append(try reader.identifier("gone")) }
            default: try reader.value()
            }
        }
        self.init(
            zone: try members.required(zone, "zone"), isReset: isReset, hasMore: hasMore,
            count: Int(clamping: try members.required(count, "count")), jobs: jobs, gone: gone)
    }
}

extension JobRow {
    fileprivate init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("each of jobs")
        var (job, kind, status, statusAt) = (JobID?.none, JobKind?.none, JobStatus?.none, Int64?.none)
        var (customer, rider, tracking) = (PersonID?.none, PersonID?.none, JobTracking?.none)
        var (reason, unavailable) = (EndReason?.none, UnavailableReason?.none)
        var (proximity, geocoding, followers) = (ProximityState?.none, GeocodingState?.none, Int64?.none)
        var (seenAt, deadline, arrivesAt, promisedBy) = (Int64?.none, Int64?.none, Int64?.none, Int64?.none)
        var display = JobDisplay()
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "job":
                try members.once(0)
                job = try reader.identifier("job")
            case "kind": kind = JobKind(rawValue: try reader.string())
            case "status": status = JobStatus(rawValue: try reader.string())
            case "statusAt": statusAt = try reader.integer()
            case "customer": customer = try reader.identifier("customer")
            case "rider": rider = try reader.identifier("rider")
            case "tracking": tracking = JobTracking(rawValue: try reader.string())
            case "reason": reason = EndReason(rawValue: try reader.string())
            case "unavailable": unavailable = UnavailableReason(rawValue: try reader.string())
            case "seenAt": seenAt = try reader.integer()
            case "proximity": proximity = ProximityState(rawValue: try reader.string())
            case "deadline": deadline = try reader.integer()
            case "arrivesAt": arrivesAt = try reader.integer()
            case "promisedBy": promisedBy = try reader.integer()
            case "display": display = try JobDisplay(from: &reader)
            case "geocoding": geocoding = GeocodingState(rawValue: try reader.string())
            case "followers": followers = try reader.integer()
            default: try reader.value()
            }
        }
        self.init(
            job: try members.required(job, "job"), kind: try members.required(kind, "kind"),
            status: try members.required(status, "status"), statusAt: try members.required(statusAt, "statusAt"),
            customer: try members.required(customer, "customer"), rider: rider,
            tracking: try members.required(tracking, "tracking"), reason: reason, unavailable: unavailable,
            seenAt: seenAt, proximity: proximity, deadline: deadline, arrivesAt: arrivesAt, promisedBy: promisedBy,
            orderNumber: display.orderNumber, geocoding: geocoding,
            followers: Int(clamping: try members.required(followers, "followers")))
    }
}
