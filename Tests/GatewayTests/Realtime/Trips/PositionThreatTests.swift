import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Riders that report positions they should not, and what their followers see.
@Suite struct PositionThreatTests {
    private static func report(_ job: JobID, at time: Int64, accuracy: Double = 5) -> LocationReport {
        LocationReport(
            job: job, sequence: 1,
            fixes: [Fix(at: time, place: Coordinate(latitude: 41.9, longitude: 12.5)!, accuracyMeters: accuracy)])
    }

    private static func run(_ body: @escaping @Sendable (RunningGateway, JobID) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.allowManyMessages()
                // Every position is published; none replaces another.
                ($0.limits.positionsPerSecond, $0.limits.positionsBurst) = (1_000_000, 1_000_000)
            } _: { gateway in
                try await body(gateway, try await gateway.travellingJob())
            }
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `T1: followers see increasing times, whatever order positions arrive in`(seed: UInt64) async throws {
        try await Self.run { gateway, job in
            var random = SeededGenerator(seed: seed)
            let now = WallClock.nowMilliseconds
            // Some are duplicates, some too old, some too far in the future.
            let offsets = (0..<120).map { _ in Int64.random(in: -90_000...20_000, using: &random) }
            let times = (offsets + offsets.prefix(30) + [3_600_000, 60_000, -86_400_000]).map { now + $0 }
                .shuffled(using: &random)
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    for time in times { try await rider.send(.location(Self.report(job, at: time))) }
                    // From the future, so it is shown as captured when it arrived, after all others.
                    let future = WallClock.nowMilliseconds + 25_000
                    try await rider.send(.location(Self.report(job, at: future, accuracy: 6)))
                    var (last, isLast) = (Int64(0), false)
                    while !isLast {
                        let next = try await seen.location().fix
                        #expect(next.at > last)
                        #expect((now - 60_000...now + 200_000).contains(next.at))
                        (last, isLast) = (next.at, next.accuracyMeters == 6)
                    }
                }
            }
        }
    }

    @Test func `T1: an earlier position does not reappear after travel mode was off and on`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                for isActive in [true, false, true] {
                    try await rider.send(.travel(job: job, active: isActive))
                    _ = try await answers.travelAnswer()
                }
                try await rider.send(.location(Self.report(job, at: WallClock.nowMilliseconds - 61_000)))
                #expect(try await answers.refusal().code == .stalePosition)
                #expect(try await gateway.feed.read(job).get().position == nil)
            }
        }
    }

    @Test func `S2: a rider's position for another rider's job is neither sent nor stored`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    try await gateway.connect("rider-2", .rider) { thief, refusals in
                        for second in 0..<20 {
                            try await thief.send(
                                .location(Self.report(job, at: WallClock.nowMilliseconds + Int64(second))))
                            let code = try await refusals.refusal().code
                            #expect([.forbidden, .notFound, .travelModeOff].contains(code))
                        }
                    }
                    #expect(try await gateway.feed.read(job).get().position == nil)
                    let own = WallClock.nowMilliseconds
                    try await rider.send(.location(Self.report(job, at: own)))
                    // The first position to arrive is the rider's own.
                    #expect(try await seen.location().fix.at == own)
                }
            }
        }
    }
}
