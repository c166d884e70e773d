// RFC 3339's way to write a time, read into ms since the epoch: what CloudEvents and SNS have their times in.

/// Reads times.
enum Timestamp {
    /// Times of 13 digits of ms, as the ledger has them: 2001-09-09 to 2286-11-20.
    private static let range: ClosedRange<Int64> = 1_000_000_000_000...9_999_999_999_999

    /// `2026-11-21T18:00:00.123Z`, or with an offset like `+02:00`; the fraction may be absent or longer, and a leap second
    /// is the second after it.
    ///
    /// - Returns: `nil` for anything else, and for times out of range.
    static func milliseconds(_ text: String) -> Int64? {
        var rest = Substring(text.uppercased()).utf8
        func number(_ digits: Int, _ range: ClosedRange<Int64>) -> Int64? {
            let part = rest.prefix(digits)
            guard part.count == digits, part.allSatisfy({ (48...57).contains($0) }),
                let value = Int64(String(Substring(part))), range.contains(value)
            else { return nil }
            rest = rest.dropFirst(digits)
            return value
        }
        func passed(_ mark: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: mark) else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let year = number(4, 1...9999), passed("-"), let month = number(2, 1...12), passed("-"),
            let day = number(2, 1...31), passed("T"), let hour = number(2, 0...23), passed(":"),
            let minute = number(2, 0...59), passed(":"), let second = number(2, 0...60),
            day <= Self.days(of: month, year)
        else { return nil }
        var milliseconds: Int64 = 0
        if passed(".") {
            let fraction = rest.prefix { (48...57).contains($0) }
            guard !fraction.isEmpty else { return nil }
            rest = rest.dropFirst(fraction.count)
            let digits = String(Substring(fraction)).prefix(3)
            milliseconds = Int64(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
        }
        var offset: Int64 = 0
        if !passed("Z") {
            let sign: Int64
            if passed("+") { sign = 1 } else if passed("-") { sign = -1 } else { return nil }
            guard let hours = number(2, 0...23), passed(":"), let minutes = number(2, 0...59) else { return nil }
            offset = sign * (hours * 60 + minutes)
        }
        guard rest.isEmpty else { return nil }
        let minutes = (Self.days(until: year, month, day) * 24 + hour) * 60 + minute - offset
        let result = (minutes * 60 + second) * 1000 + milliseconds
        return Self.range.contains(result) ? result : nil
    }

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 in the Gregorian calendar. Years begin with March here, so that a leap day is the last of one.
    private static func days(until year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
