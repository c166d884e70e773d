// The time in the Date header of a response (RFC 9110 section 5.6.7), so that clients can compare their clock.

/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let daySeconds: Int64 = 86_400
    /// The last time with a year of four digits, in seconds.
    private static let last: Int64 = 253_402_300_799

    /// - Parameter milliseconds: since the Unix epoch; earlier times and times after the year 9999 are replaced by the nearest
    ///   valid time.
    package static func text(_ milliseconds: Int64) -> String {
        let seconds = min(max(milliseconds / 1000, 0), Self.last)
        let (day, time) = (seconds / Self.daySeconds, seconds % Self.daySeconds)
        let date = Self.civil(day)
        // The Unix epoch was a Thursday.
        let weekday = Self.days[Int((day + 4) % 7)]
        return "\(weekday), \(Self.two(date.day)) \(Self.months[date.month - 1]) \(Self.four(date.year)) "
            + "\(Self.two(Int(time / 3600))):\(Self.two(Int(time / 60 % 60))):\(Self.two(Int(time % 60))) GMT"
    }

    /// The date of the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
    private static func civil(_ daysSinceEpoch: Int64) -> (year: Int, month: Int, day: Int) {
        // Years start in March, so that the leap day is the last day; 400 years have 146,097 days.
        let days = Int(daysSinceEpoch) + 719_468
        let (era, dayOfEra) = (days / 146_097, days % 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func four(_ year: Int) -> String {
        let text = String(year)
        return String(repeating: "0", count: max(0, 4 - text.count)) + text
    }
}
