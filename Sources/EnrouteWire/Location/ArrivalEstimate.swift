// The arrival time as followers receive it. It is a point in time instead of a remaining duration, so clients can count
// down between two messages. Its state is independent of the tracking state.

/// Whether the arrival time is known.
public enum ArrivalState: String, Hashable, Sendable, CaseIterable {
    case ok
    /// It was known, but is too old at the moment.
    case recalculating
    case unavailable
}

/// How reliable an estimate is.
public enum ArrivalConfidence: String, Hashable, Sendable, CaseIterable, Comparable {
    /// By distance and usual speeds.
    case low
    /// By streets, without their traffic.
    case medium
    /// By streets with current traffic.
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

/// The contents of the message `eta` and of the member `eta` of a snapshot.
public struct ArrivalEstimate: Hashable, Sendable {
    public var state: ArrivalState
    /// ms since the epoch, by the server's clock; `nil` unless the state is `ok`.
    public var arrivesAt: Int64?
    /// Seconds from `at` to the arrival, 0 for any moment; `nil` unless the state is `ok`.
    public var seconds: Int64?
    /// The source of the estimate: `osrm`, `azure_maps`, `mapbox`, `streets`, `built_in`. More may be added.
    public var source: String?
    public var confidence: ArrivalConfidence?
    /// When it was calculated, ms since the epoch.
    public var at: Int64
    /// The number of stops the rider makes first; `nil` for none. Without `arrivesAt`, the location of at least one of
    /// them is unknown.
    public var stopsBefore: Int64?
    /// The range within which 80 % of such riders arrive, ms since the epoch: not before `earliestAt`, not after `latestAt`.
    /// Without a calibrated range, both are `nil`.
    public var earliestAt: Int64?
    public var latestAt: Int64?
    /// The route ahead of the rider, if a routing provider knows it. Only with `ok`.
    public var route: RemainingRoute?

    /// The valid ranges: ms since the epoch with at most 13 digits, seconds, and stops.
    static let times: ClosedRange<Int64> = 0...9_999_999_999_999
    static let waits: ClosedRange<Int64> = 0...100_000_000
    static let stops: ClosedRange<Int64> = 0...1_000

    public init(
        state: ArrivalState, arrivesAt: Int64? = nil, seconds: Int64? = nil, source: String? = nil,
        confidence: ArrivalConfidence? = nil, at: Int64, stopsBefore: Int64? = nil, earliestAt: Int64? = nil,
        latestAt: Int64? = nil, route: RemainingRoute? = nil
    ) {
        self.state = state
        self.arrivesAt = arrivesAt
        self.seconds = seconds
        self.source = source
        self.confidence = confidence
        self.at = at
        self.stopsBefore = stopsBefore
        self.earliestAt = earliestAt
        self.latestAt = latestAt
        self.route = route
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
        writer.field("earliestAt", self.earliestAt)
        writer.field("latestAt", self.latestAt)
        if let route { writer.object("route") { route.write(into: &$0) } }
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("eta")
        var (state, at) = (ArrivalState?.none, Int64?.none)
        var (arrivesAt, seconds, stopsBefore) = (Int64?.none, Int64?.none, Int64?.none)
        var (earliestAt, latestAt) = (Int64?.none, Int64?.none)
        var (source, confidence) = (String?.none, ArrivalConfidence?.none)
        var route: RemainingRoute?
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
            } else if name.equals("earliestAt") {
                earliestAt = try reader.integer()
            } else if name.equals("latestAt") {
                latestAt = try reader.integer()
            } else if name.equals("route") {
                route = try RemainingRoute(from: &reader)
            } else {
                try reader.value()
            }
        }
        self.init(
            state: try members.required(state, "state"), arrivesAt: arrivesAt, seconds: seconds, source: source,
            confidence: confidence, at: try members.required(at, "at"), stopsBefore: stopsBefore,
            earliestAt: earliestAt, latestAt: latestAt, route: route)
        guard self.state != .ok || arrivesAt != nil && seconds != nil else {
            throw BadMessage("an eta with state ok needs arrivesAt and seconds")
        }
        guard Self.times.contains(self.at), arrivesAt.map(Self.times.contains) != false,
            seconds.map(Self.waits.contains) != false, stopsBefore.map(Self.stops.contains) != false,
            earliestAt.map(Self.times.contains) != false, latestAt.map(Self.times.contains) != false
        else { throw BadMessage("eta contains a number that is out of range") }
        guard (earliestAt == nil) == (latestAt == nil), earliestAt ?? 0 <= latestAt ?? 0 else {
            throw BadMessage("an eta needs earliestAt and latestAt in this order, or neither")
        }
    }
}
