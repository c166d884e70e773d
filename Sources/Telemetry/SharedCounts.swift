// Counters that no event loop owns: those of webhooks, push messages and events from other systems.

internal import Synchronization

/// Counters of one gateway. Thread-safe.
package final class SharedCounts: Sendable {
    private let state = Mutex(Counts())

    package init() {}

    package var values: Counts { self.state.withLock { $0 } }

    package func add(_ metric: Metric) { self.state.withLock { $0.add(metric) } }
}
