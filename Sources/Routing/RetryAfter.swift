// Parses `Retry-After` (RFC 9110 section 10.2.3): a number of seconds, or a date. A date is compared with the `Date` of
// the response, because the provider's clock may differ from this machine's.

enum RetryAfter {
    /// - Parameters:
    ///   - text: `Retry-After`.
    ///   - date: `Date` of the same response.
    /// - Returns: seconds, 0 or more; `nil` if the text is invalid.
    static func seconds(_ text: String, date: String?) -> Int? {
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) { return Int(text) ?? .max }
        guard let until = self.secondsSinceEpoch(text), let now = date.flatMap(self.secondsSinceEpoch) else {
            return nil
        }
        return max(0, until - now)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT` (section 5.6.7). None of the supported providers sends the obsolete
    /// formats.
    private static func secondsSinceEpoch(_ text: String) -> Int? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]), (1...31).contains(day),
            let month = self.months.firstIndex(of: String(words[2])), let year = Int(words[3]),
            (1970...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        // Years are counted from March, so a leap day is the last day of a year.
        let marchYear = month >= 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let days = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
        return ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    }
}
