import EnrouteWire
import Redis
import TestSupport
import Testing

@testable import LiveState

/// Which device reports, as publish_location decides it.
@Suite struct JobFeedReporterTests {
    /// The device in the entry, the device in question, the ms since the last position, and the expected answer.
    @Test(arguments: [
        ("phone", "phone", 0, true), ("phone", "tablet", 3_600_000, false), ("phone", "~a", 3_600_000, false),
        ("~a", "phone", 3_600_000, false), ("~a", "~b", 29_000, false), ("~a", "~b", 31_000, true),
        ("~rest", "~b", 4_000, false), ("~rest", "~b", 6_000, true), ("", "~b", 0, true), ("", "phone", 0, true),
    ])
    func `a device without a name may replace another one that is silent`(
        stored: String, asking: String, silence: Int64, answer: Bool
    ) async throws {
        try await Stage.set { stage in
            let (now, reporter) = (try await stage.now(), try #require(Reporter(stored: asking)))
            _ = try await stage.feed.open(
                Stage.job, for: Stage.rider, on: Reporter(stored: stored), until: now + 60_000, fence: 1
            ).get()
            let fix = #""lat":41.9,"lon":12.5,"acc":5"#
            try await stage.client.run(
                "SET", stage.positionKey,
                #"{"type":"location","id":"\#(now * 1000)","at":\#(now),"job":"\#(Stage.job)","received":\#(now),\#(fix)}"#
            )
            let state = try await stage.feed.state(of: reporter, for: Stage.job, now: now + silence).get()
            #expect(state == ReporterState(isReporter: answer, positionAt: now))
            // A device without a stored position counts as silent.
            try await stage.client.run("DEL", stage.positionKey)
            let free = try await stage.feed.state(of: reporter, for: Stage.job, now: now).get()
            #expect(free.isReporter == (answer || stored.hasPrefix("~") && asking.hasPrefix("~")))
            #expect(free.positionAt == nil)
        }
    }
}
