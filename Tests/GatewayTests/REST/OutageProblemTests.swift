import EnrouteWire
import HTTPValues
import Jobs
import Redis
import Testing

@testable import REST

/// Which refusals stop a batch of events: those that every other event would get too.
@Suite struct OutageProblemTests {
    @Test(arguments: [
        RedisError.disconnected, .timedOut, .refused(code: "NOREPLICAS", message: "NOREPLICAS no"),
        .refused(code: "LOADING", message: "LOADING no"),
    ])
    func `a failure of Redis is an outage`(error: RedisError) {
        let problem = Problem(Refused(error))
        #expect(problem.isOutage && problem.code == .unavailable)
        #expect(Problem(Refused(Refused(error))).isOutage, "the route may convert it again")
    }

    @Test func `a job that is being changed concurrently is unavailable, but no outage`() {
        let problem = Problem(Refused.changedConcurrently)
        #expect(!problem.isOutage && problem.code == .unavailable && problem.isRetryable)
    }

    @Test func `malformed data of one job is no outage`() {
        #expect(!Problem(Refused(RedisError.refused(code: "WRONGTYPE", message: "WRONGTYPE no"))).isOutage)
        #expect(!Problem(Refused(RedisError.unexpectedAnswer(command: "HGET"))).isOutage)
    }
}
