// The lines that the kit and the program exchange.

@_spi(Conformance) import Enroute
import Foundation
import Synchronization

/// A line from the kit. Each command has some of the members.
struct Command: Decodable {
    struct Reading: Decodable {
        let lat: Double
        let lon: Double
        let acc: Double?
    }

    let `do`: String
    let url: String?
    let speed: Double?
    let now: Double?
    let request: Int?
    let token: String?
    let link: String?
    let fails: String?
    let job: String?
    let jobs: [String]?
    let after: StatusCursor?
    let active: Bool?
    let reason: String?
    let status: String?
    let device: String?
    let fix: Reading?
    let battery: Double?
}

private let output = Mutex(FileHandle.standardOutput)

/// Prints a line.
func say(_ saw: String, _ members: [String: Any?]) {
    var all = members.mapValues { $0 ?? NSNull() }
    all["saw"] = saw
    guard let line = try? JSONSerialization.data(withJSONObject: all) else { return }
    output.withLock { $0.write(line + Data("\n".utf8)) }
}

func say(_ state: String, _ close: CloseReason? = nil) {
    say("connection", ["state": state, "code": close.map { Int($0.code) }])
}

func say(_ view: JobView) {
    let position: [String: Double]? = view.position.map { ["lat": $0.place.latitude, "lon": $0.place.longitude] }
    var eta: [String: Any]?
    if let arrival = view.arrival {
        eta = ["state": arrival.state.rawValue]
        if let arrivesAt = arrival.arrivesAt { eta?["arrivesAt"] = arrivesAt.timeIntervalSince1970 * 1000 }
    }
    say(
        "view",
        [
            "job": view.id.rawValue, "status": view.status.rawValue, "tracking": view.tracking.rawValue,
            "steps": view.steps.map { [$0.status.rawValue, $0.state.rawValue] }, "position": position, "eta": eta,
            "unavailable": view.unavailableKey, "ended": view.ended?.rawValue,
        ])
}

func say(_ event: StatusEvent, of job: JobID) {
    say(
        "status",
        [
            "job": job.rawValue, "epoch": event.cursor.epoch, "id": event.cursor.id, "status": event.status.rawValue,
            "followsGap": event.followsGap,
        ])
}
