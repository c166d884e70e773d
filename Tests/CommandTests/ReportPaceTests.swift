import EnrouteWire
import Testing

@testable import enroute

/// B19: when a rider may send its next report.
@Suite struct ReportPaceTests {
    private static let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

    @Test func `B19: the first report is immediate, and the next waits as long as the gateway needs to publish`() {
        var pace = ReportPace(followsRequestedRate: true)
        #expect(pace.wait(at: self.at(0), isLast: false) == .zero)
        var limits = Limits()
        limits.positionsPerSecond = 4
        pace.received(limits)
        pace.reported(at: self.at(0))
        #expect(pace.wait(at: self.at(100), isLast: false) == .milliseconds(150))
        #expect(pace.wait(at: self.at(250), isLast: false) == .zero)
    }

    @Test func `B19: reports follow the requested interval, except at the end of the trip`() {
        var (following, other) = (ReportPace(followsRequestedRate: true), ReportPace(followsRequestedRate: false))
        for seconds in [20, .infinity, .nan, -1] {
            following.requested(seconds: seconds)
            other.requested(seconds: seconds)
        }
        following.reported(at: self.at(0))
        other.reported(at: self.at(0))
        #expect(following.wait(at: self.at(500), isLast: false) == .milliseconds(19_500))
        #expect(following.wait(at: self.at(500), isLast: true) == .zero)
        #expect(other.wait(at: self.at(500), isLast: false) == .zero)
        following.requested(seconds: 1e300)
        #expect(following.wait(at: self.at(0), isLast: false) == .seconds(60))
    }

    @Test func `B19: after a rate limit the next report waits for the delay in the refusal`() {
        var pace = ReportPace(followsRequestedRate: true)
        pace.refused(retryInMilliseconds: 700, at: self.at(0))
        #expect(pace.wait(at: self.at(100), isLast: true) == .milliseconds(600))
        pace.refused(retryInMilliseconds: .max, at: self.at(0))
        #expect(pace.wait(at: self.at(0), isLast: true) == .seconds(60))
        pace.refused(retryInMilliseconds: nil, at: self.at(60_000))
        #expect(pace.wait(at: self.at(60_000), isLast: true) == .seconds(1))
    }
}
