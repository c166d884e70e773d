// Calculates the hardware for a fleet from the measured costs.

/// A fleet at its busiest hour.
struct SizingDemand: Equatable, Sendable {
    var riders: Int
    /// Jobs of a rider at the same time.
    var jobsPerRider = 1
    /// Seconds between two reports of a rider.
    var interval: Double
    var followersPerJob: Int

    var jobs: Double { Double(self.riders) * Double(self.jobsPerRider) }
    var followers: Double { self.jobs * Double(self.followersPerJob) }
    /// The number of connections: of riders and of followers.
    var connections: Double { Double(self.riders) + self.followers }
    var reportsPerSecond: Double { Double(self.riders) / self.interval }
    /// A report for several jobs counts as one location for each.
    var locationsPerSecond: Double { self.jobs / self.interval }
    var deliveriesPerSecond: Double { self.locationsPerSecond * Double(self.followersPerJob) }
    var followedJobs: Double { self.followersPerJob > 0 ? self.jobs : 0 }
}

/// The cores, memory and Redis masters for a demand.
struct SizingPlan: Equatable, Sendable, Encodable {
    var connections: Double
    var locationsPerSecond: Double
    var deliveriesPerSecond: Double
    /// Cores that the gateways keep busy, and cores to provide.
    var gatewayCoresBusy: Double
    var gatewayCores: Int
    /// The memory of all gateways, while some clients are slow.
    var gatewayMemoryMB: Double
    /// Gateways of two cores, one of which may fail.
    var gateways: Int
    /// Cores that Redis keeps busy, both roles together, and masters to provide.
    var redisCoresBusy: Double
    var redisMasters: Int
    /// The time until all clients have reconnected, with all cores and full handshakes.
    var reconnectSeconds: Double
    /// The share of a core in % above which it counts as full.
    var utilisationPercent: Double
    var measured: String
    var assumptions: [String]

    /// Share of clients that are slow at the same time, each with a full queue.
    static let slowShare = 0.05
    /// The default of ENROUTE_LIMIT_QUEUE_BYTES.
    static let queueKB = 64.0
    static let coresPerGateway = 2

    init(_ demand: SizingDemand, utilisationPercent: Double, costs: SizingCoefficients = .measured) {
        let work = Self.gatewayMicroseconds(demand, costs)
        let (share, microseconds) = (utilisationPercent / 100, 1e6)
        let alone = work / microseconds / share > 1 ? costs.severalLoops : 1
        let redis = Self.redisMicroseconds(demand, costs)
        let single = redis / microseconds / share > 1 ? costs.cluster : 1

        (self.connections, self.locationsPerSecond) = (demand.connections, demand.locationsPerSecond)
        self.deliveriesPerSecond = demand.deliveriesPerSecond
        self.gatewayCoresBusy = work * alone / microseconds
        self.gatewayCores = Self.whole(self.gatewayCoresBusy / share)
        self.gateways = (self.gatewayCores + Self.coresPerGateway - 1) / Self.coresPerGateway + 1
        self.gatewayMemoryMB =
            (Self.residentKB(demand, costs) + Double(self.gateways - 1) * costs.gatewayKB
                + demand.connections * Self.slowShare * Self.queueKB) / 1024
        self.redisCoresBusy = redis * single / microseconds
        self.redisMasters = Self.whole(self.redisCoresBusy / share)
        self.reconnectSeconds = demand.connections * costs.perNewConnection / microseconds / Double(self.gatewayCores)
        (self.utilisationPercent, self.measured) = (utilisationPercent, costs.provenance)
        self.assumptions = Self.assumptions(utilisationPercent, costs)
    }

    /// Rounds up to at least 1.
    private static func whole(_ cores: Double) -> Int { max(1, Int(cores.rounded(.up))) }

    // MARK: the model

    /// µs per second of one gateway with one event loop.
    static func gatewayMicroseconds(_ demand: SizingDemand, _ costs: SizingCoefficients) -> Double {
        let events =
            costs.perReport * demand.reportsPerSecond + costs.perLocation * demand.locationsPerSecond
            + costs.perDelivery * demand.deliveriesPerSecond
        let people =
            costs.perRider * Double(demand.riders) + costs.perFollowedJob * demand.followedJobs
            + costs.perFollower * demand.followers
        return costs.gatewayIdle + events + people
    }

    /// µs per second of one Redis with both roles.
    static func redisMicroseconds(_ demand: SizingDemand, _ costs: SizingCoefficients) -> Double {
        costs.redisIdle + costs.redisPerReport * demand.reportsPerSecond
            + costs.redisPerLocation * demand.locationsPerSecond + costs.redisPerRider * Double(demand.riders)
    }

    /// KB of memory of one gateway.
    static func residentKB(_ demand: SizingDemand, _ costs: SizingCoefficients) -> Double {
        costs.gatewayKB + costs.perConnectionKB * demand.connections
    }
}

extension SizingPlan {
    private static func assumptions(_ utilisationPercent: Double, _ costs: SizingCoefficients) -> [String] {
        func signed(_ percent: Double) -> String { "\(percent < 0 ? "" : "+")\(Int(percent.rounded())) %" }
        return [
            "A core counts as full at \(Int(utilisationPercent.rounded())) %; the rest is for bursts and for the clients of a "
                + "gateway that fails.",
            "Riders report steadily, are online in a zone, and their jobs have destinations; TLS is on.",
            "\(Int(Self.slowShare * 100)) % of the clients are slow, each with a full queue of \(Int(Self.queueKB)) KiB.",
            "Redis has both roles; statuses, sign-ins, REST requests and its memory are not included (deploy/sizing.md).",
            "Costs are added up. At a measured point that was not used for fitting, the model was off by "
                + "\(signed(costs.gatewayError)) for the gateway, \(signed(costs.redisError)) for Redis and "
                + "\(signed(costs.memoryError)) for memory.",
            "Measured on \(costs.provenance): other machines differ, so measure yours (benchmarks/README.md).",
        ]
    }
}
