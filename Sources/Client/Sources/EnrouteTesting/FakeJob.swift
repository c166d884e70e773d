// A job of the fake gateway: its record of statuses, its position, and the snapshot that a follower receives.

internal import Enroute
internal import Foundation

struct FakeJob {
    private static let steps: [JobKind: [JobStatus]] = [
        .service: [.assigned, .onTheWay, .workInProgress, .completed],
        .delivery: [.pendingVendorAcceptance, .accepted, .preparing, .readyForPickup, .inTransit, .delivered],
    ]

    private struct Event {
        let id: String
        let prev: String
        let status: JobStatus
        let at: Int
    }

    private let kind: JobKind
    private let destination: Place?
    private var epoch = 1
    private var log: [Event] = []
    private var position: [String: Any]?
    private var tracking = "waiting"

    init(kind: JobKind, status: JobStatus, at: Int, destination: Place?) {
        (self.kind, self.destination) = (kind, destination)
        self.log = [Event(id: "\(at)-0", prev: "", status: status, at: at)]
    }

    mutating func append(_ status: JobStatus, at: Int) -> [String: Any] {
        let event = Event(id: "\(at)-0", prev: self.log.last?.id ?? "", status: status, at: at)
        self.log.append(event)
        return self.members(event)
    }

    mutating func move(to place: Place, accuracy: Double, at: Int) -> [String: Any] {
        let position: [String: Any] = [
            "id": "\(at)000", "at": at, "received": at, "lat": place.latitude, "lon": place.longitude, "acc": accuracy,
        ]
        self.position = position
        self.tracking = "live"
        return position
    }

    mutating func setTracking(_ state: String) {
        self.tracking = state
        if state != "live", state != "stale" { self.position = nil }
    }

    mutating func startAgain() {
        self.epoch += 1
        self.log = self.log.suffix(1).map { Event(id: $0.id, prev: "", status: $0.status, at: $0.at) }
    }

    /// Returns `reset` if the record no longer contains the missed events.
    func answerType(since: [String: Any]?) -> String {
        guard let since, since["epoch"] as? String != "e\(self.epoch)" else { return "subscribed" }
        return "reset"
    }

    func snapshot(since: [String: Any]?) -> [String: Any] {
        guard let newest = self.log.last else { return [:] }
        let all = Self.steps[self.kind] ?? []
        let active = all.firstIndex(of: newest.status) ?? 0
        let seen = since?["epoch"] as? String == "e\(self.epoch)" ? since?["id"] as? String : nil
        let missed = seen.flatMap { id in self.log.firstIndex { $0.id == id } }.map { self.log[($0 + 1)...] } ?? []
        var snapshot: [String: Any] = [
            "kind": self.kind.rawValue, "status": newest.status.rawValue, "statusAt": newest.at,
            "epoch": "e\(self.epoch)", "id": newest.id, "tracking": self.tracking, "text": self.tracking,
            "missed": missed.map { self.members($0) },
            "steps": all.enumerated().map { index, status in
                [
                    "status": status.rawValue,
                    "state": index < active ? "complete" : index == active ? "active" : "upcoming",
                ]
            },
        ]
        if let destination {
            snapshot["destination"] = ["lat": destination.latitude, "lon": destination.longitude]
        }
        snapshot["position"] = self.position
        return snapshot
    }

    private func members(_ event: Event) -> [String: Any] {
        [
            "epoch": "e\(self.epoch)", "id": event.id, "prev": event.prev, "status": event.status.rawValue,
            "at": event.at,
        ]
    }
}
