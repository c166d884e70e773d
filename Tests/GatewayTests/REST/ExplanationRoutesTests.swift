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

/// Explanations over REST, with followers on two gateways.
@Suite(.needsMachine(for: .faults)) struct ExplanationRoutesTests {
    private struct Stage: Sendable {
        let first: RunningGateway
        let second: RunningGateway
        let job: JobID

        /// The section of an explanation, read through the second gateway.
        func section(_ name: String, of path: String) async throws -> (verdict: String, facts: [String]) {
            let answer = try await self.second.rest("GET", path, by: "olga", .ops)
            #expect(answer.status == 200, "\(answer)")
            #expect(!answer.text.contains("41.9"), "\(answer)")
            let sections: [[String: Any]] = try #require(answer.member("sections"))
            let section = try #require(sections.first { $0["name"] as? String == name })
            let facts = section["facts"] as? [[String: Any]] ?? []
            return (section["verdict"] as? String ?? "", facts.compactMap { $0["text"] as? String })
        }
    }

    private static func gateways(
        at addresses: (live: RedisAddress, ledger: RedisAddress)?,
        _ body: @escaping @Sendable (Stage) async throws -> Void
    ) async throws {
        try await RunningGateway.run(isSecure: false, at: addresses) {
            $0.name = "g1"
        } _: { first in
            let addresses = (first.settings.live, first.settings.ledger)
            try await RunningGateway.run(isSecure: false, at: addresses) {
                $0.name = "g2"
            } _: { second in
                try await second.registerRider()
                try await body(Stage(first: first, second: second, job: try await first.travellingJob()))
            }
        }
    }

    /// The rider reports on the first gateway; the customer follows on both.
    private static func follow(
        _ stage: Stage, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await stage.first.connect("rider-1", .rider) { rider, answers in
            try await rider.send(.travel(job: stage.job, active: true))
            #expect(try await answers.travelAnswer() != nil)
            let at = Int64(Date.now.timeIntervalSince1970 * 1000)
            let fix = Fix(at: at, place: Coordinate(latitude: 41.9, longitude: 12.5)!, accuracyMeters: 5)
            try await rider.send(.location(LocationReport(job: stage.job, sequence: 1, fixes: [fix])))
            try await stage.first.connect("anna", .customer) { anna, seen in
                try await anna.send(.subscribe(job: stage.job, since: nil))
                _ = try await seen.subscribed()
                try await stage.second.connect("anna", .customer) { again, seen in
                    try await again.send(.subscribe(job: stage.job, since: nil))
                    _ = try await seen.subscribed()
                    try await body()
                }
            }
        }
    }

    private static func check(_ stage: Stage) async throws {
        let (job, rider) = ("/api/v1/jobs/\(stage.job)/explanation", "/api/v1/riders/rider-1/explanation")
        try await Self.follow(stage) {
            try await becomes("both gateways have reported their followers") {
                try await stage.section("watching", of: job).verdict == "2 followers on g1 (1) and g2 (1)."
            }
            let watching = try await stage.section("watching", of: job).facts
            #expect(watching.count { $0.hasPrefix("customer anna by token on g") } == 2, "\(watching)")
            #expect(watching.contains { $0.contains("subscribed to locations") })
            try await becomes("the position is shown") {
                try await stage.section("followers", of: job).verdict.contains("Followers see the rider")
            }
            #expect(try await stage.section("travel", of: job).verdict.hasPrefix("Travel mode is on until"))
            try await becomes("the verdicts have been counted") {
                try await stage.section("fixes", of: job).facts.contains { $0.hasPrefix("accepted: 1, last ") }
            }
            let keys = try await stage.section("redis", of: job)
            #expect(!keys.verdict.contains("unknown"), "\(keys)")
            try await becomes("the rider's gateway has reported the session") {
                try await stage.section("sessions", of: rider).verdict == "The rider is connected to g1."
            }
        }
        try await becomes("the followers have left") {
            let verdict = try await stage.section("watching", of: job).verdict
            #expect(!verdict.contains("Followers receive no"), "it is no fault that the last follower leaves")
            return verdict == "Nobody follows the job."
        }
    }

    @Test func `followers on two gateways are found, on one Redis`() async throws {
        try await within { try await Self.gateways(at: nil) { try await Self.check($0) } }
    }

    @Test func `followers on two gateways are found, with Sentinels`() async throws {
        try await within {
            try await SentinelFleet.running { fleet in
                let address = try RedisAddress(url: fleet.url)
                try await Self.gateways(at: (address, address)) { stage in
                    try await Self.check(stage)
                    let keys = try await stage.section("redis", of: "/api/v1/jobs/\(stage.job)/explanation").facts
                    #expect(keys.allSatisfy { $0.contains("(named by the Sentinels), replicas 127.0.0.1:") }, "\(keys)")
                }
            }
        }
    }

    @Test func `followers on two gateways are found, in a cluster, with the slot and node of the keys`() async throws {
        try await within {
            try await ClusterFleet.running { fleet in
                let address = try RedisAddress(url: fleet.url)
                try await Self.gateways(at: (address, address)) { stage in
                    try await Self.check(stage)
                    let slot = HashSlot.of("job:{\(stage.job)}")
                    let owner = try await fleet.master(of: slot)
                    let keys = try await stage.section("redis", of: "/api/v1/jobs/\(stage.job)/explanation").facts
                    let place = "slot \(slot) on 127.0.0.1:\(owner.port), replicas 127.0.0.1:"
                    #expect(keys.count == 2 && keys.allSatisfy { $0.hasPrefix(place) }, "\(keys)")
                }
            }
        }
    }

    @Test func `an explanation is recorded in the audit trail, and an unknown id is not`() async throws {
        try await within {
            try await Self.gateways(at: nil) { stage in
                for path in ["jobs/\(stage.job)", "riders/rider-1"] {
                    _ = try await stage.section("redis", of: "/api/v1/\(path)/explanation")
                }
                for path in ["jobs/nowhere", "riders/nobody"] {
                    let answer = try await stage.first.rest("GET", "/api/v1/\(path)/explanation", by: "olga", .ops)
                    #expect(answer.status == 404, "\(answer)")
                }
                let streams = AuditStreams(ledger: stage.first.client, settings: stage.first.settings.liveState)
                try await becomes("both are recorded") {
                    let entries = try await streams.read(.access, from: .since(0)).get().entries
                    let explained = entries.filter { $0.value("type") == "explained" && $0.value("person") == "olga" }
                    return Set(explained.map { ($0.value("job") ?? "") + ($0.value("rider") ?? "") })
                        == [stage.job.text, "rider-1"]
                }
            }
        }
    }

    @Test func `while one Redis is unavailable, the other one is explained`() async throws {
        try await within {
            try await RestartableRedis.running { live in
                try await RedisServer.running { ledger in
                    try await Self.gateways(at: (try live.address, ledger.address)) { stage in
                        await live.crash()
                        let path = "/api/v1/jobs/\(stage.job)/explanation"
                        let answer = try await stage.first.rest("GET", path, by: "olga", .ops)
                        #expect(answer.status == 200 && answer.member("complete") == false, "\(answer)")
                        #expect(answer.text.contains("The job is open: on_the_way."), "\(answer)")
                        #expect(answer.text.contains("Unknown: the live Redis is unavailable."), "\(answer)")
                        // A session of this rider may still be open.
                        let rider = try await stage.first.rest(
                            "GET", "/api/v1/riders/nobody/explanation", by: "olga", .ops)
                        #expect(rider.status == 200 && rider.member("complete") == false, "\(rider)")
                    }
                }
            }
        }
    }
}
