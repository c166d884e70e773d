import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing
import Tracking

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Recorded trips, replayed through a running gateway in less time than they took. Silences last as long as the gateway's
/// `freshness`; everything in between is sent without a pause. SimulatedSilenceTests covers what is exact to the second.
@Suite(.needsMachine(for: .faults)) struct RecordedShapeTests {
    /// ms; longer silences are stale (US-072: 30 s).
    private static let stale: Int64 = 30_000

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void,
        _ body: @escaping @Sendable (RunningGateway, JobID) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
                settings.validation.oldestMilliseconds = 86_400_000
                change(&settings)
            } _: { gateway in
                try await body(gateway, try await gateway.travellingJob())
            }
        }
    }

    // MARK: silences

    private struct Silences {
        /// The number of `stale` notifications that were followed by `live`.
        var stale = 0
        var back = 0
        /// The number of `stale` notifications for silences of at most 30 s in the recording, which were longer in the test
        /// because the machine was slow.
        var excused = 0
        /// The short silence took less time than `freshness`.
        var isShortKept = true
    }

    /// Replays a trip. Silences of over 30 s last until the customer is notified; one of 20 to 30 s lasts proportionally.
    private static func silences(
        _ gateway: RunningGateway, _ job: JobID, _ fixes: [Fix], keepsShort: Bool = false
    ) async throws -> Silences {
        let (clock, freshness) = (ContinuousClock(), gateway.settings.freshness)
        return try await gateway.connect("anna", .customer) { customer, seen in
            try await customer.send(.subscribe(job: job, since: nil))
            _ = try await seen.subscribed()
            return try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                var (silences, isStale) = (Silences(), false)
                func note(_ message: ServerMessage) {
                    guard case .tracking(_, let state, _) = message else { return }
                    if state == .live, isStale { silences.back += 1 }
                    if state == .stale { silences.stale += 1 }
                    isStale = state == .stale
                }
                var last: (at: Int64, sent: ContinuousClock.Instant)?
                var trip = TripState(bounds: gateway.settings.validation)
                for (index, fix) in fixes.enumerated() {
                    let validated = trip.validate(
                        [fix], received: .init(monotonic: UInt64(fix.at) * 1_000_000, wall: WallClock.nowMilliseconds))
                    guard case .publish = validated.verdict else { continue }
                    let silence = last.map { fix.at - $0.at } ?? 0
                    let isShort = keepsShort && silence > 20_000 && silence <= Self.stale
                    if silence > Self.stale {
                        _ = try await seen.first { message -> Bool? in
                            note(message)
                            return isStale ? true : nil
                        }
                    } else if isShort, let last {
                        let end = last.sent + freshness * Double(silence) / Double(Self.stale)
                        try await becomes("the location is available again", every: .milliseconds(5)) {
                            clock.now >= end
                        }
                    }
                    let (before, sent) = (silences.stale, clock.now)
                    try await rider.send(.location(LocationReport(job: job, sequence: Int64(index), fixes: [fix])))
                    _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                    _ = try await seen.first { message -> Bool? in
                        note(message)
                        if case .location(let location) = message, location.fix.at == fix.at { return true }
                        return nil
                    }
                    if let last, silence <= Self.stale, clock.now - last.sent >= freshness {
                        silences.excused += silences.stale - before
                        if isShort { silences.isShortKept = false }
                    }
                    last = (fix.at, sent)
                }
                try await rider.send(.travel(job: job, active: false))
                _ = try await seen.first { message -> Bool? in
                    if case .tracking(_, .paused, _) = message { return true }
                    note(message)
                    return nil
                }
                return silences
            }
        }
    }

    @Test(arguments: TripShape.origins)
    func `US-072 AC-005: a trip with seven long silences is stale seven times, and live again`(origin: TripShape.Origin)
        async throws
    {
        try await Self.run {
            $0.freshness = .seconds(1)
        } _: { gateway, job in
            let fixes = try TripShape.sevenSilences.fixes(origin).endedJustNow
            let silences = try await Self.silences(gateway, job, fixes)
            #expect(silences.stale - silences.excused == 7 && silences.back == silences.stale, "\(silences)")
        }
    }

    @Test(arguments: TripShape.origins)
    func `US-072 AC-005: a trip with a silence of 25 s is never stale`(origin: TripShape.Origin) async throws {
        try await Self.run {
            $0.freshness = .seconds(3)
        } _: { gateway, job in
            // The silence and the fixes around it.
            let all = try TripShape.shortSilence.fixes(origin)
            let silence = try #require(all.indices.dropFirst().first { all[$0].at - all[$0 - 1].at > 20_000 })
            let around = Array(all[(silence - 50)..<min(all.count, silence + 50)])
            #expect(around[50].at - around[49].at == 25_000)
            // If the machine stalls during the silence, the silence is too long. Then the trip is repeated.
            for attempt in 0... {
                let job = attempt == 0 ? job : try await gateway.travellingJob("again-\(attempt)")
                let silences = try await Self.silences(gateway, job, around.endedJustNow, keepsShort: true)
                #expect(silences.stale == silences.excused, "\(silences)")
                if silences.isShortKept { break }
            }
        }
    }

    // MARK: validation

    private struct ReplayedTrip {
        var sent: [Fix]
        /// The fixes that followers should be shown, in order.
        var accepted: [Fix] = []
        var counts: [String: Int] = [:]
    }

    /// Replays a trip as if it had just ended.
    private static func travel(_ gateway: RunningGateway, _ job: JobID, _ fixes: [Fix]) async throws -> ReplayedTrip {
        var trip = ReplayedTrip(sent: fixes.endedJustNow)
        try await gateway.connect("rider-1", .rider) { rider, answers in
            try await rider.send(.travel(job: job, active: true))
            _ = try await answers.travelAnswer()
            for (index, fix) in trip.sent.enumerated() {
                try await rider.send(.location(LocationReport(job: job, sequence: Int64(index), fixes: [fix])))
                _ = try await answers.first { message -> Bool? in
                    switch message {
                    case .ok("location", _, Int64(index), _, _): return true
                    // The second answer to an earlier report that was held. If it counted as this report's answer, all later
                    // answers would be checked before their positions are shown.
                    case .error(let refusal) where refusal.reason == FixRefusal.implausibleSpeed.rawValue: return nil
                    case .error: return true
                    default: return nil
                    }
                }
                let position = try await gateway.feed.read(job).get().position
                let shown = try position.map { try $0.withUnsafeBytes { try ServerMessage($0) } }
                if case .location(let location)? = shown, location.fix.at != trip.accepted.last?.at {
                    trip.accepted.append(location.fix)
                }
            }
        }
        let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
        // A fix that was held and then refuted counts twice.
        func isAllCounted() -> Bool {
            let all = trip.counts.values.reduce(0, +) - trip.counts["implausible_speed", default: 0]
            return all >= trip.sent.count
        }
        while !isAllCounted() { trip.counts = try await notes.read(job).get().counts }
        return trip
    }

    @Test(arguments: TripShape.origins)
    func `US-072: of a trip with jumps, followers see every position but the jumps`(origin: TripShape.Origin)
        async throws
    {
        try await Self.run { _ in
        } _: { gateway, job in
            let trip = try await Self.travel(gateway, job, try TripShape.jumps.fixes(origin))
            let speeds = zip(trip.accepted.dropFirst(), trip.accepted).map { $0.metersPerSecond(since: $1) }
            #expect((speeds.max() ?? .infinity) <= 60.01)
            #expect(trip.counts["accepted"] == trip.accepted.count)
            #expect(trip.counts["held", default: 0] > 0 && trip.accepted.count > trip.sent.count - 10)
            if origin == .made {
                let jumped = Set(TripShape.jumpingReadings.map { trip.sent[$0].at })
                #expect(trip.accepted.allSatisfy { !jumped.contains($0.at) })
            }
        }
    }

    @Test(arguments: TripShape.origins)
    func `US-072: of a trip without jumps, followers see every position`(origin: TripShape.Origin) async throws {
        try await Self.run { _ in
        } _: { gateway, job in
            let trip = try await Self.travel(gateway, job, try TripShape.clean.fixes(origin))
            #expect(trip.accepted.map(\.at) == trip.sent.map(\.at))
            #expect(trip.counts == ["accepted": trip.sent.count])
        }
    }
}
