import Testing

@testable import Jobs

/// Times in explanations.
@Suite struct ExplainedTimeTests {
    /// 2026-11-21 17:30:17 UTC
    private static let now: Int64 = 1_795_282_217_000
    private static let time = ExplainedTime(now: Self.now)

    @Test func `a moment has the time of day and the distance`() {
        #expect(Self.time.moment(Self.now - 90_000) == "17:28:47 (90 s ago)")
        #expect(Self.time.moment(Self.now + 3_600_000) == "18:30:17 (in 60 min)")
        #expect(Self.time.today == "2026-11-21 17:30:17 UTC")
    }

    @Test func `a moment of another day has its date, across a leap day and before 1970 too`() {
        #expect(Self.time.clock(Self.now - 86_400_000) == "2026-11-20 17:30:17")
        #expect(ExplainedTime(now: 0).clock(951_782_400_000) == "2000-02-29 00:00:00")
        #expect(ExplainedTime(now: 0).clock(-1000) == "1969-12-31 23:59:59")
    }

    @Test(
        arguments: [
            (0, "0 s"), (119_999, "119 s"), (120_000, "2 min"), (7_199_000, "119 min"), (7_200_000, "2 h 0 min"),
            (172_800_000, "2 days"), (-5, "0 s"),
        ] as [(Int64, String)])
    func `a span has a unit that fits`(milliseconds: Int64, text: String) {
        #expect(ExplainedTime.span(milliseconds) == text)
    }

    @Test(arguments: [Int64.min, .max, -1, 0]) func `no time traps`(time: Int64) {
        #expect(!Self.time.moment(time).isEmpty)
        #expect(!ExplainedTime(now: time).moment(Self.now).isEmpty)
        #expect(!ExplainedTime(now: time).moment(.min).isEmpty)
    }
}
