// The state of a running demo that the stage controls and shows: one value behind a lock.

import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import Synchronization

/// The state of a running demo. Thread-safe.
final class DemoControls: Sendable {
    /// Allowed speeds of your rider. At higher ones the gateway would hold fixes back as implausible (above 60 m/s).
    static let speeds = 0.25...8.0
    /// How long the stage counts as open after its last request for the state, which it sends once a second.
    private static let patience = Duration.seconds(4)

    /// What the receiver of the rider's phone does.
    enum Receiver: String, Sendable { case works, denied, jumps }

    private struct State {
        var speed: Double
        var receiver = Receiver.works
        var plot = "The town wakes up."
        var order: Order?
        var phone: DemoPhone
        /// The button that the rider's page is to press: a step of the task, or `travel` for travel mode.
        var press: String?
        var stageSeenAt: ContinuousClock.Instant?
        var phoneSeenAt: ContinuousClock.Instant?
        /// The number of requests for another order.
        var wishes = 0
    }

    /// Your order.
    struct Order: Sendable {
        /// 1 for the first order of this run.
        let number: Int
        let job: JobID
        var isUnderway = false
        var isOver = false
    }

    private let state: Mutex<State>

    init(speed: Double, phone: DemoPhone) { self.state = Mutex(State(speed: speed, phone: phone)) }

    var speed: Double {
        get { self.state.withLock { $0.speed } }
        set { self.state.withLock { $0.speed = min(max(newValue, Self.speeds.lowerBound), Self.speeds.upperBound) } }
    }

    var receiver: Receiver {
        get { self.state.withLock { $0.receiver } }
        set { self.state.withLock { $0.receiver = newValue } }
    }

    /// The current step, as a sentence.
    var plot: String {
        get { self.state.withLock { $0.plot } }
        set { self.state.withLock { $0.plot = newValue } }
    }

    var order: Order? {
        get { self.state.withLock { $0.order } }
        set { self.state.withLock { $0.order = newValue } }
    }

    var press: String? {
        get { self.state.withLock { $0.press } }
        set { self.state.withLock { $0.press = newValue } }
    }

    /// Moves the rider's phone along its route.
    ///
    /// - Returns: whether it has arrived.
    func ride(_ elapsed: Duration) -> Bool {
        self.state.withLock { state in
            state.phone.elapsed += elapsed * state.speed
            return state.phone.hasArrived
        }
    }

    var phone: DemoPhone { self.state.withLock { $0.phone } }

    /// Moves the phone back to the start of its route.
    func returnPhone() { self.state.withLock { $0.phone.elapsed = .zero } }

    // MARK: who watches

    /// Records that the stage requested the state.
    ///
    /// - Parameter hasPhone: whether the rider's page on it is ready.
    func seen(hasPhone: Bool) {
        self.state.withLock { state in
            state.stageSeenAt = .now
            if hasPhone { state.phoneSeenAt = .now }
        }
    }

    var isWatched: Bool { self.state.withLock { Self.isRecent($0.stageSeenAt) } }

    /// Whether the rider's page is open on the stage, and therefore reports the location.
    var hasPhone: Bool { self.state.withLock { Self.isRecent($0.phoneSeenAt) } }

    private static func isRecent(_ moment: ContinuousClock.Instant?) -> Bool {
        moment.map { ContinuousClock.now - $0 < self.patience } ?? false
    }

    func wishForAnother() { self.state.withLock { $0.wishes += 1 } }

    /// Accepts the requests for another order. Several at once result in one order.
    func takeWish() -> Bool {
        self.state.withLock { state in
            defer { state.wishes = 0 }
            return state.wishes > 0
        }
    }
}

/// The receiver of the rider's phone, at its position on the route.
struct DemoPhone: Sendable {
    let journey: Journey
    var elapsed = Duration.zero

    static let accuracyMeters = 5.0
    /// Degrees of latitude, about 3 km.
    static let jump = 0.027

    var hasArrived: Bool { self.elapsed >= self.journey.duration }

    /// The remaining route, from the last fix that the phone has passed.
    var rest: Journey {
        let at = self.journey.fixes[0].at + Int64(self.elapsed / .milliseconds(1))
        return self.journey.dropping(first: self.journey.fixes.count { $0.at <= at } - 1)
    }

    /// The reading at this moment, interpolated between two fixes of the journey.
    func reading(at now: Int64) -> Journeys.Fix {
        let fixes = self.journey.fixes
        let at = fixes[0].at + Int64(self.elapsed / .milliseconds(1))
        // The first later fix. Fixes are in order.
        var (low, high) = (0, fixes.count)
        while low < high {
            let middle = (low + high) / 2
            if fixes[middle].at <= at { low = middle + 1 } else { high = middle }
        }
        var fix = fixes[max(0, low - 1)]
        if low > 0, low < fixes.count {
            let next = fixes[low]
            let share = Double(at - fix.at) / Double(max(1, next.at - fix.at))
            fix.latitude += (next.latitude - fix.latitude) * share
            fix.longitude += (next.longitude - fix.longitude) * share
        }
        if low == 0 || self.elapsed == .zero || self.hasArrived { fix.speedMetersPerSecond = 0 }
        fix.at = now
        return fix
    }
}
