// The values that an app shows to a follower: a job's view, with the position and the arrival in it.

public import Foundation

/// Degrees, WGS 84.
public struct Place: Codable, Hashable, Sendable {
    public let latitude: Double
    public let longitude: Double

    public init(latitude: Double, longitude: Double) { (self.latitude, self.longitude) = (latitude, longitude) }
}

/// A location that the gateway validated.
public struct Position: Codable, Hashable, Sendable, Identifiable {
    /// 16 digits; a later position has a greater number.
    public let id: String
    public let place: Place
    /// When the phone's receiver took the reading.
    public let measuredAt: Date
    /// When the gateway received it.
    public let receivedAt: Date
    /// Accuracy radius in m.
    public let accuracy: Double?
    /// Speed in m/s.
    public let speed: Double?
    /// Degrees clockwise from north.
    public let course: Double?
    /// Whether the gateway moved the place to a street.
    public let isSnapped: Bool?

    public init(
        id: String, place: Place, measuredAt: Date, receivedAt: Date, accuracy: Double? = nil, speed: Double? = nil,
        course: Double? = nil, isSnapped: Bool? = nil
    ) {
        (self.id, self.place, self.measuredAt, self.receivedAt) = (id, place, measuredAt, receivedAt)
        (self.accuracy, self.speed, self.course) = (accuracy, speed, course)
        self.isSnapped = isSnapped
    }
}

/// The remaining route of a rider, along streets.
public struct RemainingRoute: Codable, Hashable, Sendable {
    /// From the rider's position at the time of the calculation to the destination: at least two places.
    public let places: [Place]
    /// The length in m.
    public let meters: Double
    /// Seconds to travel along it, without time spent at stops.
    public let seconds: TimeInterval

    public init(places: [Place], meters: Double, seconds: TimeInterval) {
        (self.places, self.meters, self.seconds) = (places, meters, seconds)
    }
}

/// When the rider arrives.
public struct Arrival: Codable, Hashable, Sendable {
    /// Whether an arrival time is known. An unknown value of a newer gateway is read as `unavailable`.
    public enum State: String, Codable, Sendable { case ok, recalculating, unavailable }

    /// `low`: by distance and usual speeds; `medium`: by streets; `high`: by streets with current traffic.
    public enum Confidence: String, Codable, Sendable { case low, medium, high }

    public let state: State
    /// By the gateway's clock; only with `ok`.
    public let arrivesAt: Date?
    public let calculatedAt: Date
    public let confidence: Confidence?
    /// The number of stops that the rider makes first.
    public let stopsBefore: Int?
    /// The name of the routing provider.
    public let source: String?
    /// By the gateway's clock. 80 % of such riders arrive between `earliest` and `latest`. Both are `nil` if the source
    /// provides no range.
    public let earliest: Date?
    public let latest: Date?
    /// `nil` if no routing provider knows it, while the rider makes other stops first, and after the rider has left the
    /// route.
    public let route: RemainingRoute?

    public init(
        state: State, arrivesAt: Date? = nil, calculatedAt: Date, confidence: Confidence? = nil,
        stopsBefore: Int? = nil, source: String? = nil, earliest: Date? = nil, latest: Date? = nil,
        route: RemainingRoute? = nil
    ) {
        (self.state, self.arrivesAt, self.calculatedAt) = (state, arrivesAt, calculatedAt)
        (self.confidence, self.stopsBefore, self.source) = (confidence, stopsBefore, source)
        (self.earliest, self.latest, self.route) = (earliest, latest, route)
    }
}

/// Everything that a follower sees of one job. Each view replaces the previous one.
public struct JobView: Codable, Hashable, Sendable, Identifiable {
    /// Whether the rider's position is shown. An unknown value of a newer gateway is read as `waiting`.
    public enum Tracking: String, Codable, Sendable { case waiting, live, stale, paused, arrived, ended }

    /// How close the rider is to the destination. Only riders, operations staff and services receive it.
    public enum Proximity: String, Codable, Sendable { case approaching, arrived, left }

    /// One step of the job's lifecycle.
    public struct Step: Codable, Hashable, Sendable {
        /// An unknown value of a newer gateway is read as `upcoming`.
        public enum State: String, Codable, Sendable { case complete, active, upcoming, cancelled }

        public let status: JobStatus
        public let state: State

        public init(status: JobStatus, state: State) { (self.status, self.state) = (status, state) }
    }

    public let id: JobID
    public internal(set) var kind: JobKind
    public internal(set) var status: JobStatus
    public internal(set) var statusAt: Date
    public internal(set) var steps: [Step]
    public internal(set) var tracking: Tracking
    /// Why tracking is paused or has ended.
    public internal(set) var reason: EndReason?
    /// Key of the tracking text in `GET /api/v1/texts`, in its section `tracking`.
    public internal(set) var textKey: String?
    /// Key of the text that explains why no new location arrives; shown with `stale` and `waiting`.
    public internal(set) var unavailableKey: String?
    public internal(set) var proximity: Proximity?
    /// The position to draw; `nil` when none may be shown.
    public internal(set) var position: Position?
    /// When this device received the position, by its own clock.
    public internal(set) var positionArrivedAt: Date?
    public internal(set) var destination: Place?
    /// The vendor's name, if the viewer may see it.
    public internal(set) var vendor: String?
    public internal(set) var vendorAddress: String?
    /// `ok`, `low` or `none`: the result of looking up the destination's address.
    public internal(set) var geocoding: String?
    /// The rider who is coming; `nil` if there is none, if the rider has no card, and after the job has ended.
    public internal(set) var riderCard: RiderCard?
    public internal(set) var display: JobDisplay?
    /// Only for services and operations staff.
    public internal(set) var metadata: [String: String]?
    /// The customer's note for the rider. For the rider, services and operations staff.
    public internal(set) var customerNote: String?
    /// The person to whom the rider delivers, or whom the rider visits. For the rider until the job ends, and for services and
    /// operations staff.
    public internal(set) var recipient: Recipient?
    public internal(set) var arrival: Arrival?
    /// Why following ended; `nil` while it continues.
    public internal(set) var ended: EndReason?
    /// The newest status event that the view contains.
    public internal(set) var cursor: StatusCursor
    /// Until when the rider may share its position.
    public internal(set) var travelDeadline: Date?
    /// The gateway's clock minus this device's clock, in seconds.
    public internal(set) var clockOffset: TimeInterval

    /// The arrival time by this device's clock, for a countdown.
    public var arrivesAtOnThisClock: Date? { self.arrival?.arrivesAt?.addingTimeInterval(-self.clockOffset) }

    /// A view for previews and tests.
    public init(
        id: JobID, kind: JobKind = .service, status: JobStatus = .onTheWay, statusAt: Date = Date(),
        steps: [Step] = [], tracking: Tracking = .waiting, position: Position? = nil, destination: Place? = nil,
        arrival: Arrival? = nil, cursor: StatusCursor = StatusCursor(epoch: "", id: "0-0")
    ) {
        (self.id, self.kind, self.status, self.statusAt, self.steps) = (id, kind, status, statusAt, steps)
        (self.tracking, self.position, self.destination, self.arrival) = (tracking, position, destination, arrival)
        (self.cursor, self.clockOffset) = (cursor, 0)
        self.positionArrivedAt = position?.receivedAt
    }
}
