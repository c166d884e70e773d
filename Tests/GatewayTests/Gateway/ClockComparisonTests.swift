import LiveState
import NIOCore
import Telemetry
import Testing

@testable import Gateway

/// The reports about a clock that goes wrong while a gateway runs.
struct ClockComparisonTests {
    private static func reading(_ seconds: Int64) -> ClockReading {
        ClockReading(roundTrip: .zero, aheadMicroseconds: seconds * 1_000_000)
    }

    @Test func `each change of the severity is reported once, and a value near a limit does not flap`() {
        var difference = ClockDifference()
        let seconds = [0, 0.9, 1, 5, -5, 0.9, 29.9, 30, 29, -300, 5, 0.5, 0]
        let reported = seconds.map { difference.observe($0) }
        #expect(
            reported == [
                nil, nil, .noticeable, nil, nil, nil, nil, .refusing, nil, nil, .noticeable,
                ClockDifference.Severity.none, nil,
            ])
    }

    @Test
    func `a clock that was stepped is logged as an error of this machine's clock, and so is its correction`() {
        let lines = RecordedLines()
        let clocks = ClockComparison(addresses: [.live: "a:1", .ledger: "b:1"], logger: lines.logger)
        for seconds in [0, 300, 300, 2, 0] as [Int64] { clocks.observe(Self.reading(seconds), of: .live) }
        #expect(lines.all.map(\.level) == [.error, .warning, .notice])
        #expect(
            lines.all.map(\.message) == [
                "clock differs from redis", "clock differs from redis",
                "clock matches redis again",
            ])
        let metadata = lines.all[0].metadata
        #expect(metadata["role"] == "live" && metadata["redis"] == "a:1" && metadata["seconds"] == "300.0")
        #expect("\(metadata["reason"] ?? "")".hasPrefix("this machine's clock is 300.0 s ahead of that of Redis"))
    }

    @Test func `the gauge has a sample for each Redis that answers`() {
        let clocks = ClockComparison(addresses: [:], logger: RecordedLines().logger)
        #expect(!clocks.text.contains("role="))
        clocks.observe(Self.reading(-300), of: .live)
        clocks.observe(Self.reading(0), of: .ledger)
        #expect(clocks.text.contains(#"enroute_clock_offset_seconds{role="live"} -300.0"#))
        #expect(clocks.text.contains(#"enroute_clock_offset_seconds{role="ledger"} 0.0"#))
        clocks.observe(nil, of: .live)
        #expect(!clocks.text.contains(#"role="live""#) && clocks.text.contains(#"role="ledger""#))
    }
}

extension ClockComparison {
    fileprivate var text: String { Exposition.text(Counts(), [self.gauge]) }
}
