// Tracks which jobs and riders have events to deliver, and decides which of them may send the next request. The events
// of one job or rider form a lane and are sent one after the other; lanes do not wait for each other.

package import LiveState

/// The lanes of one webhook. A value.
package struct DeliveryLanes: Sendable {
    /// Where the events of a lane are.
    package enum Place: Sendable, Hashable {
        /// In memory: they were just read from the stream, and the cursor is not stored yet.
        case memory
        /// Being moved to the waiting list.
        case moving
        /// In the waiting list in Redis.
        case waiting
    }

    private struct Lane: Sendable {
        var place: Place
        var events: [WaitingEvent]
        var isRunning = false
        /// How many times events were appended to the waiting list since the lane was added.
        var parks = 0
    }

    private var lanes: [String: Lane] = [:]
    private var fresh: [String] = []
    private var due: [String] = []
    /// Number of appends to waiting lists that are still in progress, by job or rider.
    private var openParks: [String: Int] = [:]
    private var running = 0
    private var runningWaiting = 0

    /// Maximum number of lanes that send at the same time.
    package static let most = WebhookSettings.connections
    /// How many of these lanes may send waiting events, so that slow ones leave room for new events.
    package static let mostWaiting = Self.most / 2

    package init() {}

    package func has(_ subject: String) -> Bool { self.lanes[subject] != nil }
    package func place(of subject: String) -> Place? { self.lanes[subject]?.place }
    package func isRunning(_ subject: String) -> Bool { self.lanes[subject]?.isRunning == true }
    package var count: Int { self.lanes.count }
    /// Number of lanes with waiting events that are running or queued.
    package var waiting: Int { self.runningWaiting + self.due.count }
    package var hasQueuedWaiting: Bool { !self.due.isEmpty }

    /// Lanes whose events are not all delivered or in Redis.
    package var unsettled: [String] { self.lanes.filter { $0.value.place != .waiting }.map(\.key) }
    package var hasUnsettled: Bool { self.lanes.contains { $0.value.place != .waiting } }

    /// Adds a lane for new events.
    package mutating func add(_ subject: String, _ events: [WaitingEvent]) {
        precondition(!self.has(subject), "a lane has one task")
        self.lanes[subject] = Lane(place: .memory, events: events)
        self.fresh.append(subject)
    }

    /// Adds a lane for events that wait in Redis.
    package mutating func addWaiting(_ subject: String) {
        precondition(!self.has(subject), "a lane has one task")
        self.lanes[subject] = Lane(place: .waiting, events: [])
        self.due.append(subject)
    }

    /// Marks the lane that sends next as running, and returns it; `nil` when no lane may start.
    package mutating func next() -> String? {
        guard self.running < Self.most else { return nil }
        let subject: String
        if self.runningWaiting < Self.mostWaiting, !self.due.isEmpty {
            subject = self.due.removeFirst()
            self.runningWaiting += 1
        } else if !self.fresh.isEmpty {
            subject = self.fresh.removeFirst()
        } else {
            return nil
        }
        self.running += 1
        self.lanes[subject]?.isRunning = true
        return subject
    }

    package mutating func remove(_ subject: String) {
        guard let lane = self.lanes.removeValue(forKey: subject) else { return }
        if lane.isRunning {
            self.running -= 1
            if lane.place == .waiting { self.runningWaiting -= 1 }
        } else {
            self.fresh.removeAll { $0 == subject }
            self.due.removeAll { $0 == subject }
        }
    }

    /// Removes the lanes with waiting events that do not run yet, because the endpoint fails.
    package mutating func clearQueue() {
        for subject in self.due { self.lanes[subject] = nil }
        self.due = []
    }

    /// The next new event of a lane; `nil` if there is none, or if its events are being moved to the waiting list.
    package func first(_ subject: String) -> WaitingEvent? {
        self.lanes[subject].flatMap { $0.place == .memory ? $0.events.first : nil }
    }

    /// The first new event was delivered.
    package mutating func removeFirst(_ subject: String) { self.lanes[subject]?.events.removeFirst() }

    /// Starts to move the events of a lane to the waiting list.
    package mutating func move(_ subject: String) -> [WaitingEvent] {
        guard let events = self.lanes[subject]?.events else { return [] }
        self.lanes[subject]?.place = .moving
        self.lanes[subject]?.events = []
        self.fresh.removeAll { $0 == subject }
        return events
    }

    /// The events of a lane are in the waiting list.
    package mutating func moved(_ subject: String) {
        guard self.lanes[subject]?.place == .moving else { return }
        self.lanes[subject]?.place = .waiting
        if self.isRunning(subject) { self.runningWaiting += 1 } else { self.lanes[subject] = nil }
    }

    // MARK: appends to a waiting list while its lane reads it

    package mutating func beginPark(_ subject: String) { self.openParks[subject, default: 0] += 1 }

    package mutating func endPark(_ subject: String) {
        let left = (self.openParks[subject] ?? 1) - 1
        self.openParks[subject] = left > 0 ? left : nil
        self.lanes[subject]?.parks += 1
    }

    package func parks(_ subject: String) -> Int { self.lanes[subject]?.parks ?? 0 }

    /// Whether nothing was appended since `parks` had this value, and nothing is being appended.
    package func isQuiet(_ subject: String, since parks: Int) -> Bool {
        self.openParks[subject] == nil && self.parks(subject) == parks
    }
}
