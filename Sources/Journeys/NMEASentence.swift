// One NMEA 0183 sentence: its checksum, its fields and the values in them.

internal import Foundation

/// A sentence of a talker, with a valid checksum or without one.
struct NMEASentence {
    /// Three letters: RMC, GGA, ...
    let kind: String
    let fields: [String]
    let hasChecksum: Bool
    let line: Int

    /// Meters per second in a knot.
    static let knot = 1852.0 / 3600

    /// Verifies the checksum if there is one (XOR of the bytes between `$` and `*`, NMEA 0183 section 5.2).
    ///
    /// - Parameter text: a line. Before the sentence, a logging program may have written a time, or there may be an
    ///   interrupted sentence.
    /// - Returns: `nil` for sentences that are not a talker's, for instance proprietary ones.
    init?(_ text: String, line: Int) throws(JourneyError) {
        guard let start = text.lastIndex(of: "$") else {
            throw .malformed(line: line, reason: "this is not an NMEA sentence of the form $...*hh")
        }
        let sentence = text[text.index(after: start)...]
        guard !sentence.hasPrefix("P") else { return nil }
        let star = sentence.lastIndex(of: "*")
        let body = sentence[..<(star ?? sentence.endIndex)]
        if let star {
            let checksum = body.utf8.reduce(UInt8(0), ^)
            guard UInt8(sentence[sentence.index(after: star)...].prefix(2), radix: 16) == checksum else {
                throw .wrongChecksum(line: line)
            }
        }
        self.fields = body.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard let name = self.fields.first, name.count == 5 else { return nil }
        (self.kind, self.hasChecksum, self.line) = (String(name.suffix(3)), star != nil, line)
    }

    /// A number of 0 or more; `nil` if the field is empty or malformed.
    func number(_ index: Int) -> Double? {
        guard self.fields.indices.contains(index), let value = Double(self.fields[index]) else { return nil }
        return value.isFinite && value >= 0 ? value : nil
    }

    /// The position in four fields.
    func place(at index: Int) throws(JourneyError) -> (latitude: Double, longitude: Double) {
        let fields = self.fields.dropFirst(index).prefix(4)
        guard fields.count == 4, let latitude = Self.degrees(fields[index], fields[index + 1], "N", "S"),
            let longitude = Self.degrees(fields[index + 2], fields[index + 3], "E", "W")
        else { throw .malformed(line: self.line, reason: "the position is not ddmm.mmmm with N, S, E or W") }
        guard latitude.magnitude <= 90, longitude.magnitude <= 180 else { throw .outOfRange(line: self.line) }
        return (latitude, longitude)
    }

    /// The time `hhmmss.sss` in the second field, ms since midnight UTC.
    var timeOfDay: Int64? {
        guard self.fields.count > 1, self.fields[1].count >= 6 else { return nil }
        let text = self.fields[1]
        guard let hour = Int64(text.prefix(2)), let minute = Int64(text.dropFirst(2).prefix(2)),
            let second = Double(text.dropFirst(4)), (0..<24).contains(hour), (0..<60).contains(minute),
            (0..<61).contains(second)
        else { return nil }
        return (hour * 60 + minute) * 60_000 + Int64(second * 1000 + 0.5)
    }

    /// The date of a ZDA sentence: midnight UTC, ms since the epoch.
    var day: Int64? {
        guard self.fields.count > 4, let day = Int(self.fields[2]), let month = Int(self.fields[3]),
            let year = Int(self.fields[4]), year >= 1980
        else { return nil }
        return Self.midnight(day, month, year)
    }

    /// Parses `ddmmyy`: midnight UTC, ms since the epoch.
    static func day(_ date: String) -> Int64? {
        guard date.count == 6, let day = Int(date.prefix(2)), let month = Int(date.dropFirst(2).prefix(2)),
            let year = Int(date.suffix(2)), year >= 0
        else { return nil }
        // The year has two digits, and GPS time starts in 1980.
        return self.midnight(day, month, year < 80 ? 2000 + year : 1900 + year)
    }

    private static func midnight(_ day: Int, _ month: Int, _ year: Int) -> Int64? {
        guard (1...31).contains(day), (1...12).contains(month), (1980...2200).contains(year) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar.date(from: DateComponents(year: year, month: month, day: day)).map {
            Int64($0.timeIntervalSince1970) * 1000
        }
    }

    /// Parses `ddmm.mmmm` or `dddmm.mmmm` with a hemisphere.
    private static func degrees(_ text: String, _ hemisphere: String, _ positive: String, _ negative: String) -> Double?
    {
        guard hemisphere == positive || hemisphere == negative, let value = Double(text), value >= 0, value.isFinite
        else {
            return nil
        }
        let whole = (value / 100).rounded(.down)
        let minutes = value - whole * 100
        guard minutes < 60 else { return nil }
        let degrees = whole + minutes / 60
        return hemisphere == positive ? degrees : -degrees
    }
}
