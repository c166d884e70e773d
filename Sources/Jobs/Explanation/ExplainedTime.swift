// Times as people read them during an incident: the time of day, and how long ago that was.

/// Formats times relative to one moment. All times are ms since the epoch, and UTC.
package struct ExplainedTime: Sendable {
    package let now: Int64

    package init(now: Int64) { self.now = now }

    /// `10:41:07 (3 min ago)` or `14:41:07 (in 4 h 0 min)`; with the date for another day.
    package func moment(_ time: Int64) -> String { "\(self.clock(time)) (\(self.distance(time)))" }

    /// `3 min ago` or `in 4 h 0 min`.
    package func distance(_ time: Int64) -> String {
        let (difference, isAbsurd) = time.subtractingReportingOverflow(self.now)
        guard !isAbsurd else { return "at an impossible time" }
        let span = Self.span(Int64(clamping: difference.magnitude))
        return difference > 0 ? "in \(span)" : "\(span) ago"
    }

    /// `30 s`, `3 min`, `4 h 20 min` or `3 days`: the greatest unit of which there are at least two.
    package static func span(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1000
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7_200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: return "\(seconds / 86_400) days"
        }
    }

    /// `10:41:07`, or `2026-11-22 10:41:07` when it is not the day of `now`.
    package func clock(_ time: Int64) -> String {
        let time = min(max(time, Self.dates.lowerBound), Self.dates.upperBound)
        let day = Self.day(time)
        let second = (time - day * Self.dayLength) / 1000
        let parts = [second / 3600, second / 60 % 60, second % 60].map(Self.twoDigits)
        let text = parts.joined(separator: ":")
        return day == Self.day(min(max(self.now, Self.dates.lowerBound), Self.dates.upperBound))
            ? text : "\(Self.date(day)) \(text)"
    }

    /// `2026-11-23 10:41:07 UTC`
    package var today: String {
        let now = min(max(self.now, Self.dates.lowerBound), Self.dates.upperBound)
        return "\(Self.date(Self.day(now))) \(self.clock(now)) UTC"
    }

    /// Times with a date of four digits, with which the calculations below do not overflow; others are clamped.
    private static let dates: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
    private static let dayLength: Int64 = 86_400_000

    private static func day(_ time: Int64) -> Int64 {
        time >= 0 ? time / self.dayLength : (time + 1) / self.dayLength - 1
    }

    /// The Gregorian date of a day since the epoch. Years are counted from March, so a leap day is the last day of a year.
    private static func date(_ day: Int64) -> String {
        let days = day + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(year)-\(self.twoDigits(month))-\(self.twoDigits(dayOfYear - (153 * part + 2) / 5 + 1))"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
