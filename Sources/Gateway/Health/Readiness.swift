// The result of `/readyz`. It fails only for reasons that another gateway may not have. All gateways share Redis, so a gateway
// without Redis stays ready and reports the outage in `/healthz` and the metrics. If readiness failed instead, the load
// balancer would remove all gateways at the same time and disconnect every client.

/// Whether new clients should be sent to this gateway.
enum Readiness: Hashable {
    case ready
    /// The gateway is shutting down.
    case draining
    /// Redis has not been reached since the start, or the clocks do not agree, so there is nothing to serve yet.
    case starting
    /// An event loop has not run for `stuckMilliseconds`, so its clients receive nothing.
    case stuck
    /// The gateway accepts no new connections because of overload.
    case overloaded

    /// How long an event loop may be blocked before the gateway is unready, in milliseconds.
    static let stuckMilliseconds = 2_000

    /// The inputs of the decision.
    struct Facts: Hashable {
        var isDraining = false
        /// Every event loop has connected to both Redis instances at least once.
        var hasReachedRedis = true
        /// How long the slowest event loop is overdue, in milliseconds.
        var silentMilliseconds = 0
        var isOverloaded = false
    }

    init(_ facts: Facts) {
        self =
            if facts.isDraining {
                .draining
            } else if !facts.hasReachedRedis {
                .starting
            } else if facts.silentMilliseconds >= Self.stuckMilliseconds {
                .stuck
            } else if facts.isOverloaded {
                .overloaded
            } else {
                .ready
            }
    }

    /// The response text.
    var text: String {
        switch self {
        case .ready: "ready"
        case .draining: "not ready: the gateway is stopping"
        case .starting: "not ready: waiting for Redis, or for the clock"
        case .stuck: "not ready: an event loop is blocked"
        case .overloaded: "not ready: overloaded, no new connections are accepted"
        }
    }
}
