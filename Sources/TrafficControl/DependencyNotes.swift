// What came of asking a service last, for `/healthz` and the metrics.

internal import HTTPValues
internal import Synchronization
package import Telemetry

/// Services that are asked now and then: what came of asking last. Safe from any thread.
package final class DependencyNotes: Sendable {

    package init() {}
    private let states = Mutex([Dependency: DependencyState]())

    /// - Parameter now: ms since the epoch.
    package func note(_ dependency: Dependency, isUp: Bool, now: Int64 = .now) {
        self.states.withLock {
            $0[dependency, default: DependencyState(dependency, isUp: isUp, since: now)].heard(isUp: isUp, since: now)
        }
    }

    package var all: [DependencyState] { self.states.withLock { Array($0.values) } }
}
