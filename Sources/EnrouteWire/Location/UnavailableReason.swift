// Why nothing is seen of a rider: one word for what its own client reports, what a gateway infers, and what operators read.

/// Followers are told the texts of `TrackingTexts`; operators, this.
public enum UnavailableReason: String, Hashable, Sendable, CaseIterable {
    /// The receiver finds no position.
    case noFix = "no_fix"
    case permissionDenied = "permission_denied"
    case servicesDisabled = "services_disabled"
    /// The page or the app is in the background and may not look.
    case hidden
    case lowBattery = "low_battery"
    /// The rider went to a navigation app.
    case navigationHandoff = "navigation_handoff"
    /// Its connection is gone.
    case network
    case unknown
}
