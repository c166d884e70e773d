// What is counted, and how the figures are computed.
//
// A short and a long series of locations are counted with the same followers. Their difference, divided by the difference in
// length, excludes everything that happens once. The timers of an idle gateway are counted separately and subtracted for the
// additional time. That is the cost of one location with that many followers. One additional follower costs the slope between
// one follower and many.

/// The cost of one location, by function.
struct Measurement {
    var followers: Int
    /// With one follower.
    var taken: Profile
    /// With `followers`.
    var relayed: Profile
    /// One second in which nothing happens, with all connections open.
    var idleSecond: Profile

    /// For one additional follower.
    var delivered: Profile { (self.relayed - self.taken) * (1 / Double(self.followers - 1)) }

    /// The figures with a threshold, by their names in instructions.json.
    var figures: [String: Double] {
        ["location_with_one_follower": self.taken.total, "delivered_message": self.delivered.total]
    }
}

extension Measurement {
    /// Locations before the first counted one, and in the short series.
    private static let warmUp = 50
    /// Both idle periods: their difference excludes the time that callgrind takes to answer.
    private static let idle: (short: Duration, long: Duration) = (.seconds(1), .seconds(5))

    /// - Parameters:
    ///   - followers: more than one.
    ///   - locations: the difference in length between the two series.
    static func make(on stage: Stage, _ riderToken: String, _ customerToken: String, followers: Int, locations: Int)
        async throws -> Measurement
    {
        try await Scene.running(
            url: stage.url, certificate: stage.certificate, job: Stage.job, riderToken: riderToken,
            customerToken: customerToken
        ) { scene, group in
            try await scene.follow(1, &group)
            let (taken, _) = try await self.cost(of: locations, &scene, stage.callgrind)
            try await scene.follow(followers, &group)
            let (relayed, idle) = try await self.cost(of: locations, &scene, stage.callgrind)
            return Measurement(followers: followers, taken: taken, relayed: relayed, idleSecond: idle)
        }
    }

    private static func cost(
        of locations: Int, _ scene: inout Scene, _ callgrind: Callgrind
    ) async throws -> (location: Profile, idleSecond: Profile) {
        try await scene.travel(self.warmUp)
        let idleShort = try await self.stretch(callgrind) { try await Task.sleep(for: self.idle.short) }
        let idleLong = try await self.stretch(callgrind) { try await Task.sleep(for: self.idle.long) }
        let idleSecond =
            (idleLong.profile - idleShort.profile) * (1 / (idleLong.seconds - idleShort.seconds))
        let short = try await self.stretch(callgrind) { try await scene.travel(self.warmUp) }
        let long = try await self.stretch(callgrind) { try await scene.travel(self.warmUp + locations) }
        let longer = long.profile - short.profile - idleSecond * (long.seconds - short.seconds)
        return (longer * (1 / Double(locations)), idleSecond)
    }

    private static func stretch(
        _ callgrind: Callgrind, _ body: () async throws -> Void
    ) async throws -> (profile: Profile, seconds: Double) {
        try callgrind.zero()
        let start = ContinuousClock.now
        try await body()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        return (try callgrind.read(), seconds)
    }
}
