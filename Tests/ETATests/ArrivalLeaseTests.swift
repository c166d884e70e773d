import Embedded
import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing
import Tracking

@testable import ETA
@testable import Routing

/// The queries of three gateways to providers in an hour, with a simulated clock and real leases in Redis, for which three
/// connections compete. The clock of Redis does not advance meanwhile, so leases expire by the test's clock.
@Suite(.needsMachine(for: .faults)) struct ArrivalLeaseTests {
    private static let (gateways, jobs) = (3, 100)
    private static let epoch: Int64 = 1_795_000_000_000
    private static let door = Coordinate(latitude: 48.3, longitude: 16.4)!
    private static let settings = ArrivalSettings()

    /// The followed jobs of one gateway. It stores nothing about other jobs (ArrivalClockTests).
    private struct Node {
        let arrivals: ETAStore
        var jobs: [FollowedArrival]
        /// When each of its seconds starts, in ns.
        let phase: UInt64
    }

    private static func job(_ number: Int) -> JobID { JobID("job-\(number)")! }

    /// The position of a rider: 8 m closer every second. Every fifth rider turns round for some time every ten minutes.
    private static func fix(_ number: Int, _ second: Int) -> Fix {
        let wayBack = number.isMultiple(of: 5) && second % 600 > 540 ? second % 600 - 540 : 0
        let meters = Double(40_000 - second * 8 + wayBack * 16)
        return Fix(
            at: self.epoch + Int64(second) * 1000,
            place: Coordinate(latitude: self.door.latitude - meters / 111_195, longitude: 16.4)!)
    }

    private static func node(_ index: Int, _ client: RedisClient) -> Node {
        let arrival = FollowedArrival(
            rider: PersonID("rider-1")!, destination: self.door, bounds: self.settings.bounds())
        return Node(
            arrivals: ETAStore(live: client, settings: LiveStateSettings()),
            jobs: Array(repeating: arrival, count: self.jobs), phase: UInt64(index) * 370_000_000)
    }

    private struct Hour {
        /// The queries to a provider, by job.
        var asked = Array(repeating: 0, count: ArrivalLeaseTests.jobs)
        /// The leases that were requested.
        var claims = 0
        /// Calculations without a provider, because the rider turned round.
        var estimated = 0
        /// The longest time in seconds with the same result.
        var longestWait = 0
    }

    private static func hour(_ clients: [RedisClient]) async throws -> Hour {
        var nodes = clients.enumerated().map { self.node($0.offset, $0.element) }
        var (hour, ends) = (Hour(), Array(repeating: Int.max, count: self.jobs))
        var toldAt = Array(repeating: 0, count: self.jobs)
        let (keyspace, lease) = (LiveStateSettings().keyspace, Int(Self.settings.lease.components.seconds))
        for second in 0..<3600 {
            let over = ends.indices.filter { ends[$0] <= second }
            for number in over { ends[number] = .max }
            if !over.isEmpty {
                let keys = over.map { keyspace.etaLease(of: self.job($0)) }
                _ = try await clients[0].send(RedisCommand(["DEL"] + keys.map { .text($0) })).get()
            }
            let wall = self.epoch + Int64(second) * 1000
            let moments = nodes.map { UInt64(second + 1000) * 1_000_000_000 + $0.phase }
            // All gateways see what is due before any of them requests the lease.
            var due: [(node: Int, number: Int, ArrivalTime.Calculation, EventLoopFuture<Bool>?)] = []
            for node in nodes.indices {
                for number in 0..<self.jobs {
                    if second.isMultiple(of: 5) {
                        nodes[node].jobs[number].observe(self.fix(number, second), now: moments[node])
                    }
                    guard
                        case .calculate(let calculation) = nodes[node].jobs[number].next(
                            now: moments[node], wall: wall)
                    else { continue }
                    let isShared = FollowedArrival.isShared(calculation)
                    hour.claims += isShared ? 1 : 0
                    let claim =
                        isShared
                        ? nodes[node].arrivals.claim(self.job(number), for: self.settings.lease * 1000) : nil
                    due.append((node, number, calculation, claim))
                }
            }
            for (node, number, calculation, claim) in due {
                let isOurs = try await claim?.get() ?? false
                var route: SourcedRoute?
                if claim != nil {
                    switch nodes[node].jobs[number].turn(calculation, isOurs: isOurs, now: moments[node]) {
                    case .cede: continue
                    case .estimate: hour.estimated += 1
                    case .ask:
                        ends[number] = second + lease
                        hour.asked[number] += nodes[node].jobs[number].question == nil ? 0 : 1
                        let seconds = Double(5000 - second)
                        route = SourcedRoute(
                            answer: try RouteAnswer(seconds: seconds, meters: seconds * 8, knowsTraffic: false),
                            source: .osrm)
                    }
                }
                guard
                    let told = nodes[node].jobs[number].finish(calculation, by: route, now: moments[node], wall: wall)
                else { continue }
                for other in nodes.indices { nodes[other].jobs[number].received(told, now: moments[other]) }
                hour.longestWait = max(hour.longestWait, second - toldAt[number])
                toldAt[number] = second
            }
        }
        return hour
    }

    @Test func `in an hour 3 gateways send at most 60 queries for each of 100 followed jobs`()
        async throws
    {
        try await RedisServer.running { redis in
            let address = try RedisAddress(url: redis.url)
            var clients: [RedisClient] = []
            for _ in 0..<Self.gateways { clients.append(try await RedisClient.started(at: address)) }
            defer { for client in clients { client.stop() } }
            let hour = try await Self.hour(clients)
            #expect(hour.asked.allSatisfy { (58...60).contains($0) }, "\(hour)")
            // Of all gateways that wanted to query, one did. Followers of riders who turned round still received additional
            // estimates.
            #expect(hour.claims > 2 * hour.asked.reduce(0, +) && hour.estimated > 0, "\(hour)")
            #expect(hour.longestWait <= 60, "\(hour)")
        }
    }
}
