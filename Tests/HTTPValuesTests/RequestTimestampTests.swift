import Foundation
import Testing

@testable import HTTPValues

@Suite struct RequestTimestampTests {
    @Test(arguments: [
        ("2026-11-21T17:45:00Z", 1_795_283_100_000), ("2026-11-21t18:45:00.25+01:00", 1_795_283_100_250),
        ("2026-11-21 12:15:00.123999-05:30", 1_795_283_100_123), ("2024-02-29T00:00:00z", 1_709_164_800_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000), ("2001-09-09T01:46:40Z", 1_000_000_000_000),
    ])
    func `an RFC 3339 time is converted to ms since the Unix epoch`(text: String, milliseconds: Int64) {
        #expect(RequestTimestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T17:45Z", "2026-11-21T17:45:00", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-11-00T00:00:00Z", "2026-11-21T24:00:00Z",
        "2026-11-21T17:60:00Z", "2026-11-21T17:45:61Z", "2026-11-21T17:45:00.Z", "2026-11-21T17:45:00+0100",
        "2026-11-21T17:45:00+24:00", "2026-11-21T17:45:00Zx", "26-11-21T17:45:00Z", "2026-11-2٣T17:45:00Z",
        "2001-09-09T01:46:39Z",
    ])
    func `an invalid or too early time is rejected`(text: String) {
        #expect(RequestTimestamp(rfc3339: text) == nil)
    }

    @Test func `every day from 2002 to 2200 is parsed as Foundation does`() throws {
        let style = Date.ISO8601FormatStyle()
        for day in 11_700...84_000 {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 1)
            #expect(RequestTimestamp(rfc3339: date.formatted(style))?.milliseconds == Int64(day) * 86_400_000 + 1000)
        }
    }
}
