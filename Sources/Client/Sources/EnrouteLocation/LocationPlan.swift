// How to configure the receiver for the pace that the gateway requests, and why a phone has no position. These values
// do not use the system, so tests can cover every case.

public import Enroute

/// How the receiver is configured.
public struct LocationPlan: Hashable, Sendable {
    /// The accuracy to request, in m. Followers see no reading above 100 m, so a slow pace does not lower it further.
    public let accuracy: Double
    /// Movements below this distance in m cause no reading.
    public let distanceFilter: Double
    /// After this time without a reading, request one: a receiver reports nothing while the phone does not move, and
    /// followers see a rider as stale after 30 s.
    public let lookAgainAfter: Duration

    /// The rider's page uses the same time.
    static let lookAgain = Duration.seconds(8)

    /// - Parameter pace: the interval between two reports, 1 to 20 s.
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
    /// A rider at a red light moves by less than the filter's distance, so the receiver reports nothing. Without a
    /// filter, it reports the phone's position. The first reading sets the filter again, so a rider who stands still
    /// costs one reading per `lookAgainAfter`.
    func distanceFilter(after silence: Duration) -> Double? {
        silence < self.lookAgainAfter ? self.distanceFilter : nil
    }
}

/// Facts that determine whether the phone can be located.
public struct LocationEvidence: Hashable, Sendable {
    /// The system's permission, with the names that the rider's page uses.
    public enum Permission: Hashable, Sendable { case prompt, granted, denied, restricted }

    public var permission: Permission
    /// Whether location services are switched on for the device.
    public var areServicesEnabled: Bool
    /// Whether the rider allowed only a rough location.
    public var isReduced: Bool
    /// The time since the last reading; `nil` before the first.
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

    /// A silence that followers notice. The rider's page waits as long for a first reading.
    static let silence = Duration.seconds(20)

    /// Why there is no position; `nil` while there is one, or before the rider was asked for permission.
    public var unavailableReason: UnavailableReason? {
        if !self.areServicesEnabled { return .servicesDisabled }
        switch self.permission {
        case .prompt: return nil
        case .denied, .restricted: return .permissionDenied
        case .granted: break
        }
        // An approximate location has a radius of kilometers, and the gateway refuses it.
        if self.isReduced { return .permissionDenied }
        guard let sinceLastFix, sinceLastFix < Self.silence else { return self.isLowPower ? .lowBattery : .noFix }
        return nil
    }

    /// The event of a tap that starts sharing the location.
    ///
    /// - Parameter wasRefused: whether the rider refused before. The system shows its prompt only once.
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
