// How a gateway is, as it says itself: to the other gateways by way of Redis, and to operations by way of any of them.

internal import EnrouteWire

/// What is told of one gateway. What a later version adds is passed over.
package struct GatewayHealth: Codable, Sendable, Hashable {
    package enum State: String, Codable, Sendable {
        case serving, degraded, overloaded, draining
    }

    /// How long an instance of Redis took to answer lately, as this gateway saw it; without times it does not answer.
    package struct Latency: Codable, Sendable, Hashable {
        package var lastMs: Double?
        /// Of the last minutes.
        package var medianMs: Double?
        package var p95Ms: Double?

        package init(lastMs: Double? = nil, medianMs: Double? = nil, p95Ms: Double? = nil) {
            (self.lastMs, self.medianMs, self.p95Ms) = (lastMs, medianMs, p95Ms)
        }
    }

    package var name: String
    package var version: String
    package var state: State
    /// ms since the epoch
    package var startedAt: Int64
    /// WebSockets.
    package var sessions: Int
    package var connections: Int
    /// Jobs that somebody follows here, once for each event loop, and by how many: of at most
    /// `GatewayRegistry.mostFollowed` jobs.
    package var followedJobs: Int
    package var followers: Int
    /// How late the latest of its event loops is.
    package var loopLagMs: Int
    package var memoryBytes: Int
    package var live: Latency
    package var ledger: Latency

    package init(
        name: String, version: String, state: State, startedAt: Int64, sessions: Int, connections: Int,
        followedJobs: Int,
        followers: Int, loopLagMs: Int, memoryBytes: Int, live: Latency, ledger: Latency
    ) {
        self.name = name
        self.version = version
        self.state = state
        self.startedAt = startedAt
        self.sessions = sessions
        self.connections = connections
        self.followedJobs = followedJobs
        self.followers = followers
        self.loopLagMs = loopLagMs
        self.memoryBytes = memoryBytes
        self.live = live
        self.ledger = ledger
    }
}
