// The statuses of a job, and which status may follow which. The lifecycle is data: the table below is complete. The
// gateway passes the allowed predecessors to lua/publish_status.lua, which compares them and decides races.

/// The kind of a job: an order that is delivered, or a visit for work.
public enum JobKind: String, Sendable, CaseIterable {
    case delivery, service
}

/// The status of a job.
public enum JobStatus: String, Sendable, CaseIterable {
    case pendingVendorAcceptance = "pending_vendor_acceptance"
    case accepted, preparing
    case readyForPickup = "ready_for_pickup"
    case inTransit = "in_transit"
    case delivered
    case allocationFailed = "allocation_failed"

    case assigned
    case onTheWay = "on_the_way"
    case workInProgress = "work_in_progress"
    case completed

    case cancelled
}

extension JobKind {
    /// The first status of this kind.
    public var firstStatus: JobStatus {
        switch self {
        case .delivery: .pendingVendorAcceptance
        case .service: .assigned
        }
    }

    /// The statuses of this kind, in their usual order.
    public var statuses: [JobStatus] {
        switch self {
        case .delivery:
            [
                .pendingVendorAcceptance, .accepted, .preparing, .readyForPickup, .inTransit, .delivered, .cancelled,
                .allocationFailed,
            ]
        case .service: [.assigned, .onTheWay, .workInProgress, .completed, .cancelled]
        }
    }
}

extension JobStatus {
    /// The statuses that this one may follow.
    public var predecessors: [JobStatus] {
        switch self {
        case .pendingVendorAcceptance, .assigned: []
        case .accepted: [.pendingVendorAcceptance]
        case .preparing: [.accepted, .allocationFailed]
        case .readyForPickup: [.preparing, .allocationFailed]
        case .inTransit: [.readyForPickup]
        case .delivered: [.inTransit, .readyForPickup]
        case .allocationFailed: [.accepted, .preparing, .readyForPickup]
        case .onTheWay: [.assigned]
        case .workInProgress: [.onTheWay, .assigned]
        case .completed: [.workInProgress]
        case .cancelled:
            [
                .pendingVendorAcceptance, .accepted, .preparing, .readyForPickup, .inTransit, .allocationFailed,
                .assigned, .onTheWay, .workInProgress,
            ]
        }
    }

    /// The statuses that may follow this one; empty for the end of a job.
    public var successors: [JobStatus] { Self.allCases.filter { $0.predecessors.contains(self) } }

    /// The statuses in which the rider travels to the customer and may share their position.
    public static let travelling: [JobStatus] = [.inTransit, .onTheWay]
    public var allowsTravel: Bool { Self.travelling.contains(self) }

    /// Whether followers see who is coming (the rider's card) in this status: from the vendor's acceptance, or the
    /// assignment of a visit, until the job ends. Not while no rider can be found.
    public var showsRider: Bool {
        switch self {
        case .accepted, .preparing, .readyForPickup, .inTransit, .assigned, .onTheWay, .workInProgress: true
        case .pendingVendorAcceptance, .allocationFailed, .delivered, .completed, .cancelled: false
        }
    }

    /// The reason why following ends with this status; `nil` if it continues.
    public var end: EndReason? {
        switch self {
        case .delivered, .completed: .completed
        case .cancelled: .cancelled
        default: nil
        }
    }

    /// The reason why travel mode ends with this status; `nil` if it does not.
    public var endOfTravel: EndReason? {
        self == .workInProgress ? .arrived : self.end
    }
}

/// Why a job, or its position, can no longer be followed.
public enum EndReason: String, Sendable, CaseIterable {
    case arrived, deactivated
    case timeLimit = "time_limit"
    case completed, cancelled, revoked, reassigned
}

/// The tracking state: whether positions of a job are shown.
public enum TrackingState: String, Sendable, CaseIterable {
    /// Travel mode is not on yet, or it is on and no location has arrived.
    case waiting
    /// In `stale`, the last location is older than 30 s.
    case live, stale
    /// The rider switched travel mode off, which is not arrival.
    case paused
    case arrived
    case ended
}
