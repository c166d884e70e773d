import EnrouteClient
import EnrouteWire
import HTTPValues
import Jobs
import LiveState
import Logging
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Silent riders, swept by every gateway at the same time.
@Suite struct RiderSweepTests {
    private static let pace: @Sendable (inout GatewaySettings) -> Void = { $0.sweepPace = .milliseconds(20) }

    @Test func `two gateways sweep at the same time, and each silent rider becomes unreachable and expires once`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.pace) { first in
                let address = (live: first.settings.live, ledger: first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: address, Self.pace) { second in
                    try await first.register(PersonID("first")!)
                    let start = try await first.pool.read(RunningGateway.rome).get().version
                    // More riders than one sweep handles.
                    let count = Riders.sweepBatch + 50
                    for number in 0..<count {
                        try await first.register(.rider(number))
                        try await first.goOnline(.rider(number))
                        try await first.silence(.rider(number), for: .seconds(7200))
                    }
                    try await becomes("every rider is offline") {
                        let offline = try await first.changes(since: start).filter { $0.kind == .offline }
                        return offline.count >= count
                    }
                    let changes = try await first.changes(since: start)
                    for kind in [RiderChange.Kind.unreachable, .offline] {
                        let riders = changes.filter { $0.kind == kind }.map(\.rider)
                        #expect(riders.count == count && Set(riders).count == count, "\(kind)")
                    }
                    for outcome in ["unreachable", "expired"] {
                        let sum = try await first.ridersTimedOut(outcome) + second.ridersTimedOut(outcome)
                        #expect(sum == count, "\(outcome)")
                    }
                    let none = try await first.ridersTimedOut("unreachable_with_task")
                    #expect(none == 0)
                }
            }
        }
    }

    @Test func `RDR-009-AC-03: a silent rider with a task stays online, and watchers are notified once`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger, Self.pace) { gateway in
                for number in 1...2 {
                    try await gateway.register(.rider(number))
                    try await gateway.goOnline(.rider(number))
                }
                _ = try await gateway.riders.assign(
                    JobID("order-1")!, to: .rider(1), in: RunningGateway.rome, by: RunningGateway.allocation
                ).get()
                try await gateway.connect("olga", .ops) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: RunningGateway.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    try await gateway.silence(.rider(1), for: .seconds(7200))
                    try await messages.watch(&witness) { $0.changes.count == 1 }
                    try await gateway.silence(.rider(1), for: .seconds(7200))
                    try await gateway.silence(.rider(2), for: .seconds(7200))
                    // Long enough for the first rider to be checked again.
                    try await messages.watch(&witness) { $0.changes.count == 3 }
                    #expect(witness.changes.map(\.rider) == [.rider(1), .rider(2), .rider(2)])
                    #expect(witness.changes.map(\.kind) == [.unreachableWithTask, .unreachable, .offline])
                    let change = witness.changes[0]
                    #expect(change.status == .online && !change.isReachable && !change.isAvailable && change.tasks == 1)
                    let record = try await gateway.riders.read(.rider(1), in: RunningGateway.rome).get()
                    #expect(record?.status == .online)
                }
                let count = try await gateway.ridersTimedOut("unreachable_with_task")
                #expect(count == 1)
            }
        }
        let notices = lines.all.filter { $0.level == .notice && $0.metadata["rider"] != nil }
        #expect(notices.map { $0.metadata["rider"] } == ["rider-1"])
        #expect(notices.allSatisfy { Set($0.metadata.keys) == ["rider", "zone", "count"] })
    }

    @Test func `a rider's leftover task is found in a zone of more unreachable riders than are shown`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.pace) { gateway in
                let keyspace = gateway.settings.liveState.keyspace
                let (due, later) = (keyspace.due(in: RunningGateway.rome), WallClock.nowMilliseconds + 1_800_000)
                for number in 0...Riders.maxOnlineRiders {
                    try await gateway.client.run("ZADD", due, "\(later)", "idle-\(number)")
                }
                try await gateway.register(.rider(1))
                try await gateway.goOnline(.rider(1))
                try await gateway.leaveTask("order-1", to: .rider(1))
                try await becomes("the sweep has released it") {
                    try await gateway.riders.tasks(of: .rider(1), in: RunningGateway.rome).get().isEmpty
                }
            }
        }
    }

    @Test func `a leftover task that two gateways release at the same time counts as one`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.sweepPace = .seconds(3_600) }) { gateway in
                try await gateway.register(.rider(1))
                try await gateway.goOnline(.rider(1))
                try await gateway.leaveTask("order-1", to: .rider(1))
                let calls = [gateway.jobs(), gateway.jobs()].map {
                    $0.releaseStaleTasks([JobID("order-1")!], of: .rider(1), in: RunningGateway.rome)
                }
                let releases = try await calls[0].get() + calls[1].get()
                #expect(releases.count(where: \.isReleased) == 1, "\(releases)")
            }
        }
    }

    @Test func `a zone that cannot be swept does not delay the others`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.pace) { gateway in
                let keyspace = gateway.settings.liveState.keyspace
                for number in 0..<9 {
                    let zone = ZoneID("broken-\(number)")!
                    try await gateway.client.run("SADD", keyspace.zones, zone.text)
                    try await gateway.client.run("SET", keyspace.due(in: zone), "no set")
                }
                try await gateway.register(.rider(1))
                try await gateway.goOnline(.rider(1))
                try await gateway.silence(.rider(1), for: .seconds(7200))
                try await becomes("the rider is offline") {
                    try await gateway.riders.read(.rider(1), in: RunningGateway.rome).get()?.status == .offline
                }
            }
        }
    }

    @Test func `a sweep continues after a Redis outage`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.pace) { gateway in
                try await gateway.register(.rider(1))
                try await gateway.goOnline(.rider(1))
                try await gateway.client.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                try await gateway.silence(.rider(1), for: .seconds(7200))
                try await becomes("the rider is offline") {
                    try await gateway.riders.read(.rider(1), in: RunningGateway.rome).get()?.status == .offline
                }
            }
        }
    }
}

extension RunningGateway {
    /// At most 1,000 changes.
    func changes(since version: Int64) async throws -> [RiderChange] {
        try await self.pool.read(Self.rome, since: version).get().changes ?? []
    }

    /// Gives a rider a task without a job, as a gateway leaves it that stops between two writes.
    fileprivate func leaveTask(_ job: String, to rider: PersonID) async throws {
        let keyspace = self.settings.liveState.keyspace
        try await self.client.run("HSET", keyspace.tasks(of: rider, in: Self.rome), job, "accepted")
        // Younger tasks may belong to an assignment in progress.
        let longAgo = (WallClock.nowMilliseconds - 120_000) * 1000
        try await self.client.run("HSET", keyspace.rider(rider, in: Self.rome), "version", "\(longAgo)")
    }

    /// The number of silent riders this gateway has found.
    fileprivate func ridersTimedOut(_ outcome: String) async throws -> Int {
        let text = try await self.manage("/metrics").text
        let line = text.split(separator: "\n").first {
            $0.hasPrefix("enroute_rider_timeouts_total{outcome=\"\(outcome)\"}")
        }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? -1
    }
}
