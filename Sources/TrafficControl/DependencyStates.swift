// The outcome of the last request to each external service, for `/healthz` and the metrics.

internal import HTTPValues
internal import Synchronization
package import Telemetry

/// The last known state of services that the gateway calls only now and then. Thread-safe.
package final class DependencyStates: Sendable {
    private let states = Mutex([Dependency: DependencyState]())

    package init() {}

    /// - Parameter now: milliseconds since the Unix epoch.
    package func record(_ dependency: Dependency, isUp: Bool, now: Int64 = WallClock.nowMilliseconds) {
        self.states.withLock {
            $0[dependency, default: DependencyState(dependency, isUp: isUp, since: now)].observe(isUp: isUp, since: now)
        }
    }

    package var all: [DependencyState] { self.states.withLock { Array($0.values) } }
}
