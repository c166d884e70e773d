// The values of a rider: readings, availability, unavailable reasons and the results of reports.

public import Foundation

/// One reading of the phone's receiver, before the gateway validates it.
public struct Fix: Codable, Hashable, Sendable {
    public var place: Place
    /// By the phone's clock, which the client corrects, or by a correct clock.
    public var measuredAt: Date
    /// Accuracy radius in m.
    public var accuracy: Double?
    /// Speed in m/s.
    public var speed: Double?
    /// Degrees clockwise from north.
    public var course: Double?
    /// Whether an app invented the reading; the gateway then refuses it. `nil` if the system does not report it.
    public var isMocked: Bool?

    public init(
        place: Place, measuredAt: Date, accuracy: Double? = nil, speed: Double? = nil, course: Double? = nil,
        isMocked: Bool? = nil
    ) {
        (self.place, self.measuredAt) = (place, measuredAt)
        (self.accuracy, self.speed, self.course) = (accuracy, speed, course)
        self.isMocked = isMocked
    }
}

/// Whether a rider is available for tasks.
public enum Availability: String, Codable, Sendable { case online, offline }

/// Why a phone has no position.
public enum UnavailableReason: String, Codable, Sendable, CaseIterable {
    case noFix = "no_fix"
    case permissionDenied = "permission_denied"
    case servicesDisabled = "services_disabled"
    case hidden
    case lowBattery = "low_battery"
    case navigationHandoff = "navigation_handoff"
    case network
    /// An app invents the phone's positions.
    case mocked
    case unknown
}

/// The result of a report.
public enum ReportOutcome: Hashable, Sendable {
    /// The gateway accepted the report for this job, or holds it until the next one confirms it.
    case accepted(JobID)
    /// The gateway refused the report or the request to resume travel mode, or the report was invalid. The job is `nil`
    /// if the refusal contains no job.
    case refused(JobID?, EnrouteError)
}
