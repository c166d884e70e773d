// The translations of tracking states, unavailable reasons and arrivals: a label and a sentence for each, in the section
// `tracking` of the translation files. A file that lacks one is rejected, and the error names what is missing.

/// Names a text of the section `tracking`.
public enum TrackingTextKey: String, Hashable, Sendable, CaseIterable {
    case waiting, live, stale, paused, arrived
    case endedTimeLimit = "ended_time_limit"
    case endedCompleted = "ended_completed"
    case endedCancelled = "ended_cancelled"
    case endedReassigned = "ended_reassigned"
    case endedRevoked = "ended_revoked"
    case unavailableNoFix = "unavailable_no_fix"
    case unavailablePermissionDenied = "unavailable_permission_denied"
    case unavailableServicesDisabled = "unavailable_services_disabled"
    case unavailableHidden = "unavailable_hidden"
    case unavailableLowBattery = "unavailable_low_battery"
    case unavailableNavigationHandoff = "unavailable_navigation_handoff"
    case unavailableNetwork = "unavailable_network"
    case unavailableUnknown = "unavailable_unknown"
    case arrivalAnyMoment = "arrival_any_moment"
    case arrivalRecalculating = "arrival_recalculating"
    case arrivalUnavailable = "arrival_unavailable"
    case arrivalAfterStop = "arrival_after_stop"

    /// The text that explains to followers why the location is unavailable.
    public init(_ reason: UnavailableReason) {
        switch reason {
        // A fake location concerns only the rider and operations staff: the rider may be cheating, or testing an app.
        case .noFix, .mocked: self = .unavailableNoFix
        case .permissionDenied: self = .unavailablePermissionDenied
        case .servicesDisabled: self = .unavailableServicesDisabled
        case .hidden: self = .unavailableHidden
        case .lowBattery: self = .unavailableLowBattery
        case .navigationHandoff: self = .unavailableNavigationHandoff
        case .network: self = .unavailableNetwork
        case .unknown: self = .unavailableUnknown
        }
    }
}

/// The translation of one tracking state.
public struct TrackingText: Hashable, Sendable {
    /// A label: `ETA unavailable`.
    public var short: String
    /// A whole sentence that fits every kind of job, for screen readers and voice output.
    public var spoken: String
    /// The same sentence for a delivery, which names the rider; `nil` where `spoken` fits.
    public var delivery: String?
    /// The same sentence for a service visit, which names the technician; `nil` where `spoken` fits.
    public var service: String?

    public init(short: String, spoken: String, delivery: String? = nil, service: String? = nil) {
        (self.short, self.spoken, self.delivery, self.service) = (short, spoken, delivery, service)
    }

    /// The sentence that a customer reads.
    public func sentence(for kind: JobKind) -> String {
        switch kind {
        case .delivery: self.delivery ?? self.spoken
        case .service: self.service ?? self.spoken
        }
    }
}

/// The translations of all tracking states in one language.
public struct TrackingTexts: Hashable, Sendable {
    private let texts: [TrackingTextKey: TrackingText]

    /// - Parameter json: a translation file, of which the section `tracking` is read.
    /// - Throws: `BadMessage`, which names the missing or unknown entry.
    public init(json: [UInt8]) throws(BadMessage) {
        var texts: [TrackingTextKey: TrackingText] = [:]
        try json.withUnsafeBufferPointer { (bytes) throws(BadMessage) in
            var reader = JSONReader(UnsafeRawBufferPointer(bytes))
            try reader.object { (name, reader) throws(BadMessage) in
                guard name.equals("tracking") else {
                    try reader.value()
                    return
                }
                try reader.object { (name, reader) throws(BadMessage) in
                    let text = String(decoding: name, as: UTF8.self)
                    guard let key = TrackingTextKey(rawValue: text) else {
                        throw BadMessage("tracking.\(text) is not a known state")
                    }
                    texts[key] = try TrackingText(from: &reader, key)
                }
            }
            try reader.end()
        }
        for key in TrackingTextKey.allCases where texts[key] == nil {
            throw BadMessage("tracking.\(key.rawValue) is missing")
        }
        self.texts = texts
    }

    public subscript(key: TrackingTextKey) -> TrackingText {
        // `init` throws unless every key has a text.
        self.texts[key]!
    }

    public static let english = Self.included(StatusTexts.english)
    public static let german = Self.included(StatusTexts.german)

    private static func included(_ file: StatusTexts) -> Self {
        do {
            return try Self(json: file.json)
        } catch {
            preconditionFailure("an embedded translation file is invalid: \(error)")
        }
    }
}

extension TrackingText {
    fileprivate init(from reader: inout JSONReader, _ key: TrackingTextKey) throws(BadMessage) {
        var (short, spoken) = (String?.none, String?.none)
        var (delivery, service) = (String?.none, String?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("short") {
                short = try reader.string()
            } else if name.equals("spoken") {
                spoken = try reader.string()
            } else if name.equals("delivery") {
                delivery = try reader.string()
            } else if name.equals("service") {
                service = try reader.string()
            } else {
                try reader.value()
            }
        }
        guard let short, !short.isEmpty else { throw BadMessage("tracking.\(key.rawValue).short is missing") }
        guard let spoken, !spoken.isEmpty else { throw BadMessage("tracking.\(key.rawValue).spoken is missing") }
        self.init(short: short, spoken: spoken, delivery: delivery, service: service)
    }
}
