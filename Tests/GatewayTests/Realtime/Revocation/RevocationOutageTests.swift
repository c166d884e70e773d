import Access
import Embedded
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Revocations while the channel, the stream or the ledger fails.
@Suite(.serialized, .needsMachine(for: .faults)) struct RevocationOutageTests {
    private static let revoked = ClientError.closed(code: CloseCode.forbidden.rawValue, reason: "access revoked")

    @Test func `a revocation without a channel message is found by polling`() async throws {
        try await RevocationScenario.run { stage in
            let token = try await stage.first.token("anna", .customer)
            let endings = try await stage.endings(token) {
                try await Self.add("anna", "*", stage)
            }
            #expect(endings == [Self.revoked, Self.revoked])
        }
    }

    @Test func `killing subscriber connections loses no revocation`() async throws {
        try await RevocationScenario.run { stage in
            let token = try await stage.first.token("anna", .customer)
            let endings = try await stage.endings(token) {
                _ = try await stage.redis.run("CLIENT", "KILL", "TYPE", "pubsub")
                try await stage.revoke(.user(PersonID("anna")!))
            }
            #expect(endings == [Self.revoked, Self.revoked])
        }
    }

    @Test func `the stream is read again from a master that lost entries and assigns smaller ids`() async throws {
        try await RevocationScenario.run { stage in
            try await stage.revoke(.user(PersonID("bert")!))
            let bert = try await stage.first.token("bert", .customer)
            let token = try await stage.first.token("anna", .customer)
            let endings = try await stage.endings(token) {
                _ = try await stage.redis.run("DEL", "control")
                try await Self.add("anna", "1-1", stage)
            }
            #expect(endings == [Self.revoked, Self.revoked])
            // Revocations that have been applied stay applied.
            for arrival in try await stage.arrivals(bert) { #expect(arrival.rest == 401) }
        }
    }

    private static func add(_ user: String, _ id: String, _ stage: RevocationScenario) async throws {
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        _ = try await stage.redis.run(
            "XADD", "control", id, "kind", "user", "id", user, "actor", "ops-1", "at", "\(now)", "reason", "")
    }

    @Test func `while the ledger is frozen no position is shown, and afterwards the newest one is`() async throws {
        try await within {
            try await RestartableRedis.running { ledger in
                // Runs within the turn of the other server, so it does not wait for one of its own.
                try await RedisServer.running { live in
                    let addresses = (live: live.address, ledger: try ledger.address)
                    try await RunningGateway.run(isSecure: false, at: addresses) {
                        $0.limits.allowManyMessages()
                        $0.maxRevocationAge = .seconds(1)
                    } _: { gateway in
                        let client = try await RedisClient.started(at: addresses.live)
                        defer { client.stop() }
                        try await Self.freeze(ledger, gateway, client)
                    }
                }
            }
        }
    }

    private static func freeze(
        _ ledger: RestartableRedis, _ gateway: RunningGateway, _ live: RedisClient
    ) async throws {
        let (job, rider) = (try await gateway.travellingJob(), PersonID("rider-1")!)
        guard case .on(let deadline, let fence) = try await gateway.ledger.startTravel(for: job, by: rider).get() else {
            throw Missing()
        }
        _ = try await JobFeed(live: live, settings: gateway.settings.liveState).open(
            job, for: rider, until: deadline, fence: fence
        )
        .get()
        let positions = Positions(live, gateway, job)
        try await gateway.connect("anna", .customer) { anna, received in
            try await anna.send(.subscribe(job: job, since: nil))
            _ = try await received.subscribed()
            let shown = try await positions.next()
            #expect(try await received.location().id == shown)

            try await ledger.freeze()
            _ = try await received.first { if case .degraded = $0 { true } else { nil } }
            var newest: UInt64 = 0
            for _ in 0..<3 { newest = try await positions.next() }
            #expect(
                try await gateway.eventually("/metrics") {
                    $0.text.contains("enroute_positions_suppressed_total 3\n")
                })
            try await anna.send(.ping)
            let isSuppressed = try await received.first { message -> Bool? in
                switch message {
                case .pong: true
                case .location: false
                default: nil
                }
            }
            #expect(isSuppressed)

            try await ledger.thaw()
            let seen = try await received.first { message -> UInt64? in
                if case .location(let location) = message { location.id } else { nil }
            }
            #expect(seen == newest)
            _ = try await received.first { if case .restored = $0 { true } else { nil } }
        }
    }

    /// Positions of one job, published as its rider's gateway would.
    private struct Positions: Sendable {
        let publisher: LocationPublisher
        let job: JobID

        init(_ live: RedisClient, _ gateway: RunningGateway, _ job: JobID) {
            self.publisher = LocationPublisher(live: live, settings: gateway.settings.liveState)
            self.job = job
        }

        /// Publishes the next position.
        func next() async throws -> UInt64 {
            while true {
                let now = Int64(Date.now.timeIntervalSince1970 * 1000)
                let fix = Fix(at: now, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
                let verdict = try await self.publisher.publish(
                    fix, for: self.job, by: PersonID("rider-1")!, receivedAt: now
                ).get()
                switch verdict {
                case .accepted(let id, _): return id
                // It has the same millisecond as the previous one.
                case .stale: continue
                default: throw Missing()
                }
            }
        }
    }
}

/// Positions buffered while a loop's revocation state is stale.
@Suite struct SuppressedPositionsTests {
    @Test func `the newest position of each job is buffered, and returned once`() {
        var suppressed = SuppressedPositions()
        let (one, two) = (JobID("a")!, JobID("b")!)
        #expect(suppressed.isEmpty)
        suppressed.store(5, [5], of: one)
        suppressed.store(4, [4], of: one)
        suppressed.store(7, [7], of: one)
        suppressed.store(1, [1], of: two)
        suppressed.drop(two)
        let all = suppressed.removePositions()
        #expect(all.count == 1 && all[one]?.id == 7 && all[one]?.frame == [7])
        #expect(suppressed.isEmpty)
    }
}
