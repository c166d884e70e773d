// NMEA 0183: the output of GNSS receivers, one sentence per line. RMC contains everything a trip needs, whichever talker
// sends it. Other sentences, proprietary ones ($P...) and lines that start with # are skipped. Real logs are truncated,
// interleaved or lack checksums, so lines that cannot be parsed are skipped with a warning as long as the rest contains a
// trip.

internal import Foundation

enum NMEA {
    /// Metres per second in a knot.
    private static let knot = 1852.0 / 3600

    /// One line of a log.
    private enum Line {
        /// Not needed for a trip.
        case other
        case fix(LocatedFix, hasChecksum: Bool)
        /// A sentence that should be usable but cannot be parsed.
        case damaged(JourneyError)
    }

    /// The fixes of all RMC sentences of any talker (GP, GN, GL, GA, GB, BD, QZ, ...). Sentences marked void are skipped.
    ///
    /// - Returns: the fixes, and warnings.
    /// - Throws: the error of the first damaged line, if there is no fix at all.
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
        if unchecked > 0 { warnings.append("\(unchecked) sentences have no checksum and were used unverified") }
        if let firstDamage {
            warnings.append("\(damaged) damaged lines were skipped; the first: \(firstDamage)")
        }
        return (fixes, warnings)
    }

    private static func line(_ text: String, _ number: Int) -> Line {
        // Comments of logging programs, AIS sentences, and proprietary sentences.
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

    /// Fields between `$` and `*`. Verifies the checksum if there is one (XOR of the bytes between, NMEA 0183 section 5.2).
    private static func fields(
        _ sentence: String, _ line: Int
    ) throws(JourneyError) -> (fields: [String], hasChecksum: Bool) {
        guard sentence.hasPrefix("$") else {
            throw .malformed(line: line, reason: "this is not an NMEA sentence of the form $...*hh")
        }
        let star = sentence.lastIndex(of: "*")
        let body = sentence[sentence.index(after: sentence.startIndex)..<(star ?? sentence.endIndex)]
        if let star {
            let checksum = body.utf8.reduce(UInt8(0), ^)
            guard UInt8(sentence[sentence.index(after: star)...].prefix(2), radix: 16) == checksum else {
                throw .malformed(line: line, reason: "the checksum does not match, so the line is damaged")
            }
        }
        return (body.split(separator: ",", omittingEmptySubsequences: false).map(String.init), star != nil)
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

    /// Parses `hhmmss.sss` of the day `ddmmyy`, UTC.
    private static func time(_ text: String, date: String) -> Int64? {
        guard date.count == 6, let day = Int(date.prefix(2)), let month = Int(date.dropFirst(2).prefix(2)),
            let year = Int(date.suffix(2)), text.count >= 6, let hour = Int(text.prefix(2)),
            let minute = Int(text.dropFirst(2).prefix(2)), let second = Double(text.dropFirst(4)), second < 61
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        // The year has two digits, and GPS time starts in 1980.
        let parts = DateComponents(
            year: year < 80 ? 2000 + year : 1900 + year, month: month, day: day, hour: hour, minute: minute)
        return calendar.date(from: parts).map { Int64(($0.timeIntervalSince1970 + second) * 1000 + 0.5) }
    }
}
