import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// A rider moves between zones in several steps, because zones are in different slots. Any step can be the last one.
@Suite struct RiderMoveTests {
    private static let hamburg = ZoneID("hamburg")!
    private static let card = RiderCard(name: "Rosa")

    private static func describe(
        _ stage: ZoneStage, in zone: ZoneID, _ card: RiderCard? = nil, capacity: Int? = nil
    ) async throws {
        _ = try await stage.riders.describe(
            ZoneStage.rider, in: zone, isApproved: true, capacity: capacity, card: card, by: ZoneStage.service
        ).get()
    }

    private static func leftCard(_ stage: ZoneStage) async throws -> Int64 {
        try await stage.client.run("PTTL", stage.keyspace.moving(ZoneStage.rider)).integer ?? 0
    }

    /// The rider has left its zone when a key of the wrong type prevents the next step.
    private static func interruptMove(_ stage: ZoneStage, at obstacle: String) async throws {
        try await stage.client.run("DEL", obstacle)
        try await stage.client.run("SET", obstacle, "in the way")
        await #expect(throws: (any Error).self) { try await Self.describe(stage, in: Self.hamburg) }
        try await stage.client.run("DEL", obstacle)
        #expect(try await stage.record() == nil)
    }

    @Test(arguments: ["zones", "riders:{hamburg}:available"])
    func `a move that is repeated after a failure keeps the card`(obstacle: String) async throws {
        try await ZoneStage.set { stage in
            try await Self.describe(stage, in: ZoneStage.zone, Self.card)
            try await Self.interruptMove(stage, at: obstacle)
            let left = try await Self.leftCard(stage)
            #expect(left > 0 && left <= Int64(Riders.longestMoveMs))
            try await Self.describe(stage, in: Self.hamburg)
            #expect(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get()?.card == Self.card)
            #expect(try await Self.leftCard(stage) == -2)
        }
    }

    @Test func `a new rider has a capacity of 1, and without a capacity the stored one stays`() async throws {
        try await ZoneStage.set { stage in
            try await Self.describe(stage, in: ZoneStage.zone)
            #expect(try await stage.record()?.capacity == 1)
            try await Self.describe(stage, in: ZoneStage.zone, capacity: 5)
            try await Self.describe(stage, in: ZoneStage.zone, Self.card)
            #expect(try await stage.record()?.capacity == 5)
            #expect(try await stage.record()?.card == Self.card)
        }
    }

    @Test(arguments: [nil, Self.card] as [RiderCard?])
    func `a rider that moves keeps its capacity, also when the move is repeated after a failure`(card: RiderCard?)
        async throws
    {
        try await ZoneStage.set { stage in
            try await Self.describe(stage, in: ZoneStage.zone, card, capacity: 5)
            try await Self.describe(stage, in: Self.hamburg)
            let moved = try #require(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get())
            #expect(moved.capacity == 5 && moved.card == card)
            #expect(try await Self.leftCard(stage) == -2)
            try await Self.describe(stage, in: ZoneStage.zone)
            try await Self.interruptMove(stage, at: "zones")
            try await Self.describe(stage, in: Self.hamburg)
            let repeated = try #require(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get())
            #expect(repeated.capacity == 5 && repeated.card == card)
            #expect(try await Self.leftCard(stage) == -2)
        }
    }

    @Test(arguments: ["5", "5 {", "0 {}", "101 {}", "x {}", "5{}", "{}", " {}", "5 {\"name\":5}"])
    func `a malformed profile of an interrupted move is ignored`(stored: String) async throws {
        try await ZoneStage.set { stage in
            try await stage.client.run("SET", stage.keyspace.moving(ZoneStage.rider), stored)
            try await Self.describe(stage, in: Self.hamburg)
            let record = try #require(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get())
            #expect(record.capacity == 1 && record.card == nil)
            #expect(try await Self.leftCard(stage) == -2)
        }
    }

    @Test func `a card that an earlier version left after an interrupted move is kept`() async throws {
        try await ZoneStage.set { stage in
            try await stage.client.run("SET", stage.keyspace.moving(ZoneStage.rider), #"{"name":"Rosa"}"#)
            try await Self.describe(stage, in: Self.hamburg)
            let record = try #require(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get())
            #expect(record.capacity == 1 && record.card == Self.card)
        }
    }

    @Test func `a new card replaces the card of an interrupted move`() async throws {
        try await ZoneStage.set { stage in
            try await Self.describe(stage, in: ZoneStage.zone, Self.card)
            try await Self.interruptMove(stage, at: "zones")
            try await Self.describe(stage, in: Self.hamburg, RiderCard(name: "Ugo"))
            #expect(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get()?.card?.name == "Ugo")
            #expect(try await Self.leftCard(stage) == -2)
        }
    }

    @Test func `the card of an interrupted move is deleted with the rider`() async throws {
        try await ZoneStage.set { stage in
            try await Self.describe(stage, in: ZoneStage.zone, Self.card)
            try await Self.interruptMove(stage, at: "zones")
            _ = try await stage.riders.remove(
                ZoneStage.rider, from: ZoneStage.zone, because: "left", by: ZoneStage.service
            ).get()
            #expect(try await Self.leftCard(stage) == -2)
            try await Self.describe(stage, in: Self.hamburg)
            #expect(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get()?.card == nil)
        }
    }

    @Test func `a rider that is added to two zones at once stays only in the one that its stored zone names`()
        async throws
    {
        try await ZoneStage.set { stage in
            let zones = [ZoneStage.zone, Self.hamburg]
            for round in 0..<40 {
                let rider = PersonID("rider-\(round)")!
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for zone in zones {
                        group.addTask {
                            _ = try await stage.riders.describe(
                                rider, in: zone, isApproved: true, capacity: 1, card: Self.card, by: ZoneStage.service
                            ).get()
                        }
                    }
                    try await group.waitForAll()
                }
                let home = try #require(try await stage.riders.zone(of: rider).get())
                for zone in zones {
                    let record = try await stage.riders.read(rider, in: zone).get()
                    #expect((record != nil) == (zone == home), "\(round) \(zone)")
                }
            }
        }
    }

    @Test func `a malformed card of an interrupted move is ignored`() async throws {
        try await ZoneStage.set { stage in
            try await stage.client.run("SET", stage.keyspace.moving(ZoneStage.rider), "{")
            try await Self.describe(stage, in: Self.hamburg)
            #expect(try await stage.riders.read(ZoneStage.rider, in: Self.hamburg).get()?.card == nil)
            #expect(try await Self.leftCard(stage) == -2)
        }
    }
}
