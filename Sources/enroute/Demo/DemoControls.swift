// What the demonstration's panel turns, and what it shows: one value behind a lock, read by whoever plays a part.

import EnrouteWire
import Synchronization

/// The state of a running demonstration. May be used from any thread.
final class DemoControls: Sendable {
    /// How fast a trip may be replayed. Faster, and no phone would be believed: 60 m/s is the bound of what is shown.
    static let speeds = 0.25...8.0

    private struct State {
        var speed: Double
        /// Why the rider has no position to tell.
        var darkness: DarkReason?
        var latencies = LatencyWindow()
        var plot = "The job is being made."
    }

    private let state: Mutex<State>

    init(speed: Double) { self.state = Mutex(State(speed: speed)) }

    var speed: Double {
        get { self.state.withLock { $0.speed } }
        set { self.state.withLock { $0.speed = min(max(newValue, Self.speeds.lowerBound), Self.speeds.upperBound) } }
    }

    var darkness: DarkReason? {
        get { self.state.withLock { $0.darkness } }
        set { self.state.withLock { $0.darkness = newValue } }
    }

    /// What happens at the moment, in a sentence.
    var plot: String {
        get { self.state.withLock { $0.plot } }
        set { self.state.withLock { $0.plot = newValue } }
    }

    var latencies: LatencyWindow { self.state.withLock { $0.latencies } }

    /// - Parameter latency: ms from the rider's report to its follower.
    func note(latency: Int64) { self.state.withLock { $0.latencies.note(latency) } }
}

/// The newest latencies, and what half and nineteen of twenty of them stay within.
struct LatencyWindow: Sendable {
    static let size = 200
    private var newest: [Int64] = []
    private var next = 0
    /// All there ever were.
    private(set) var total = 0

    var count: Int { self.newest.count }

    mutating func note(_ latency: Int64) {
        self.total += 1
        if self.newest.count < Self.size {
            self.newest.append(latency)
        } else {
            self.newest[self.next] = latency
            self.next = (self.next + 1) % Self.size
        }
    }

    /// - Parameter share: 0 to 1.
    /// - Returns: ms; `nil` while there is none.
    func percentile(_ share: Double) -> Int64? {
        guard !self.newest.isEmpty else { return nil }
        let sorted = self.newest.sorted()
        return sorted[min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.down)))]
    }
}
