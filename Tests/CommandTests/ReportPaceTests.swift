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

    @Test(arguments: [(1, 1050), (2, 525), (20, 500), (100_000, 500)])
    func `reports are not faster than messages are accepted, with a margin of 5 %`(perSecond: Int, interval: Int) {
        var pace = ReportPace(followsRequestedRate: false)
        var limits = Limits()
        (limits.messagesPerSecond, limits.positionsPerSecond) = (perSecond, 2)
        pace.received(limits)
        pace.reported(at: self.at(0))
        #expect(pace.wait(at: self.at(0), isLast: true) == .milliseconds(interval))
        #expect(pace.wait(at: self.at(interval), isLast: true) == .zero)
    }

    @Test func `other messages count as sent, and wait for those before them`() {
        var pace = ReportPace(followsRequestedRate: true)
        var limits = Limits()
        limits.messagesPerSecond = 1
        // Nothing was sent yet.
        pace.received(limits)
        #expect(pace.wait(at: self.at(0)) == .zero)
        pace.sent(at: self.at(0))
        #expect(pace.wait(at: self.at(50), isLast: true) == .milliseconds(1000))
        pace.reported(at: self.at(1050))
        #expect(pace.wait(at: self.at(1050)) == .milliseconds(1050))
        // The requested interval is one of reports only.
        pace.requested(seconds: 20)
        #expect(pace.wait(at: self.at(2100)) == .zero)
        #expect(pace.wait(at: self.at(2100), isLast: false) == .milliseconds(18_950))
        pace.refused(retryInMilliseconds: 5_000, at: self.at(2100))
        #expect(pace.wait(at: self.at(2100)) == .milliseconds(5_000))
    }

    @Test func `a token bucket of one message a second refuses no message of a trip`() {
        var pace = ReportPace(followsRequestedRate: false)
        var limits = Limits()
        (limits.messagesPerSecond, limits.positionsPerSecond) = (1, 1000)
        pace.received(limits)
        var (now, sent) = (0, [0])
        pace.sent(at: self.at(0))
        while sent.count < 100 {
            now += 1
            guard pace.wait(at: self.at(now), isLast: false) == .zero else { continue }
            if sent.count.isMultiple(of: 7) { pace.sent(at: self.at(now)) } else { pace.reported(at: self.at(now)) }
            sent.append(now)
        }
        // Each message is up to 50 ms late, and the next one is not.
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $1 - ($0 + 50) >= 1000 })
    }
}
