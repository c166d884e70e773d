// What people read and hear of a rider's position and arrival: two texts for each state, in the section `tracking` of the
// files that hold the texts of statuses. As there, a file that lacks one is refused by name.

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

    /// What followers are told of a silence, in plain words.
    public init(_ reason: UnavailableReason) {
        switch reason {
        case .noFix: self = .unavailableNoFix
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

/// The texts of one state.
public struct TrackingText: Hashable, Sendable {
    /// A label: `ETA unavailable`.
    public var short: String
    /// For screen readers and speakers: a whole sentence.
    public var spoken: String
}

/// The texts of every state in one language.
public struct TrackingTexts: Hashable, Sendable {
    private let texts: [TrackingTextKey: TrackingText]

    /// - Parameter json: a file of texts, whose section `tracking` is read.
    /// - Throws: `BadMessage`, which names what is missing or can not be understood.
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
                        throw BadMessage("tracking.\(text) is no state")
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
        // Each has one: `init` made sure.
        self.texts[key]!
    }

    public static let english = Self.included(StatusTexts.english)
    public static let german = Self.included(StatusTexts.german)

    private static func included(_ file: StatusTexts) -> Self {
        do {
            return try Self(json: file.json)
        } catch {
            preconditionFailure("a file of Texts/ can not be used: \(error)")
        }
    }
}

extension TrackingText {
    fileprivate init(from reader: inout JSONReader, _ key: TrackingTextKey) throws(BadMessage) {
        var (short, spoken) = (String?.none, String?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("short") {
                short = try reader.string()
            } else if name.equals("spoken") {
                spoken = try reader.string()
            } else {
                try reader.value()
            }
        }
        guard let short, !short.isEmpty else { throw BadMessage("tracking.\(key.rawValue).short is missing") }
        guard let spoken, !spoken.isEmpty else { throw BadMessage("tracking.\(key.rawValue).spoken is missing") }
        self.init(short: short, spoken: spoken)
    }
}
