// How to configure the receiver for the pace that the gateway asks for, and why a phone has no position. Values without a
// system, so that tests cover every case.

public import Enroute

/// How the receiver is configured.
public struct LocationPlan: Hashable, Sendable {
    /// The accuracy to request, in m. Followers see no reading above 100 m, so a slow pace does not lower it further.
    public let accuracy: Double
    /// Movements below this distance in m cause no reading.
    public let distanceFilter: Double
    /// Without a reading for this time, ask for one: a receiver reports nothing while the phone does not move, and followers
    /// see a rider as stale after 30 s.
    public let lookAgainAfter: Duration

    /// The same as on the rider's page.
    static let lookAgain = Duration.seconds(8)

    /// - Parameter pace: between two reports, 1 to 20 s.
    public init(pace: Duration) {
        switch pace {
        case ..<(.seconds(3)): (self.accuracy, self.distanceFilter) = (5, 5)
        case ..<(.seconds(8)): (self.accuracy, self.distanceFilter) = (10, 10)
        default: (self.accuracy, self.distanceFilter) = (10, 25)
        }
        self.lookAgainAfter = max(Self.lookAgain, min(pace, .seconds(20)))
    }

    /// The distance filter in m of a receiver that has reported nothing for this time; `nil` for none.
    ///
    /// A rider at a red light does not move by the filter's distance, so the receiver is silent. Without a filter it reports
    /// where the phone is. The first reading sets the filter again, so a rider who stands costs one reading in
    /// `lookAgainAfter`.
    func distanceFilter(after silence: Duration) -> Double? {
        silence < self.lookAgainAfter ? self.distanceFilter : nil
    }
}

/// What is known about the phone's ability to be located.
public struct LocationEvidence: Hashable, Sendable {
    /// The system's permission, by the names of the rider's page.
    public enum Permission: Hashable, Sendable { case prompt, granted, denied, restricted }

    public var permission: Permission
    /// Whether location services are switched on for the device.
    public var areServicesEnabled: Bool
    /// Whether the rider allowed only a rough location.
    public var isReduced: Bool
    /// Since the last reading; `nil` before the first.
    public var sinceLastFix: Duration?
    /// Whether the device saves power.
    public var isLowPower: Bool

    public init(
        permission: Permission, areServicesEnabled: Bool = true, isReduced: Bool = false, sinceLastFix: Duration? = nil,
        isLowPower: Bool = false
    ) {
        (self.permission, self.areServicesEnabled, self.isReduced) = (permission, areServicesEnabled, isReduced)
        (self.sinceLastFix, self.isLowPower) = (sinceLastFix, isLowPower)
    }

    /// A silence that followers notice: the page waits as long for a first reading.
    static let silence = Duration.seconds(20)

    /// Why there is no position; `nil` while there is one, or while the rider has not been asked yet.
    public var unavailableReason: UnavailableReason? {
        if !self.areServicesEnabled { return .servicesDisabled }
        switch self.permission {
        case .prompt: return nil
        case .denied, .restricted: return .permissionDenied
        case .granted: break
        }
        // A rough location has a radius of kilometers, which the gateway refuses.
        if self.isReduced { return .permissionDenied }
        guard let sinceLastFix, sinceLastFix < Self.silence else { return self.isLowPower ? .lowBattery : .noFix }
        return nil
    }

    /// The event for a tap that wants to share the location.
    ///
    /// - Parameter wasRefused: the rider refused before, and the system asks only once.
    public func wish(wasRefused: Bool = false) -> PermissionFlow.Event {
        if !self.areServicesEnabled { return .deviceOff }
        switch self.permission {
        case .prompt: return wasRefused ? .wishDismissed : .wishPrompt
        case .granted: return .wishGranted
        case .denied: return .wishDenied
        case .restricted: return .wishUnsupported
        }
    }

    /// The event for a changed permission.
    public var change: PermissionFlow.Event {
        switch self.permission {
        case .prompt: .changedPrompt
        case .granted: .changedGranted
        case .denied, .restricted: .changedDenied
        }
    }
}
