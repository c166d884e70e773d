import EnrouteClient
import EnrouteWire
import Foundation
import Journeys
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Recorded trips, sent to a running gateway without a pause, as if they had just ended, and what their followers would have
/// seen.
@Suite struct RecordedVerdictTests {
    private static let folder = Checkout.root.appending(path: "../shared/data/trips").standardized
    static let isThere = FileManager.default.fileExists(atPath: Self.folder.path)

    /// The maximum number of fixes of a trip; the jumps are among them.
    private static let most = 700

    private static func fixes(_ name: String) throws -> [EnrouteWire.Fix] {
        let recorded = try Journey.load(path: Self.folder.appending(path: "\(name).gpx.gz").path).fixes
        let shift = WallClock.nowMilliseconds - (recorded.last?.at ?? 0) - 1000
        var last: Int64 = 0
        return recorded.compactMap { fix in
            guard let place = Coordinate(latitude: fix.latitude, longitude: fix.longitude), fix.at > last else {
                return nil
            }
            last = fix.at
            return EnrouteWire.Fix(
                at: fix.at + shift, place: place, accuracyMeters: fix.accuracyMeters.map { min($0, 10_000) },
                speedMetersPerSecond: fix.speedMetersPerSecond.map { min($0, 340) })
        }
    }

    /// The speed implied by two fixes in m/s. Fixes less than a second apart are jitter.
    private static func speed(_ a: EnrouteWire.Fix, _ b: EnrouteWire.Fix) -> Double {
        let north = (b.place.latitude - a.place.latitude) * 111_195
        let east = (b.place.longitude - a.place.longitude) * 111_195 * cos(a.place.latitude * .pi / 180)
        return (north * north + east * east).squareRoot() / max(1, Double(b.at - a.at) / 1000)
    }

    /// What a follower of the whole trip receives, and the verdicts on its fixes.
    private static func travel(_ name: String) async throws -> (shown: [EnrouteWire.Fix], counts: [String: Int]) {
        try await within {
            let (results, result) = AsyncStream.makeStream(of: ([EnrouteWire.Fix], [String: Int]).self)
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
                settings.validation.oldestMilliseconds = 86_400_000
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let fixes = try Self.fixes(name).prefix(Self.most)
                let sent = fixes.count
                var shown: [EnrouteWire.Fix] = []
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: job, since: nil))
                    _ = try await seen.subscribed()
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        _ = try await answers.travelAnswer()
                        for (index, fix) in fixes.enumerated() {
                            try await rider.send(
                                .location(LocationReport(job: job, sequence: Int64(index), fixes: [fix])))
                            // Waits for each answer before the next report, so each position is shown separately.
                            _ = try await answers.first { message -> Bool? in
                                switch message {
                                case .ok("location", _, _, _, _): true
                                // The answer to an earlier fix that was held.
                                case .error(let refusal) where refusal.reason == "implausible_speed": nil
                                case .error: true
                                default: nil
                                }
                            }
                        }
                        try await rider.send(.travel(job: job, active: false))
                        _ = try await seen.first { message -> Bool? in
                            if case .location(let location) = message { shown.append(location.fix) }
                            if case .tracking(_, .paused, _) = message { return true }
                            return nil
                        }
                    }
                }
                let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
                var counts = try await notes.read(job).get().counts
                // The remaining verdicts are counted when the session ends.
                while counts.values.reduce(0, +) < sent { counts = try await notes.read(job).get().counts }
                result.yield((shown, counts))
            }
            var iterator = results.makeAsyncIterator()
            guard let outcome = await iterator.next() else { throw Missing() }
            return (shown: outcome.0, counts: outcome.1)
        }
    }

    @Test(.enabled(if: Self.isThere, "../shared/data is not there"))
    func `US-072: followers see no jump of a trip with jumps, and every position of a trip without`() async throws {
        let jumps = try await Self.travel("moscow-jumps")
        #expect(zip(jumps.shown, jumps.shown.dropFirst()).allSatisfy { Self.speed($0, $1) <= 60.5 })
        #expect(!jumps.shown.isEmpty && jumps.counts["held", default: 0] > 0)
        let clean = try await Self.travel("rome-clean-1hz")
        // A follower that reads slowly receives fewer positions: the newest of those queued.
        #expect(!clean.shown.isEmpty && clean.counts == ["accepted": Self.most])
    }
}
