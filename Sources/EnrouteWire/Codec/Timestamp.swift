// Parses RFC 3339 times, which other systems use in requests and events, into ms since the epoch.

/// A parser for times.
package enum Timestamp {
    /// Parses a time such as `2026-11-21T17:45:00.250+01:00` (RFC 3339 section 5.6). A leap second counts as the second
    /// after it. Fractions below a millisecond are cut off.
    ///
    /// - Parameter allowsSpace: whether a space may replace the `T`, which the RFC leaves to the application.
    /// - Returns: `nil` for any other text, and for times outside of `Fix.times`.
    package static func milliseconds(_ text: String, allowsSpace: Bool = false) -> Int64? {
        self.unboundedMilliseconds(text, allowsSpace: allowsSpace).flatMap { Fix.times.contains($0) ? $0 : nil }
    }

    /// Parses a time like `milliseconds`, in the years 0 to 9999.
    package static func unboundedMilliseconds(_ text: String, allowsSpace: Bool = false) -> Int64? {
        var digits = Digits(bytes: Array(text.utf8)[...])
        guard let year = digits.number(4), digits.take("-"), let month = digits.number(2), (1...12).contains(month),
            digits.take("-"), let day = digits.number(2), (1...Self.days(in: month, of: year)).contains(day),
            digits.take("T") || digits.take("t") || allowsSpace && digits.take(" "),
            let hour = digits.number(2), hour < 24, digits.take(":"), let minute = digits.number(2), minute < 60,
            digits.take(":"), let second = digits.number(2), second <= 60, let fraction = digits.fraction(),
            let offset = digits.offsetMinutes(), digits.isAtEnd
        else { return nil }
        let minutes = (Self.daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute - offset
        return (minutes * 60 + second) * 1000 + fraction
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so a leap day is the last day of
    /// a year.
    private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    }
}

/// A cursor over a text of digits and separators.
private struct Digits {
    var bytes: ArraySlice<UInt8>

    var isAtEnd: Bool { self.bytes.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.bytes.first == UInt8(ascii: character) else { return false }
        self.bytes.removeFirst()
        return true
    }

    /// Reads exactly this many digits.
    mutating func number(_ count: Int) -> Int64? {
        let digits = self.bytes.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        self.bytes.removeFirst(count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }

    /// Reads the fraction of a second, in ms; 0 if there is none.
    mutating func fraction() -> Int64? {
        guard self.take(".") else { return 0 }
        let digits = self.bytes.prefix { (48...57).contains($0) }
        guard !digits.isEmpty else { return nil }
        self.bytes.removeFirst(digits.count)
        let milliseconds = digits.prefix(3) + repeatElement(48, count: max(0, 3 - digits.count))
        return milliseconds.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }

    /// Reads the offset east of UTC.
    mutating func offsetMinutes() -> Int64? {
        if self.take("Z") || self.take("z") { return 0 }
        let isWest = self.take("-")
        guard isWest || self.take("+"), let hours = self.number(2), hours < 24, self.take(":"),
            let minutes = self.number(2), minutes < 60
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}
