// When the rider arrives, as followers are told. A time rather than a rest, so that every client counts down by itself
// between two messages; and a state of its own, independent of whether the rider is seen.

/// What can be said of an arrival.
public enum ArrivalState: String, Hashable, Sendable, CaseIterable {
    case ok
    /// It was known, and what is known of it is not good enough at the moment.
    case recalculating
    case unavailable
}

/// How far an estimate can be trusted.
public enum ArrivalConfidence: String, Hashable, Sendable, CaseIterable, Comparable {
    /// By distance and usual speeds.
    case low
    /// By streets, without their traffic.
    case medium
    /// By streets and today's traffic.
    case high

    public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

    private var rank: Int {
        switch self {
        case .low: 0
        case .medium: 1
        case .high: 2
        }
    }
}

/// The message `eta`, and the member of a snapshot.
public struct ArrivalEstimate: Hashable, Sendable {
    public var state: ArrivalState
    /// ms since the epoch, by the server's clock; `nil` unless the state is `ok`.
    public var arrivesAt: Int64?
    /// s from `at` to the arrival, 0 for any moment; `nil` unless the state is `ok`.
    public var seconds: Int64?
    /// Who says so: `osrm`, `azure_maps`, `mapbox`, `built_in`; there may be more one day.
    public var source: String?
    public var confidence: ArrivalConfidence?
    /// When it was said, ms since the epoch.
    public var at: Int64
    /// Stops that the rider makes before this one; `nil` for none. Without `arrivesAt`: where they are is not known.
    public var stopsBefore: Int64?

    /// What its numbers may be: ms since the epoch with at most 13 digits, s, and stops.
    static let times: ClosedRange<Int64> = 0...9_999_999_999_999
    static let waits: ClosedRange<Int64> = 0...100_000_000
    static let stops: ClosedRange<Int64> = 0...1_000

    public init(
        state: ArrivalState, arrivesAt: Int64? = nil, seconds: Int64? = nil, source: String? = nil,
        confidence: ArrivalConfidence? = nil, at: Int64, stopsBefore: Int64? = nil
    ) {
        self.state = state
        self.arrivesAt = arrivesAt
        self.seconds = seconds
        self.source = source
        self.confidence = confidence
        self.at = at
        self.stopsBefore = stopsBefore
    }
}

extension ArrivalEstimate {
    func write(into writer: inout JSONWriter) {
        writer.field("state", self.state.rawValue)
        writer.field("arrivesAt", self.arrivesAt)
        writer.field("seconds", self.seconds)
        writer.field("source", self.source)
        writer.field("confidence", self.confidence?.rawValue)
        writer.field("at", self.at)
        writer.field("stopsBefore", self.stopsBefore)
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("eta")
        var (state, at) = (ArrivalState?.none, Int64?.none)
        var (arrivesAt, seconds, stopsBefore) = (Int64?.none, Int64?.none, Int64?.none)
        var (source, confidence) = (String?.none, ArrivalConfidence?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("state") {
                state = ArrivalState(rawValue: try reader.string())
            } else if name.equals("arrivesAt") {
                arrivesAt = try reader.integer()
            } else if name.equals("seconds") {
                seconds = try reader.integer()
            } else if name.equals("source") {
                source = try reader.string()
            } else if name.equals("confidence") {
                confidence = ArrivalConfidence(rawValue: try reader.string())
            } else if name.equals("at") {
                at = try reader.integer()
            } else if name.equals("stopsBefore") {
                stopsBefore = try reader.integer()
            } else {
                try reader.value()
            }
        }
        self.init(
            state: try members.required(state, "state"), arrivesAt: arrivesAt, seconds: seconds, source: source,
            confidence: confidence, at: try members.required(at, "at"), stopsBefore: stopsBefore)
        guard self.state != .ok || arrivesAt != nil && seconds != nil else {
            throw BadMessage("an eta with state ok needs arrivesAt and seconds")
        }
        guard Self.times.contains(self.at), arrivesAt.map(Self.times.contains) != false,
            seconds.map(Self.waits.contains) != false, stopsBefore.map(Self.stops.contains) != false
        else { throw BadMessage("eta contains a number that is out of range") }
    }
}
