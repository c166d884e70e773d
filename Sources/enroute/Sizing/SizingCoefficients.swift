// The model behind `enroute size`: the cost of each part of the load. The costs are added up, so the model is linear.

/// The costs of the model: µs of CPU time and KB of memory.
///
/// In each second, a gateway works for `gatewayIdle` µs plus, for each other cost, the cost times the number of its units. The
/// same holds for Redis, with `redisIdle` and its costs.
struct SizingCoefficients: Equatable, Sendable {
    /// Per second, for a gateway without clients: its timers and its checks of Redis.
    var gatewayIdle: Double
    /// Per report, for any number of jobs: reading it, and updating its rider's position.
    var perReport: Double
    /// Per location (a report for one job), until Redis has accepted it.
    var perLocation: Double
    /// A location sent to one follower.
    var perDelivery: Double
    /// Per rider and second: heartbeats and the validation of its trip.
    var perRider: Double
    /// Per followed job and second: resyncs and arrival times.
    var perFollowedJob: Double
    /// Per follower and second: pings.
    var perFollower: Double
    /// The cost of a location with two event loops, relative to one.
    var severalLoops: Double
    /// Per second, for a Redis without locations.
    var redisIdle: Double
    /// Per report, for any number of jobs.
    var redisPerReport: Double
    /// Per location: the script that stores and publishes it.
    var redisPerLocation: Double
    /// Per rider and second.
    var redisPerRider: Double
    /// The CPU cost of a location, summed over all masters of a cluster, relative to that of a single Redis.
    var cluster: Double
    /// Resident memory of a gateway without clients.
    var gatewayKB: Double
    /// Resident memory of a connection.
    var perConnectionKB: Double
    /// A client's connection with a full TLS handshake, sign-in and subscription.
    var perNewConnection: Double
    /// The error of the model in %, at a measured point that was not used for fitting: 1,500 riders who report every 3 s, with
    /// three followers each. If positive, the model's estimate is too high.
    var gatewayError: Double
    var redisError: Double
    var memoryError: Double
    /// When, from which commit and where the costs were measured.
    var provenance: String
}
