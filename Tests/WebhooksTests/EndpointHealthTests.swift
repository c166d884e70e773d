import Testing
import Webhooks

@Suite struct EndpointHealthTests {
    @Test func `an endpoint fails after five failures in a row, and works after one success`() {
        var health = EndpointHealth(failingSince: nil)
        for number in 1...5 {
            #expect(!health.isFailing)
            let isNews = health.failed(at: Int64(number))
            #expect(isNews == (number == 1))
        }
        #expect(health.isFailing && health.failingSince == 1)
        let isNews = health.succeeded(at: 6)
        #expect(isNews)
        #expect(!health.isFailing && health.failingSince == nil)
        let isNewsAgain = health.succeeded(at: 7)
        #expect(!isNewsAgain)
    }

    @Test func `an endpoint that was failing when a gateway took over still is`() {
        let health = EndpointHealth(failingSince: 1_000)
        #expect(health.isFailing)
        #expect(!health.isHopeless(at: 432_000_999, limit: .seconds(432_000)))
        #expect(health.isHopeless(at: 432_001_000, limit: .seconds(432_000)))
        #expect(!EndpointHealth(failingSince: nil).isHopeless(at: .max, limit: .zero))
    }

    @Test func `retries follow the schedule, and end`() {
        let delays = (1...8).map { RetrySchedule.usual.delay(afterFailures: $0)?.components.seconds }
        #expect(delays == [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, nil])
        #expect(RetrySchedule.usual.delay(afterFailures: 0) == nil)
    }
}
