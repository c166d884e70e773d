import EnrouteWire
import NIOCore
import Testing

@testable import Gateway
@testable import Realtime
@testable import TrafficControl

/// Recordings of up to five hours, exact to the millisecond. They pass through the values that decide in a gateway, with a
/// clock controlled by the test. RecordedShapeTests passes them through a running gateway.
@Suite struct SimulatedSilenceTests {
    private static let job = JobID("job-1")!

    /// How often followers are notified that positions are stale, and that they are live again.
    private static func changes(_ fixes: [Fix]) -> [String: Int] {
        var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
        let (start, first) = (now, fixes[0].at)
        let deadlines = Deadlines(now: start)
        let watch = FreshnessTracker(deadlines: deadlines, freshness: .seconds(30)) { now }
        var (trip, notified) = (TripState(bounds: .init()), [String: Int]())
        watch.onStale = { _ in notified["stale", default: 0] += 1 }
        for fix in fixes {
            let taken = start + .milliseconds(fix.at - first)
            while now + Deadlines.tick < taken {
                now = now + Deadlines.tick
                deadlines.advance(to: now)
            }
            now = taken
            let validated = trip.validate([fix], received: .init(monotonic: now.uptimeNanoseconds, wall: fix.at))
            guard case .publish = validated.verdict else { continue }
            let before = watch.state(of: Self.job)
            watch.positionReceived(Self.job)
            if before == .stale, watch.state(of: Self.job) == .live { notified["live", default: 0] += 1 }
        }
        return notified
    }

    /// The trip shapes, and how often each becomes stale and live again.
    private static let shapes: [(TripShape, recorded: Int, made: Int)] = [
        (.sevenSilences, 7, 7), (.shortSilence, 0, 0), (.clean, 0, 0), (.jumps, 0, 0), (.overFourHours, 2, 0),
    ]

    @Test(arguments: TripShape.origins, Self.shapes.indices)
    func `US-072 AC-005: a trip is stale after each silence of more than 30 s only, and live again after it`(
        origin: TripShape.Origin, index: Int
    ) throws {
        let (shape, recorded, made) = Self.shapes[index]
        let notified = Self.changes(try shape.fixes(origin))
        let times = origin == .recorded ? recorded : made
        #expect(notified == (times == 0 ? [:] : ["stale": times, "live": times]), "\(shape)")
    }

    @Test func `US-072 AC-005: a position is not stale after 30 s, and is stale one tick later`() throws {
        let fixes = try TripShape.clean.fixes(.made)
        func fixesAroundSilence(_ milliseconds: Int64) -> [Fix] {
            var late = fixes[101]
            late.at = fixes[100].at + milliseconds
            return Array(fixes[...100]) + [late]
        }
        #expect(Self.changes(fixesAroundSilence(30_000)) == [:])
        #expect(Self.changes(fixesAroundSilence(30_101)) == ["stale": 1, "live": 1])
    }
}
