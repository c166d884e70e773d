import Foundation
import TestSupport
import Testing

@testable import enroute

/// `enroute size`: the model, a measured point that it was not fitted to, and the command.
@Suite struct SizingTests {
    private static let costs = SizingCoefficients(
        gatewayIdle: 1000, perReport: 40, perLocation: 100, perDelivery: 10, perRider: 3, perFollowedJob: 5,
        perFollower: 2,
        severalLoops: 1.5, redisIdle: 500, redisPerReport: 20, redisPerLocation: 50, redisPerRider: 1, cluster: 2,
        gatewayKB: 10_240, perConnectionKB: 20,
        perNewConnection: 1000, gatewayError: 3, redisError: -4, memoryError: 0, provenance: "a test")

    @Test func `costs of reports, locations, deliveries and people add up`() {
        let demand = SizingDemand(riders: 1000, jobsPerRider: 2, interval: 4, followersPerJob: 3)
        #expect(demand.connections == 7000)
        #expect(demand.locationsPerSecond == 500)
        #expect(demand.deliveriesPerSecond == 1500)
        #expect(
            SizingPlan.gatewayMicroseconds(demand, Self.costs) == 1000 + 10_000 + 50_000 + 15_000 + 3000 + 10_000
                + 12_000)
        #expect(SizingPlan.redisMicroseconds(demand, Self.costs) == 500 + 5000 + 25_000 + 1000)
        #expect(SizingPlan.residentKB(demand, Self.costs) == 10_240 + 140_000)
        let plan = SizingPlan(demand, utilisationPercent: 50, costs: Self.costs)
        #expect(plan.gatewayCores == 1 && plan.gateways == 2 && plan.redisMasters == 1)
        #expect(abs(plan.gatewayCoresBusy - 0.101) < 1e-9)
        #expect(abs(plan.reconnectSeconds - 7) < 1e-9)
    }

    @Test func `more than one core or master costs what several loops and a cluster cost`() {
        let demand = SizingDemand(riders: 40_000, interval: 4, followersPerJob: 1)
        let plan = SizingPlan(demand, utilisationPercent: 50, costs: Self.costs)
        // 1.901 cores of work on one loop, 0.7405 on one Redis.
        #expect(abs(plan.gatewayCoresBusy - 1.901 * 1.5) < 1e-9)
        #expect(plan.gatewayCores == 6 && plan.gateways == 4)
        #expect(abs(plan.redisCoresBusy - 0.7405 * 2) < 1e-9)
        #expect(plan.redisMasters == 3)
    }

    @Test func `a job without followers is not read again`() {
        let demand = SizingDemand(riders: 1000, interval: 5, followersPerJob: 0)
        #expect(demand.connections == 1000)
        #expect(SizingPlan.gatewayMicroseconds(demand, Self.costs) == 1000 + 8000 + 20_000 + 3000)
    }

    @Test func `the smallest and the largest demand have a plan`() {
        for people in [1, 10_000_000] {
            let demand = SizingDemand(riders: people, jobsPerRider: 10, interval: 0.5, followersPerJob: people)
            let plan = SizingPlan(demand, utilisationPercent: 1)
            #expect(plan.gatewayCores >= 1 && plan.redisMasters >= 1 && plan.gatewayMemoryMB > 0)
            #expect(!plan.text.isEmpty)
        }
    }

    private struct Scaling: Decodable {
        struct Point: Decodable {
            var riders: Int
            var jobs: Int
            var followers: Int
            var interval: Double
            var gateway_us: Double
            var redis_us: Double
            var resident_kb: Double
        }
        var points: [String: Point]
    }

    /// The largest error, in %, at which a plan with 50 % utilization still leaves spare cores.
    private static let largestError = 40.0

    @Test func `the model's error at a point it was not fitted to is the one it states`() throws {
        let file = Checkout.root.appending(path: "benchmarks/results/scaling.json")
        let scaling = try JSONDecoder().decode(Scaling.self, from: Data(contentsOf: file))
        let point = try #require(scaling.points["check"])
        let demand = SizingDemand(
            riders: point.riders, jobsPerRider: point.jobs, interval: point.interval, followersPerJob: point.followers)
        #expect(demand == SizingDemand(riders: 1500, jobsPerRider: 1, interval: 3, followersPerJob: 3))
        let costs = SizingCoefficients.measured
        let measured = [
            (
                SizingPlan.gatewayMicroseconds(demand, costs), point.gateway_us * demand.locationsPerSecond,
                costs.gatewayError
            ),
            (SizingPlan.redisMicroseconds(demand, costs), point.redis_us * demand.locationsPerSecond, costs.redisError),
            (SizingPlan.residentKB(demand, costs), point.resident_kb, costs.memoryError),
        ]
        for (estimated, value, stated) in measured {
            let error = (estimated / value - 1) * 100
            #expect(abs(error - stated) < 0.5, "\(estimated) estimated, \(value) measured")
            #expect(abs(error) < Self.largestError, "\(estimated) estimated, \(value) measured")
        }
    }

    @Test func `the command prints the plan, its assumptions and the error of the model`() async throws {
        let outcome = try await CommandTests.run(["size", "--riders", "10000", "--interval", "5", "--followers", "1"])
        #expect(outcome.code == 0 && outcome.error.isEmpty)
        #expect(outcome.output.contains("20,000 connections, 2,000 locations and 2,000 deliveries a second"))
        #expect(outcome.output.contains("A core counts as full at 50 %"))
        #expect(outcome.output.contains("the model was off by"))
        #expect(outcome.output.contains(SizingCoefficients.measured.provenance))
    }

    @Test func `the command prints JSON`() async throws {
        let outcome = try await CommandTests.run(
            ["size", "--riders", "1000", "--interval", "2", "--followers", "0", "--utilisation", "25", "--json"])
        #expect(outcome.code == 0 && outcome.error.isEmpty)
        let plan = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        #expect(plan["locationsPerSecond"] as? Double == 500)
        #expect(plan["deliveriesPerSecond"] as? Double == 0)
        #expect(plan["utilisationPercent"] as? Double == 25)
        #expect((plan["assumptions"] as? [String])?.isEmpty == false)
        for name in ["gatewayCores", "gateways", "redisMasters"] { #expect((plan[name] as? Int ?? 0) >= 1, "\(name)") }
    }
}
