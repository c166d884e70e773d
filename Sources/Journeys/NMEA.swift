// NMEA 0183: what receivers say, one sentence a line. RMC carries everything a trip needs, whoever the talker is; other
// sentences, those of makers ($P...) and lines that begin with # are passed over. Real logs are cut off, interleaved and
// written by programs that leave the checksum out: what cannot be read is passed over with a warning, as long as there is a
// trip in the rest.

internal import Foundation

enum NMEA {
    /// Metres per second of a knot.
    private static let knot = 1852.0 / 3600

    /// What a line of a log is.
    private enum Line {
        /// Nothing that a trip needs.
        case other
        case fix(LocatedFix, hasChecksum: Bool)
        /// It should be something, and is not.
        case damaged(JourneyError)
    }

    /// The fixes of all RMC sentences, of any talker (GP, GN, GL, GA, GB, BD, QZ, ...). Those marked void are passed over.
    ///
    /// - Returns: the fixes, and what was doubtful.
    /// - Throws: what is wrong with the first damaged line, where there is no fix at all.
    static func fixes(_ data: Data) throws(JourneyError) -> (fixes: [LocatedFix], warnings: [String]) {
        var fixes: [LocatedFix] = []
        var firstDamage: JourneyError?
        var (damaged, unchecked) = (0, 0)
        for (number, text) in RecordingFile.lines(data) {
            switch self.line(text.trimmingCharacters(in: .whitespaces), number) {
            case .other: continue
            case .fix(let fix, let hasChecksum):
                fixes.append(fix)
                if !hasChecksum { unchecked += 1 }
            case .damaged(let error):
                damaged += 1
                firstDamage = firstDamage ?? error
            }
        }
        if fixes.isEmpty, let firstDamage { throw firstDamage }
        var warnings: [String] = []
        if unchecked > 0 { warnings.append("\(unchecked) sentences have no checksum; they were read as they are") }
        if let firstDamage {
            warnings.append("\(damaged) damaged lines were passed over; the first: \(firstDamage)")
        }
        return (fixes, warnings)
    }

    private static func line(_ text: String, _ number: Int) -> Line {
        // Comments of the programs that write logs, sentences of AIS, makers' own.
        guard !text.isEmpty, !text.hasPrefix("#"), !text.hasPrefix("!"), !text.hasPrefix("$P") else { return .other }
        do throws(JourneyError) {
            let (fields, hasChecksum) = try self.fields(text, number)
            guard fields[0].count == 5, fields[0].hasSuffix("RMC") else { return .other }
            guard fields.count >= 10 else { throw .malformed(line: number, reason: "RMC has too few fields") }
            guard fields[2] == "A" else { return .other }
            guard let at = self.time(fields[1], date: fields[9]) else { throw .missingTime(line: number) }
            guard let latitude = self.degrees(fields[3], fields[4], "N", "S"),
                let longitude = self.degrees(fields[5], fields[6], "E", "W")
            else { throw .malformed(line: number, reason: "the position is not ddmm.mmmm with N, S, E or W") }
            let fix = Fix(
                at: at, latitude: latitude, longitude: longitude,
                speedMetersPerSecond: Double(fields[7]).map { $0 * self.knot }, headingDegrees: Double(fields[8]))
            return .fix(LocatedFix(fix: fix, line: number), hasChecksum: hasChecksum)
        } catch {
            return .damaged(error)
        }
    }

    /// Fields between `$` and `*`, the checksum verified where there is one (XOR of the bytes between, NMEA 0183 section 5.2).
    private static func fields(
        _ sentence: String, _ line: Int
    ) throws(JourneyError) -> (fields: [String], hasChecksum: Bool) {
        guard sentence.hasPrefix("$") else {
            throw .malformed(line: line, reason: "this is no NMEA sentence: it should be $...*hh")
        }
        let star = sentence.lastIndex(of: "*")
        let body = sentence[sentence.index(after: sentence.startIndex)..<(star ?? sentence.endIndex)]
        if let star {
            let checksum = body.utf8.reduce(UInt8(0), ^)
            guard UInt8(sentence[sentence.index(after: star)...].prefix(2), radix: 16) == checksum else {
                throw .malformed(line: line, reason: "the checksum does not fit: the line is damaged")
            }
        }
        return (body.split(separator: ",", omittingEmptySubsequences: false).map(String.init), star != nil)
    }

    /// `ddmm.mmmm` or `dddmm.mmmm` with a hemisphere.
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

    /// `hhmmss.sss` of the day `ddmmyy`, UTC.
    private static func time(_ text: String, date: String) -> Int64? {
        guard date.count == 6, let day = Int(date.prefix(2)), let month = Int(date.dropFirst(2).prefix(2)),
            let year = Int(date.suffix(2)), text.count >= 6, let hour = Int(text.prefix(2)),
            let minute = Int(text.dropFirst(2).prefix(2)), let second = Double(text.dropFirst(4)), second < 61
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        // Receivers write two digits; the system began in 1980.
        let parts = DateComponents(
            year: year < 80 ? 2000 + year : 1900 + year, month: month, day: day, hour: hour, minute: minute)
        return calendar.date(from: parts).map { Int64(($0.timeIntervalSince1970 + second) * 1000 + 0.5) }
    }
}
