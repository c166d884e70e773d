// What a job can be, and what may follow what. Data, not code: the table below is all there is to it. The gateway names
// the statuses that may come before; lua/publish_status.lua compares and decides races.

/// What is on its way: an order, or somebody who comes to do work.
public enum JobKind: String, Sendable, CaseIterable {
    case delivery, service
}

/// Where a job stands.
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
    /// The status a job of this kind begins with.
    public var firstStatus: JobStatus {
        switch self {
        case .delivery: .pendingVendorAcceptance
        case .service: .assigned
        }
    }

    /// Statuses of this kind, in the order they are usually passed.
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
    /// The statuses from which this one may follow.
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

    /// Statuses in which the rider may share its position: it is underway to the customer.
    public static let travelling: [JobStatus] = [.inTransit, .onTheWay]
    public var allowsTravel: Bool { Self.travelling.contains(self) }

    /// Why following ends with this status; `nil` while it goes on.
    public var end: EndReason? {
        switch self {
        case .delivered, .completed: .completed
        case .cancelled: .cancelled
        default: nil
        }
    }

    /// Why the rider's position is not shown from this status on; `nil` where travel mode does not end with it.
    public var endOfTravel: EndReason? {
        self == .workInProgress ? .arrived : self.end
    }
}

/// Why a job, or its positions, can not be followed any further.
public enum EndReason: String, Sendable, CaseIterable {
    case arrived, deactivated
    case timeLimit = "time_limit"
    case completed, cancelled, revoked, reassigned
}

/// What can be said of the positions of a job.
public enum TrackingState: String, Sendable, CaseIterable {
    /// Travel mode is on and no position has come yet, or travel mode is not on yet.
    case waiting
    /// The last one is older than 30 s in `stale`.
    case live, stale
    /// The rider switched travel mode off by hand, which is not arrival.
    case paused
    case arrived
    case ended
}
