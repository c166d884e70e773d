import Testing
import Webhooks

@Suite struct EndpointHealthTests {
    private static let interval = EndpointHealth.reportInterval

    @Test func `an endpoint fails after five failures in a row, and works after one success`() {
        var health = EndpointHealth(failingSince: nil)
        for number in 1...5 {
            #expect(!health.isFailing)
            let report = health.failed(at: Int64(number), reason: "\(number)")
            #expect(report == (number == 1 ? .fails(since: 1, reason: "1", isNews: true) : .nothing))
        }
        #expect(health.isFailing && health.failingSince == 1)
        let later = 1 + Self.interval
        let report = health.succeeded(at: later)
        #expect(report == .works(deliveredAt: later, isNews: true))
        #expect(!health.isFailing && health.failingSince == nil)
        let again = health.succeeded(at: later + 1)
        #expect(again == .nothing)
    }

    @Test func `changes of an endpoint with intermittent failures are logged at most once in an interval, alternately`()
    {
        var health = EndpointHealth(failingSince: nil)
        var (stored, logged): (Int, [Bool]) = (0, [])
        for now in 0..<(3 * Self.interval) {
            let attempt = now % 3 == 0 ? health.failed(at: now, reason: "503") : health.succeeded(at: now)
            for report in [attempt, health.overdue(at: now)] where report != .nothing {
                stored += 1
                if case .fails(_, _, isNews: true) = report { logged.append(true) }
                if case .works(_, isNews: true) = report { logged.append(false) }
            }
        }
        #expect(logged == [true, false, true])
        #expect(stored <= 6)
    }

    @Test func `a recovery is reported only when the failure was, and later without another attempt`() {
        var health = EndpointHealth(failingSince: nil)
        _ = health.failed(at: 0, reason: "503")
        let tooEarly = [health.succeeded(at: 5), health.overdue(at: Self.interval - 1)]
        #expect(tooEarly == [.nothing, .nothing])
        #expect(health.unreported == .works(deliveredAt: 5, isNews: false))
        let due = health.overdue(at: Self.interval)
        #expect(due == .works(deliveredAt: 5, isNews: true))
        #expect(health.unreported == .nothing && health.overdue(at: 2 * Self.interval) == .nothing)
        // This failure is over before it may be reported.
        let short = [health.failed(at: Self.interval + 1, reason: "503"), health.succeeded(at: 2 * Self.interval)]
        #expect(short == [.nothing, .works(deliveredAt: 2 * Self.interval, isNews: false)])
    }

    @Test func `a failure is reported at once while successes are stored every interval`() {
        var health = EndpointHealth(failingSince: nil)
        let first = health.succeeded(at: 50_000)
        #expect(first == .works(deliveredAt: 50_000, isNews: false))
        let failure = health.failed(at: 50_001, reason: "503")
        #expect(failure == .fails(since: 50_001, reason: "503", isNews: true))
        // Repeated failures are stored, but not logged.
        let repeated = health.failed(at: 50_001 + Self.interval, reason: "500")
        #expect(repeated == .fails(since: 50_001, reason: "500", isNews: false))
    }

    @Test func `a clock that is set back does not delay a report`() {
        var health = EndpointHealth(failingSince: nil)
        _ = health.failed(at: 3_600_000, reason: "503")
        let report = health.succeeded(at: 1_000)
        #expect(report == .works(deliveredAt: 1_000, isNews: true))
    }

    @Test func `an endpoint that was failing when a gateway took over still is`() {
        let health = EndpointHealth(failingSince: 1_000)
        #expect(health.isFailing)
        #expect(!health.isHopeless(at: 432_000_999, limit: .seconds(432_000)))
        #expect(health.isHopeless(at: 432_001_000, limit: .seconds(432_000)))
        #expect(!EndpointHealth(failingSince: nil).isHopeless(at: .max, limit: .zero))
        var successor = health
        let report = successor.succeeded(at: 2_000)
        #expect(report == .works(deliveredAt: 2_000, isNews: true))
    }

    @Test func `failures with a long break between them do not add up`() {
        var health = EndpointHealth(failingSince: nil, longestBreak: .seconds(100))
        for now in [0, 100_000, 200_000] as [Int64] { _ = health.failed(at: now, reason: "503") }
        #expect(health.failingSince == 0 && health.isHopeless(at: 200_000, limit: .seconds(200)))
        // The endpoint got no events meanwhile.
        let report = health.failed(at: 300_001, reason: "502")
        #expect(report == .fails(since: 300_001, reason: "502", isNews: false))
        #expect(!health.isHopeless(at: 300_001, limit: .seconds(200)))
        _ = health.failed(at: 400_001, reason: "502")
        #expect(health.failingSince == 300_001 && health.isHopeless(at: 500_001, limit: .seconds(200)))
    }

    @Test(arguments: [(2_000, 1_000), (1_999, 102_000), (nil, 1_000)] as [(Int64?, Int64)])
    func `the break before the first failure of a new gateway counts, if it is known`(
        failedAt: Int64?, failingSince: Int64
    ) {
        var health = EndpointHealth(failingSince: 1_000, failedAt: failedAt, longestBreak: .seconds(100))
        _ = health.failed(at: 102_000, reason: "503")
        #expect(health.failingSince == failingSince)
    }

    @Test func `with the usual settings, 38 hours without a request end a disruption`() {
        #expect(WebhookSettings.usual.longestBreak == .seconds(38 * 3_600))
    }

    @Test func `retries follow the schedule, and end`() {
        let delays = (1...8).map { RetrySchedule.usual.delay(afterFailures: $0)?.components.seconds }
        #expect(delays == [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, nil])
        #expect(RetrySchedule.usual.delay(afterFailures: 0) == nil)
    }
}
