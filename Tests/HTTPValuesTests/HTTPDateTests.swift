import Foundation
import HTTPValues
import Testing

/// The Date header of responses.
@Suite struct HTTPDateTests {
    @Test func `a time is written in the format of RFC 9110`() {
        #expect(HTTPDate.text(784_111_777_000) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(1_709_164_799_999) == "Wed, 28 Feb 2024 23:59:59 GMT")
        #expect(HTTPDate.text(1_709_164_800_000) == "Thu, 29 Feb 2024 00:00:00 GMT")
    }

    @Test func `every day of 400 years has the date of the Gregorian calendar`() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for day in stride(from: Int64(0), to: 146_097, by: 3) {
            let seconds = day * 86_400 + 43_200 + day % 60
            let date = Date(timeIntervalSince1970: Double(seconds))
            #expect(HTTPDate.text(seconds * 1000) == formatter.string(from: date))
        }
    }

    @Test(arguments: [
        (Int64.min, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func `an absurd time is cut off`(milliseconds: Int64, text: String) {
        #expect(HTTPDate.text(milliseconds) == text)
    }
}
