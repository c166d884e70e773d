// The model behind `enroute size`: what each part of the load costs. Costs are added up, so it is a straight line through what
// was measured.

/// The costs of the model: µs of CPU time and KB of memory.
///
/// In each second, a gateway works for `gatewayIdle` µs, and for the others of its costs times what there is of each; so does
/// Redis with `redisIdle` and its costs.
struct SizingCoefficients: Equatable, Sendable {
    /// A gateway without clients, a second: its timers and its checks of Redis.
    var gatewayIdle: Double
    /// A report, for any number of jobs: reading it, and the place of its rider.
    var perReport: Double
    /// A location, which is a report for one job, until Redis has accepted it.
    var perLocation: Double
    /// A location sent to one follower.
    var perDelivery: Double
    /// A rider, a second: its heartbeats and the validation of its trip.
    var perRider: Double
    /// A job that somebody follows, a second: rereading and arrival times.
    var perFollowedJob: Double
    /// A follower, a second: its pings.
    var perFollower: Double
    /// The cost of a location with two event loops, relative to one.
    var severalLoops: Double
    /// Redis without locations, a second.
    var redisIdle: Double
    /// A report, for any number of jobs.
    var redisPerReport: Double
    /// A location: the script that stores and publishes it.
    var redisPerLocation: Double
    /// A rider, a second.
    var redisPerRider: Double
    /// The cost of a location in all masters of a cluster, relative to one Redis.
    var cluster: Double
    /// Resident memory of a gateway without clients.
    var gatewayKB: Double
    /// Resident memory of a connection.
    var perConnectionKB: Double
    /// A client's connection with a full TLS handshake, sign-in and subscription.
    var perNewConnection: Double
    /// The model's error at a measured point to which it was not fitted, in %: 1,500 riders who report every 3 s, three followers
    /// each. Above 0, the model estimates too much.
    var gatewayError: Double
    var redisError: Double
    var memoryError: Double
    /// When, from which commit and where the costs were measured.
    var provenance: String
}
