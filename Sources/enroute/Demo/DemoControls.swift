// What the demo's panel controls and shows: one value behind a lock.

import EnrouteWire
import Gateway
import Realtime
import TrafficControl
import NIOCore
import Synchronization

/// The state of a running demo. Thread-safe.
final class DemoControls: Sendable {
    /// Allowed replay speeds. At higher ones the gateway would hold fixes back as implausible (above 60 m/s).
    static let speeds = 0.25...8.0
    /// Number of latencies that are measured over.
    static let newest = 200

    private struct State {
        var speed: Double
        /// Why the rider's location is unavailable.
        var unavailableReason: UnavailableReason?
        var latencies = LatencyWindow(capacity: DemoControls.newest)
        var shown = 0
        var plot = "Creating the job."
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

    /// The current step, as a sentence.
    var plot: String {
        get { self.state.withLock { $0.plot } }
        set { self.state.withLock { $0.plot = newValue } }
    }

    /// The number of locations that the follower received, and the latencies of the newest ones.
    var measured: (shown: Int, latencies: LatencyWindow) { self.state.withLock { ($0.shown, $0.latencies) } }

    /// - Parameter latency: ms from the rider's report to the follower.
    func note(latency: Int64) {
        self.state.withLock { state in
            state.shown += 1
            state.latencies.add(.milliseconds(latency))
        }
    }
}
