// What the demonstration's panel turns, and what it shows: one value behind a lock, read by whoever plays a part.

import EnrouteWire
import Gateway
import Realtime
import TrafficControl
import NIOCore
import Synchronization

/// The state of a running demonstration. May be used from any thread.
final class DemoControls: Sendable {
    /// How fast a trip may be replayed. Faster, and no phone would be believed: 60 m/s is the bound of what is shown.
    static let speeds = 0.25...8.0
    /// Latencies that are looked at.
    static let newest = 200

    private struct State {
        var speed: Double
        /// Why the rider has no position to tell.
        var unavailableReason: UnavailableReason?
        var latencies = LatencyWindow(most: DemoControls.newest)
        var shown = 0
        var plot = "The job is being made."
    }

    private let state: Mutex<State>

    init(speed: Double) { self.state = Mutex(State(speed: speed)) }

    var speed: Double {
        get { self.state.withLock { $0.speed } }
        set { self.state.withLock { $0.speed = min(max(newValue, Self.speeds.lowerBound), Self.speeds.upperBound) } }
    }

    var unavailableReason: UnavailableReason? {
        get { self.state.withLock { $0.unavailableReason } }
        set { self.state.withLock { $0.unavailableReason = newValue } }
    }

    /// What happens at the moment, in a sentence.
    var plot: String {
        get { self.state.withLock { $0.plot } }
        set { self.state.withLock { $0.plot = newValue } }
    }

    /// Positions that came to the follower, and how long the newest of them took.
    var measured: (shown: Int, latencies: LatencyWindow) { self.state.withLock { ($0.shown, $0.latencies) } }

    /// - Parameter latency: ms from the rider's report to its follower.
    func note(latency: Int64) {
        self.state.withLock { state in
            state.shown += 1
            state.latencies.add(.milliseconds(latency))
        }
    }
}
