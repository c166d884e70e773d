// Why there is no location of a rider: reported by the rider's client, or inferred by a gateway.

/// The reason. Followers receive the key of a text of `TrackingTexts` instead; operations and services receive the
/// reason too.
public enum UnavailableReason: String, Hashable, Sendable, CaseIterable {
    /// The receiver has no fix.
    case noFix = "no_fix"
    case permissionDenied = "permission_denied"
    case servicesDisabled = "services_disabled"
    /// The page or the app is in the background and gets no locations.
    case hidden
    case lowBattery = "low_battery"
    /// The rider switched to a navigation app.
    case navigationHandoff = "navigation_handoff"
    /// The phone is disconnected.
    case network
    /// The phone reports that an app fakes its positions.
    case mocked
    case unknown
}
