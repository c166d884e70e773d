// What `/readyz` tells a balancer: only what another gateway could do better. Redis is shared by all gateways, so a gateway that
// lost it says so in `/healthz` and in the metrics and stays in rotation: a balancer that took every gateway out at once would
// cut every session, and nobody would gain anything by it.

/// Whether new clients should be sent to this gateway.
enum Readiness: Hashable {
    case ready
    /// It is stopping.
    case draining
    /// Redis was never reached since the start: it has nothing to serve yet.
    case starting
    /// An event loop has not run for `stuckMilliseconds`: its clients get nothing, and new ones would get nothing either.
    case stuck
    /// It takes no new connections at the moment.
    case overloaded

    /// How long an event loop may be silent, ms.
    static let stuckMilliseconds = 2_000

    /// What a gateway knows of itself.
    struct Facts: Hashable {
        var isDraining = false
        /// Every event loop reached both roles of Redis once.
        var hasReachedRedis = true
        /// How long the most silent event loop has been silent, ms.
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

    /// The answer's text.
    var text: String {
        switch self {
        case .ready: "ready"
        case .draining: "not ready: the gateway is stopping"
        case .starting: "not ready: Redis has not been reached yet"
        case .stuck: "not ready: an event loop is blocked"
        case .overloaded: "not ready: overloaded, no new connections are accepted"
        }
    }
}
