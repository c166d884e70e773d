// Races between assigning a task to a rider and the rider going offline. One connection assigns tasks from the first rider to
// the last, the other takes riders offline from the last to the first, both as fast as they can, so that they meet somewhere.
// ENROUTE_RACES sets the number of races.

import EnrouteWire
import FoundationEssentials
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .volume)) struct AssignRaceTests {
    private static let races =
        ProcessInfo.processInfo.environment["ENROUTE_RACES"].flatMap { Int($0) } ?? 10_000
    /// Riders per round.
    private static let riders = (0..<500).map { PersonID("rider-\($0)")! }
    private static let zone = ZoneID("berlin")!
    private static let service = Riders.Requester(PersonID("service")!)

    /// The result for each rider, in the order of the riders.
    private func all<Answer: Sendable>(
        _ calls: [EventLoopFuture<Durable<Answer>>], on riders: Riders
    ) async throws -> [Answer] {
        try await EventLoopFuture.whenAllSucceed(calls, on: riders.eventLoop).get().map(\.value)
    }

    private func task(of index: Int) -> JobID { JobID("job-\(index)")! }

    @Test func `of assigning a task and going offline exactly one succeeds, each time`() async throws {
        try await withRedis { client, server in
            let second = try await RedisClient.started(at: server.address)
            defer { second.stop() }
            let settings = LiveStateSettings()
            let (giving, going) = (
                Riders(ledger: client, settings: settings), Riders(ledger: second, settings: settings)
            )
            try await self.prepare(giving)
            var (assigned, offline) = (0, 0)
            while assigned + offline < Self.races {
                let (given, gone) = try await self.race(giving, going)
                for (index, pair) in zip(given, gone).enumerated() {
                    switch pair {
                    case (.assigned, .activeTasks([self.task(of: index)])): assigned += 1
                    case (.offline, .offline): offline += 1
                    default:
                        Issue.record("rider \(index): \(pair)")
                        return
                    }
                }
                try await self.reset(given, giving)
            }
            // Either may succeed.
            #expect(assigned > 0 && offline > 0)
            let left = try await giving.read(Self.riders[0], in: Self.zone).get()
            #expect(left?.status == .online && left?.tasks == [:])
        }
    }

    @Test func `of two riders for one task exactly one gets it, and the other learns who has it`() async throws {
        try await withRedis { client, server in
            let second = try await RedisClient.started(at: server.address)
            defer { second.stop() }
            let settings = LiveStateSettings()
            let sides = [client, second].map { Riders(ledger: $0, settings: settings) }
            try await self.prepare(sides[0], capacity: 2)
            let others = Self.riders.indices.map { Self.riders[($0 + Self.riders.count / 2) % Self.riders.count] }
            async let first = self.all(
                Self.riders.enumerated().map { index, rider in
                    sides[0].assign(self.task(of: index), to: rider, in: Self.zone, by: Self.service)
                }, on: sides[0])
            async let last = self.all(
                others.enumerated().reversed().map { index, rider in
                    sides[1].assign(self.task(of: index), to: rider, in: Self.zone, by: Self.service)
                }, on: sides[1])
            for (index, pair) in zip(try await first, try await last.reversed()).enumerated() {
                switch pair {
                case (.assigned, .taken(by: Self.riders[index])), (.taken(by: others[index]), .assigned): break
                default:
                    Issue.record("task \(index): \(pair)")
                    return
                }
            }
        }
    }

    private func prepare(_ riders: Riders, capacity: Int = 1) async throws {
        for rider in Self.riders {
            _ = try await riders.describe(rider, in: Self.zone, isApproved: true, capacity: capacity, by: Self.service)
                .get()
            _ = try await riders.setOnline(rider, in: Self.zone, by: .init(rider)).get()
        }
    }

    private func race(
        _ giving: Riders, _ going: Riders
    ) async throws -> ([Riders.Assignment], [Riders.Offline]) {
        async let given = self.all(
            Self.riders.enumerated().map { index, rider in
                giving.assign(self.task(of: index), to: rider, in: Self.zone, by: Self.service)
            }, on: giving)
        async let gone = self.all(
            Self.riders.reversed().map { going.setOffline($0, in: Self.zone, by: .init($0)) }, on: going)
        return (try await given, try await gone.reversed())
    }

    /// Resets every rider to online without a task; that this succeeds as recorded confirms the results.
    private func reset(_ given: [Riders.Assignment], _ riders: Riders) async throws {
        var releases: [EventLoopFuture<Durable<Riders.Release>>] = []
        var returns: [EventLoopFuture<Durable<Riders.Online>>] = []
        for (index, rider) in Self.riders.enumerated() {
            if case .assigned = given[index] {
                let job = self.task(of: index)
                releases.append(riders.release(job, of: rider, in: Self.zone, because: .completed, by: Self.service))
            } else {
                returns.append(riders.setOnline(rider, in: Self.zone, by: .init(rider)))
            }
        }
        for answer in try await self.all(releases, on: riders) {
            guard case .released = answer else {
                Issue.record("the task did not exist: \(answer)")
                return
            }
        }
        for answer in try await self.all(returns, on: riders) {
            guard case .online = answer else {
                Issue.record("the rider was not offline: \(answer)")
                return
            }
        }
    }
}
