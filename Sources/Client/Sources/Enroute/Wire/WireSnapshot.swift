// A job as the gateway sends it, and the parts of a job that it sends alone: a status, a location, the tracking state and the
// arrival time.

import Foundation

struct WireSnapshot: Decodable, Sendable {
    struct Step: Decodable, Sendable {
        let status: JobStatus
        let state: String
    }

    struct Coordinates: Decodable, Sendable {
        let lat: Double
        let lon: Double
    }

    let kind: JobKind
    let status: JobStatus
    let statusAt: Double
    let steps: [Step]?
    let epoch: String
    let id: String
    let destination: Coordinates?
    let geocoding: String?
    let vendor: String?
    let vendorAddress: String?
    let riderCard: RiderCard?
    let display: WireDisplay?
    let metadata: [String: String]?
    let customerNote: String?
    let recipient: Recipient?
    let tracking: String
    let reason: EndReason?
    let text: String?
    let unavailable: String?
    let travelDeadline: Double?
    let position: WireLocation?
    let positionAgeMs: Double?
    let eta: WireArrival?
    let missed: [WireStatus]?

    var cursor: StatusCursor { StatusCursor(epoch: self.epoch, id: self.id) }
}

struct WireDisplay: Decodable, Sendable {
    struct Window: Decodable, Sendable {
        let from: Double
        let until: Double
    }

    let orderNumber: String?
    let items: [String]?
    let note: String?
    let window: Window?
    let vehicle: String?

    var display: JobDisplay {
        // A range from the wire may be empty or reversed.
        let window = self.window.flatMap { $0.from <= $0.until ? Date(ms: $0.from)...Date(ms: $0.until) : nil }
        return JobDisplay(
            orderNumber: self.orderNumber, items: self.items ?? [], note: self.note, window: window,
            vehicle: self.vehicle)
    }
}

struct WireStatus: Decodable, Sendable {
    let epoch: String
    let prev: String
    let id: String
    let status: JobStatus
    let at: Double
}

struct WireLocation: Decodable, Sendable {
    let id: String
    let at: Double
    let received: Double
    let lat: Double
    let lon: Double
    let acc: Double?
    let spd: Double?
    let hdg: Double?
    let snapped: Bool?

    var position: Position {
        Position(
            id: self.id, place: Place(latitude: self.lat, longitude: self.lon), measuredAt: Date(ms: self.at),
            receivedAt: Date(ms: self.received), accuracy: self.acc, speed: self.spd, course: self.hdg,
            isSnapped: self.snapped)
    }
}

struct WireTracking: Decodable, Sendable {
    let state: String
    let reason: EndReason?
    let text: String?
}

struct WireArrival: Decodable, Sendable {
    let state: String
    let arrivesAt: Double?
    let at: Double
    let confidence: String?
    let stopsBefore: Int?
    let source: String?
    var earliestAt: Double?
    var latestAt: Double?
    var route: WireRoute?

    var arrival: Arrival {
        Arrival(
            state: Arrival.State(rawValue: self.state) ?? .unavailable, arrivesAt: self.arrivesAt.map { Date(ms: $0) },
            calculatedAt: Date(ms: self.at), confidence: self.confidence.flatMap(Arrival.Confidence.init),
            stopsBefore: self.stopsBefore, source: self.source, earliest: self.earliestAt.map { Date(ms: $0) },
            latest: self.latestAt.map { Date(ms: $0) }, route: self.route?.route)
    }
}
