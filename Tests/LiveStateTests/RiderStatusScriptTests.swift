import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The replies to a declared status, and malformed data that its two scripts read.
@Suite struct RiderStatusScriptTests {
    private static let (day, tenMinutes) = (Int64(86_400_000), Int64(600_000))

    private func goOnline(
        _ stage: ZoneStage, _ request: String = ""
    ) -> EventLoopFuture<Durable<Riders.Online>> {
        stage.riders.setOnline(
            ZoneStage.rider, in: ZoneStage.zone, by: .init(ZoneStage.rider, request: request))
    }

    /// Expects that the reply to a request is stored for this time, ms.
    private func expectStored(
        _ id: String, for lifetime: Int64, _ stage: ZoneStage, at sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let key = stage.keyspace.request(id, of: ZoneStage.rider, in: ZoneStage.zone)
        let left = try await stage.client.timeLeft(of: key)
        #expect((lifetime - 60_000...lifetime).contains(left), "\(id)", sourceLocation: sourceLocation)
    }

    @Test func `a refusal is repeated for ten minutes, every other reply for a day`() async throws {
        try await ZoneStage.set { stage in
            try await stage.describe(isApproved: false)
            #expect(try await self.goOnline(stage, "r-1").get().value == .notApproved)
            try await self.expectStored("r-1", for: Self.tenMinutes, stage)
            try await stage.online()
            guard case .unchanged = try await self.goOnline(stage, "r-2").get().value else {
                Issue.record("changed")
                return
            }
            try await self.expectStored("r-2", for: Self.day, stage)
            _ = try await stage.assign(ZoneStage.jobs[0])
            let busy = try await stage.goOffline(by: .init(ZoneStage.rider, request: "r-3"))
            #expect(busy == .activeTasks([ZoneStage.jobs[0]]))
            try await self.expectStored("r-3", for: Self.tenMinutes, stage)
            // Another script, whose requester is not the rider.
            guard case .full = try await stage.assign(ZoneStage.jobs[1], request: "r-4") else {
                Issue.record("assigned")
                return
            }
            try await self.expectStored("s r-4", for: Self.tenMinutes, stage)
            _ = try await stage.release(ZoneStage.jobs[0])
            _ = try await stage.goOffline(by: .init(ZoneStage.rider, request: "r-5"))
            try await self.expectStored("r-5", for: Self.day, stage)
        }
    }

    @Test(arguments: RiderFault.changesOfStatus)
    func `a rider who goes online is refused because of malformed data before anything is written`(fault: RiderFault)
        async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online()
            _ = try await stage.goOffline()
            try await stage.expectRefusal(of: fault) { self.goOnline(stage, "r") }
        }
    }

    @Test(arguments: RiderFault.changesOfStatus)
    func `a rider who goes offline is refused because of malformed data before anything is written`(fault: RiderFault)
        async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online()
            try await stage.expectRefusal(of: fault) {
                stage.riders.setOffline(
                    ZoneStage.rider, in: ZoneStage.zone, because: "lunch", by: .init(ZoneStage.rider, request: "r"))
            }
        }
    }

    @Test(arguments: [RiderFault.noNumber, .noDevice, .pool, .due])
    func `a rider who is online already is refused because of malformed data before anything is written`(
        fault: RiderFault
    )
        async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online()
            try await stage.expectRefusal(of: fault) { self.goOnline(stage, "r") }
        }
    }

    @Test func `a description repairs a malformed capacity, and the rider can go online`() async throws {
        try await ZoneStage.set { stage in
            try await stage.describe()
            try await RiderFault.noNumber.plant(stage)
            #expect(await failure(of: self.goOnline(stage))?.isMalformedData == true)
            try await stage.describe(capacity: 2)
            guard case .online = try await self.goOnline(stage).get().value else {
                Issue.record("not online")
                return
            }
        }
    }
}
