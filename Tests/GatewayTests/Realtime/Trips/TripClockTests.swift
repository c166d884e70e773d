import EnrouteWire
import Testing
import Tracking

@testable import Realtime

@Suite struct TripClockTests {
    private static let start: Int64 = 1_795_000_000_000

    /// Reports a fix each second from a phone whose clock is behind.
    private static func report(_ seconds: Range<Int64>, behind: Int64) -> [ValidatedReport] {
        var trip = TripState(bounds: .init())
        return seconds.map { second in
            let received = Self.start + second * 1000 + 100
            let fix = Fix(
                at: Self.start + second * 1000 - behind, place: Coordinate(latitude: 41.9, longitude: 12.5)!,
                speedMetersPerSecond: 340)
            return trip.validate([fix], received: .init(monotonic: UInt64(received) * 1_000_000, wall: received))
        }
    }

    @Test(arguments: [-60_000, -31_000, 60_000, 75_000] as [Int64])
    func `published fixes have the time of the gateway, and the correction is reported once`(behind: Int64) {
        let reports = Self.report(0..<30, behind: behind)
        let published = reports.compactMap { report -> Fix? in
            if case .publish(let fix) = report.verdict { return fix }
            return nil
        }
        #expect(published.count >= 28)
        #expect(published.last?.at == Self.start + 29_100)
        #expect(published.dropFirst().allSatisfy { $0.speedMetersPerSecond ?? 0 < 20 })
        #expect(reports.compactMap(\.clockCorrection) == [behind + 100])
    }

    @Test func `a clock that cannot be corrected is refused for this reason, with a text for the rider`() {
        let reports = Self.report(0..<30, behind: 3_600_000)
        #expect(reports.last?.verdict == .refused(.clock) && reports.allSatisfy { $0.clockCorrection == nil })
        #expect(FixRefusal.clock.code == .implausiblePosition && FixRefusal.clock.message.contains("10 minutes"))
        #expect(ClockSkew.notice(ofCorrection: -60_000).contains("60 s ahead"))
        #expect(ClockSkew.notice(ofCorrection: 25_400).contains("25 s behind"))
    }
}
