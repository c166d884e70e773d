import EnrouteWire
import Testing

@testable import enroute

/// B19: when a rider may report next.
@Suite struct ReportPaceTests {
    private static let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

    @Test func `B19: the first report goes at once, and the next no sooner than the gateway publishes`() {
        var pace = ReportPace(heedsRate: true)
        #expect(pace.wait(at: self.at(0), isLast: false) == .zero)
        var limits = Limits()
        limits.positionsPerSecond = 4
        pace.heard(limits)
        pace.reported(at: self.at(0))
        #expect(pace.wait(at: self.at(100), isLast: false) == .milliseconds(150))
        #expect(pace.wait(at: self.at(250), isLast: false) == .zero)
    }

    @Test func `B19: the interval that was asked for is kept, but for the end of the trip`() {
        var (heedful, other) = (ReportPace(heedsRate: true), ReportPace(heedsRate: false))
        for seconds in [20, .infinity, .nan, -1] {
            heedful.asked(seconds: seconds)
            other.asked(seconds: seconds)
        }
        heedful.reported(at: self.at(0))
        other.reported(at: self.at(0))
        #expect(heedful.wait(at: self.at(500), isLast: false) == .milliseconds(19_500))
        #expect(heedful.wait(at: self.at(500), isLast: true) == .zero)
        #expect(other.wait(at: self.at(500), isLast: false) == .zero)
        heedful.asked(seconds: 1e300)
        #expect(heedful.wait(at: self.at(0), isLast: false) == .seconds(60))
    }

    @Test func `B19: a message lost to a limit is not followed by another before the time it names`() {
        var pace = ReportPace(heedsRate: true)
        pace.refused(retryInMilliseconds: 700, at: self.at(0))
        #expect(pace.wait(at: self.at(100), isLast: true) == .milliseconds(600))
        pace.refused(retryInMilliseconds: .max, at: self.at(0))
        #expect(pace.wait(at: self.at(0), isLast: true) == .seconds(60))
        pace.refused(retryInMilliseconds: nil, at: self.at(60_000))
        #expect(pace.wait(at: self.at(60_000), isLast: true) == .seconds(1))
    }
}
