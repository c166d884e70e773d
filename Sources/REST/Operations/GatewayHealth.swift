// The health that each gateway publishes to Redis. Any gateway can show the health of all gateways to operations staff.

internal import EnrouteWire

/// The health of one gateway. Members that later versions add are ignored when decoding.
package struct GatewayHealth: Codable, Sendable, Hashable {
    package enum State: String, Codable, Sendable {
        case serving, degraded, overloaded, draining
    }

    /// The round-trip time to a Redis instance, measured by this gateway. `lastMs` is absent if the instance does not answer.
    package struct Latency: Codable, Sendable, Hashable {
        package var lastMs: Double?
        /// The median of the last minutes.
        package var medianMs: Double?
        package var p95Ms: Double?

        package init(lastMs: Double? = nil, medianMs: Double? = nil, p95Ms: Double? = nil) {
            (self.lastMs, self.medianMs, self.p95Ms) = (lastMs, medianMs, p95Ms)
        }
    }

    package var name: String
    package var version: String
    package var state: State
    /// Milliseconds since the Unix epoch.
    package var startedAt: Int64
    /// The number of WebSocket sessions.
    package var sessions: Int
    package var connections: Int
    /// The number of jobs followed on this gateway, counted once for each event loop, and the number of followers of at most
    /// `GatewayRegistry.maxFollowedJobs` of these jobs.
    package var followedJobs: Int
    package var followers: Int
    /// The lag of the slowest event loop.
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
