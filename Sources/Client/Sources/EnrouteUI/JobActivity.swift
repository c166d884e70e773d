// The values of a Live Activity: small, Codable, and derived from a view by one rule.

public import Enroute
public import Foundation

/// The content of a Live Activity about a job. ActivityKit limits it to 4 KB; this is far smaller.
public struct JobActivityState: Codable, Hashable, Sendable {
    public let status: JobStatus
    /// The number of complete steps, and of all steps.
    public let completedSteps: Int
    public let totalSteps: Int
    public let tracking: JobView.Tracking
    /// By this device's clock, for `Text(timerInterval:)`.
    public let arrivesAt: Date?
    /// When the content becomes outdated, unless an update arrives first.
    public let staleDate: Date
    public let isOver: Bool

    /// Without an update for this time, the system shows the activity as stale.
    public static let lifetime: TimeInterval = 120

    public init(_ view: JobView, now: Date = Date()) {
        self.status = view.status
        self.completedSteps = view.steps.count { $0.state == .complete }
        self.totalSteps = view.steps.count
        self.tracking = view.tracking
        let isShown = view.arrival?.state == .ok
        self.arrivesAt = isShown ? view.arrivesAtOnThisClock : nil
        self.staleDate = now.addingTimeInterval(Self.lifetime)
        self.isOver = view.ended != nil
    }
}

#if canImport(ActivityKit)
    public import ActivityKit

    /// The attributes of a Live Activity that follows a job.
    public struct JobActivityAttributes: ActivityAttributes {
        public typealias ContentState = JobActivityState

        public let job: JobID

        public init(job: JobID) { self.job = job }
    }
#endif
