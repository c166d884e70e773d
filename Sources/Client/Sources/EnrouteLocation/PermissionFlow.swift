// The location permission (US-122) as one state table that does not use the system: a phase and an event determine the
// next phase and the actions. The rider's page uses the same table (rider-permission.js), and a test compares the two.
//
// The table guarantees three things. `ask`, which lets the system show its prompt, follows only the event `consent`.
// `begin`, which starts reading the location, follows only the permission. After a refusal, the rider reads how to
// allow it and is not asked again.

/// The phases, events and actions of the location permission.
public enum PermissionFlow {
    /// The panel or state that the app shows. All phases except `off` and `sharing` show a panel.
    public enum Phase: String, Sendable, CaseIterable {
        case off, explaining, asking, sharing, refused, dismissed, services, revoked, insecure, unsupported
    }

    /// What happened.
    public enum Event: String, Sendable, CaseIterable {
        /// The rider wants to share the location. The suffix is the permission that is known before the system shows
        /// its prompt.
        case wishPrompt = "wish.prompt"
        case wishUnknown = "wish.unknown"
        case wishGranted = "wish.granted"
        case wishDenied = "wish.denied"
        case wishDismissed = "wish.dismissed"
        case wishInsecure = "wish.insecure"
        case wishUnsupported = "wish.unsupported"
        /// The app is allowed to use the location, but the device cannot provide one.
        case deviceOff = "device.off"
        /// The rider agreed to see the system's prompt.
        case consent
        case cancel
        case stop
        case fix
        case changedGranted = "changed.granted"
        case changedDenied = "changed.denied"
        case changedPrompt = "changed.prompt"
        case failDenied = "fail.denied"
        case failDismissed = "fail.dismissed"
        case failServices = "fail.services"
        case failUnavailable = "fail.unavailable"
        case failTimeout = "fail.timeout"
    }

    /// The actions of the app.
    public enum Action: String, Sendable, CaseIterable {
        /// Let the system show its prompt.
        case ask
        /// Start reading the location.
        case begin
        /// Stop reading it.
        case unwatch
        /// Travel mode has not been switched on and is no longer wanted.
        case drop
        case forget
        case rememberRefused = "remember.refused"
        case rememberDismissed = "remember.dismissed"
        case reportPermissionDenied = "report.permission_denied"
        case reportServicesDisabled = "report.services_disabled"
        case reportNoFix = "report.no_fix"
        /// Notify the rider that the location is allowed now.
        case tellAllowed = "tell.allowed"
    }

    /// The next phase and what to do.
    public struct Step: Hashable, Sendable {
        public let phase: Phase
        public let actions: [Action]

        init(_ phase: Phase, _ actions: Action...) { (self.phase, self.actions) = (phase, actions) }
    }

    /// Returns the step for an event. Events that the table does not list change nothing.
    public static func step(_ phase: Phase, _ event: Event) -> Step { Self.table[phase]?[event] ?? Step(phase) }

    private static let wishes: [Event: Step] = [
        .wishPrompt: Step(.explaining), .wishUnknown: Step(.explaining), .wishGranted: Step(.sharing, .begin),
        .wishDenied: Step(.refused), .wishDismissed: Step(.dismissed), .wishInsecure: Step(.insecure),
        .wishUnsupported: Step(.unsupported), .deviceOff: Step(.services),
    ]

    /// The permission was revoked: in the settings, or by a system that had granted it only once.
    private static let takenBack = Step(.revoked, .unwatch, .reportPermissionDenied)
    private static let closed = Step(.off, .drop)
    /// The rider allowed it in the settings while the panel was open: continue with what the rider wanted.
    private static let allowed = Step(.sharing, .forget, .begin, .tellAllowed)

    /// While the system's prompt is open, a second tap does not show it again.
    private static let patience = Self.wishes.mapValues { _ in Step(.asking) }

    static let table: [Phase: [Event: Step]] = [
        .off: Self.wishes,
        .explaining: Self.wishes.adding([
            .consent: Step(.asking, .ask), .cancel: Self.closed, .changedGranted: Step(.sharing, .begin),
            .changedDenied: Step(.refused),
        ]),
        .asking: Self.patience.adding([
            .fix: Step(.sharing, .begin), .changedGranted: Step(.sharing, .begin),
            .changedDenied: Step(.refused, .rememberRefused),
            .failDenied: Step(.refused, .rememberRefused),
            .failDismissed: Step(.dismissed, .rememberDismissed), .failServices: Step(.services, .drop),
            .failUnavailable: Step(.services, .drop),
            // The time limit started before the rider answered. The location is allowed, but the receiver has no position yet.
            .failTimeout: Step(.sharing, .begin, .reportNoFix), .cancel: Self.closed, .stop: Self.closed,
        ]),
        .sharing: [
            .wishGranted: Step(.sharing, .begin), .wishPrompt: Step(.sharing, .begin),
            .wishUnknown: Step(.sharing, .begin), .wishDismissed: Step(.sharing, .begin), .wishDenied: Self.takenBack,
            .changedDenied: Self.takenBack, .changedPrompt: Self.takenBack, .failDenied: Self.takenBack,
            .failDismissed: Self.takenBack, .failServices: Step(.services, .unwatch, .reportServicesDisabled),
            .failUnavailable: Step(.sharing, .reportNoFix), .failTimeout: Step(.sharing, .reportNoFix),
            .stop: Step(.off, .unwatch),
        ],
        .refused: Self.wishes.adding([
            .consent: Step(.asking, .forget, .ask), .changedGranted: Self.allowed,
            .changedPrompt: Step(.off, .drop, .forget), .cancel: Self.closed,
        ]),
        .dismissed: Self.wishes.adding([
            .consent: Step(.asking, .forget, .ask), .changedGranted: Self.allowed,
            .changedDenied: Step(.refused), .cancel: Self.closed,
        ]),
        .services: Self.wishes.adding([.changedDenied: Step(.refused), .cancel: Self.closed, .stop: Self.closed]),
        .revoked: Self.wishes.adding([
            // Travel mode is still on, and continues as soon as the location is allowed.
            .changedGranted: Step(.sharing, .forget, .begin), .cancel: Step(.revoked), .stop: Self.closed,
        ]),
        .insecure: Self.wishes.adding([.cancel: Self.closed]),
        .unsupported: Self.wishes.adding([.cancel: Self.closed]),
    ]
}

extension [PermissionFlow.Event: PermissionFlow.Step] {
    fileprivate func adding(_ more: Self) -> Self { self.merging(more) { _, new in new } }
}
