// The metrics of webhooks: deliveries by outcome, endpoints that were switched off, and gaps in the stream.

internal import Synchronization
package import Telemetry

/// Counters of one gateway. Thread-safe.
package final class WebhookCounts: Sendable {
    private let state = Mutex(Counts())

    package init() {}

    package var values: Counts { self.state.withLock { $0 } }

    func add(_ metric: Metric) { self.state.withLock { $0.add(metric) } }
}
