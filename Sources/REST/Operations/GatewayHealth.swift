// How a gateway is, as it says itself: to the other gateways by way of Redis, and to operations by way of any of them.

internal import EnrouteWire

/// What is told of one gateway. What a later version adds is passed over.
struct GatewayHealth: Codable, Sendable, Hashable {
    enum State: String, Codable, Sendable {
        case serving, degraded, overloaded, draining
    }

    /// How long an instance of Redis took to answer lately, as this gateway saw it; without times it does not answer.
    struct Latency: Codable, Sendable, Hashable {
        /// ms
        var last: Double?
        /// ms, of the last minutes.
        var median: Double?
        var p95: Double?
    }

    var name: String
    var version: String
    var state: State
    /// ms since the epoch
    var startedAt: Int64
    /// WebSockets.
    var sessions: Int
    var connections: Int
    /// Jobs that somebody follows here, once for each event loop, and by how many: of at most
    /// `GatewayRegistry.mostFollowed` jobs.
    var followedJobs: Int
    var followers: Int
    /// How late the latest of its event loops is, ms.
    var loopLag: Int
    var memoryBytes: Int
    var live: Latency
    var ledger: Latency

    static let ownVersion = "0.1.0"
}
