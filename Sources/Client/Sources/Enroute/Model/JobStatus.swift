// Statuses, kinds and steps of a job. A newer gateway may send values that this version does not know.

public import Foundation

/// The status of a job. The type is open: a status that only a newer gateway knows has no constant here.
public struct JobStatus: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let pendingVendorAcceptance = JobStatus(rawValue: "pending_vendor_acceptance")
    public static let accepted = JobStatus(rawValue: "accepted")
    public static let preparing = JobStatus(rawValue: "preparing")
    public static let readyForPickup = JobStatus(rawValue: "ready_for_pickup")
    public static let inTransit = JobStatus(rawValue: "in_transit")
    public static let delivered = JobStatus(rawValue: "delivered")
    public static let allocationFailed = JobStatus(rawValue: "allocation_failed")
    public static let assigned = JobStatus(rawValue: "assigned")
    public static let onTheWay = JobStatus(rawValue: "on_the_way")
    public static let workInProgress = JobStatus(rawValue: "work_in_progress")
    public static let completed = JobStatus(rawValue: "completed")
    public static let cancelled = JobStatus(rawValue: "cancelled")
}

/// Whether a job is a delivery or a service visit.
public struct JobKind: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let delivery = JobKind(rawValue: "delivery")
    public static let service = JobKind(rawValue: "service")
}

/// Why following or sharing ended.
public struct EndReason: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let arrived = EndReason(rawValue: "arrived")
    public static let deactivated = EndReason(rawValue: "deactivated")
    public static let timeLimit = EndReason(rawValue: "time_limit")
    public static let completed = EndReason(rawValue: "completed")
    public static let cancelled = EndReason(rawValue: "cancelled")
    public static let revoked = EndReason(rawValue: "revoked")
    public static let reassigned = EndReason(rawValue: "reassigned")
}

/// A position in the record of a job's statuses. Store it, and pass it to `statusEvents(of:after:)` to continue from
/// there.
public struct StatusCursor: Codable, Hashable, Sendable {
    /// Identifies the record. Another value means that the record started again.
    public let epoch: String
    /// The id of the event.
    public let id: String

    public init(epoch: String, id: String) { (self.epoch, self.id) = (epoch, id) }
}

/// A change of a job's status.
public struct StatusEvent: Codable, Hashable, Sendable {
    /// The position of this event in the record.
    public let cursor: StatusCursor
    public let status: JobStatus
    /// When the status started, by the gateway's clock.
    public let at: Date
    /// Whether earlier events are missing, because the gateway no longer has them.
    public let followsGap: Bool

    public init(cursor: StatusCursor, status: JobStatus, at: Date, followsGap: Bool = false) {
        (self.cursor, self.status, self.at, self.followsGap) = (cursor, status, at, followsGap)
    }
}
