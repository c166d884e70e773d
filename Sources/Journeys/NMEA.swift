// NMEA 0183: the output of GNSS receivers, one sentence per line, from any talker (GP, GN, GL, GA, ...). RMC contains
// everything a trip needs; a GGA or GNS sentence of the same time adds the accuracy. In a log without RMC, the GGA and GNS
// sentences are used alone, with the date from ZDA. Other sentences, proprietary ones ($P...) and lines that start with # are
// skipped. Real logs are truncated, interleaved or lack checksums, so lines that cannot be parsed are skipped with a warning
// as long as the rest contains a trip. Fixes whose time is out of order are skipped as well.

internal import Foundation

enum NMEA {
    /// Meters of accuracy for a dilution of precision of 1: the usual error of a measured range.
    private static let metersOfDilution = 5.0
    private static let dayMilliseconds: Int64 = 86_400_000

    /// The contents of a log.
    private struct Log {
        /// The fixes of RMC sentences, each with the accuracy of the GGA or GNS sentence of its time.
        var fixes: [LocatedFix] = []
        /// GGA and GNS sentences in their order; `at` is counted from midnight of the first day.
        var positions: [LocatedFix] = []
        /// Midnight of the first day, from RMC or ZDA.
        var midnight: Int64?
        var (damaged, miscounted, unchecked) = (0, 0, 0)
        var firstDamage: JourneyError?
        /// Time of day and accuracy of the last GGA or GNS sentence, for an RMC sentence that follows.
        var accuracy: (timeOfDay: Int64, meters: Double)?
    }

    /// The fixes of a log. Sentences marked void are skipped.
    ///
    /// - Returns: the fixes, and warnings.
    /// - Throws: the error of the first damaged line, if there is no fix at all.
    static func fixes(_ data: Data) throws(JourneyError) -> (fixes: [LocatedFix], warnings: [String]) {
        var log = Log()
        for (number, text) in try RecordingFile.lines(data) {
            do throws(JourneyError) {
                try self.read(text.trimmingCharacters(in: .whitespaces), number, into: &log)
            } catch {
                log.damaged += 1
                if case .wrongChecksum = error { log.miscounted += 1 }
                log.firstDamage = log.firstDamage ?? error
            }
        }
        let isWithoutRMC = log.fixes.isEmpty
        let found = isWithoutRMC ? self.dated(log) : log.fixes
        let fixes = TimeOrder.sorted(found)
        if fixes.isEmpty, let damage = log.firstDamage { throw damage }
        var warnings: [String] = []
        if isWithoutRMC, !fixes.isEmpty, log.midnight == nil {
            warnings.append("the log has no date (no RMC or ZDA sentence); its days are counted from 1 January 1970")
        }
        if log.unchecked > 0 {
            warnings.append(
                log.unchecked == 1
                    ? "1 sentence has no checksum and was used unverified"
                    : "\(log.unchecked) sentences have no checksum and were used unverified")
        }
        let skipped = found.count - fixes.count
        if skipped > 0 {
            warnings.append(
                skipped == 1
                    ? "1 fix was skipped, because its time is not in order"
                    : "\(skipped) fixes were skipped, because their times are not in order")
        }
        if let damage = log.firstDamage {
            let wrong = log.miscounted > 0 ? " (\(log.miscounted) with a wrong checksum)" : ""
            warnings.append(
                "\(log.damaged) damaged \(log.damaged == 1 ? "line was" : "lines were") skipped\(wrong); the first: \(damage)"
            )
        }
        return (fixes, warnings)
    }

    /// The fixes of GGA and GNS sentences.
    private static func dated(_ log: Log) -> [LocatedFix] {
        let midnight = log.midnight ?? 0
        return log.positions.map { LocatedFix(fix: $0.fix.later(by: midnight), line: $0.line) }
    }

    private static func read(_ text: String, _ number: Int, into log: inout Log) throws(JourneyError) {
        // Comments of logging programs, and AIS sentences.
        guard !text.isEmpty, !text.hasPrefix("#"), !text.hasPrefix("!") else { return }
        let sentence = try NMEASentence(text, line: number)
        guard let sentence else { return }
        switch sentence.kind {
        case "RMC":
            guard let fix = try self.recommendedMinimum(sentence) else { return }
            log.midnight = log.midnight ?? fix.at - fix.at % self.dayMilliseconds
            log.fixes.append(LocatedFix(fix: fix.with(log.accuracy), line: number))
        case "GGA", "GNS":
            guard let (fix, accuracy) = try self.position(sentence) else { return }
            let timeOfDay = fix.at
            if let accuracy { log.accuracy = (timeOfDay, accuracy) }
            if let last = log.fixes.indices.last { log.fixes[last].fix = log.fixes[last].fix.with(log.accuracy) }
            // Past midnight, another day begins. A sentence that is slightly late does not start a day.
            let last = log.positions.last?.fix.at ?? timeOfDay
            let day =
                last / self.dayMilliseconds
                + (timeOfDay + self.dayMilliseconds / 2 < last % self.dayMilliseconds ? 1 : 0)
            log.positions.append(LocatedFix(fix: fix.later(by: day * self.dayMilliseconds), line: number))
        case "ZDA":
            guard log.midnight == nil, let day = sentence.day else { return }
            log.midnight = day
        default: return
        }
        if !sentence.hasChecksum, sentence.kind != "ZDA" { log.unchecked += 1 }
    }

    /// - Returns: `nil` if the receiver had no position.
    private static func recommendedMinimum(_ sentence: NMEASentence) throws(JourneyError) -> Fix? {
        guard sentence.fields.count >= 10 else {
            throw .malformed(line: sentence.line, reason: "RMC has too few fields")
        }
        guard sentence.fields[2] == "A" else { return nil }
        guard let timeOfDay = sentence.timeOfDay, let day = NMEASentence.day(sentence.fields[9]) else {
            throw .missingTime(line: sentence.line)
        }
        let place = try sentence.place(at: 3)
        return Fix(
            at: day + timeOfDay, latitude: place.latitude, longitude: place.longitude,
            speedMetersPerSecond: sentence.number(7).map { $0 * NMEASentence.knot }, headingDegrees: sentence.number(8))
    }

    /// - Returns: the position at a time of day, and its accuracy; `nil` if the receiver had none.
    private static func position(_ sentence: NMEASentence) throws(JourneyError) -> (Fix, accuracy: Double?)? {
        guard sentence.fields.count >= 9 else {
            throw .malformed(line: sentence.line, reason: "\(sentence.kind) has too few fields")
        }
        let quality = sentence.fields[6]
        // GNS has a letter for each satellite system: N if it gave no fix.
        let isValid = sentence.kind == "GNS" ? quality.contains { $0 != "N" } : Int(quality) ?? 0 > 0
        guard isValid else { return nil }
        guard let timeOfDay = sentence.timeOfDay else { throw .missingTime(line: sentence.line) }
        let place = try sentence.place(at: 2)
        let accuracy = sentence.number(8).flatMap { $0 > 0 ? $0 * self.metersOfDilution : nil }
        return (
            Fix(at: timeOfDay, latitude: place.latitude, longitude: place.longitude, accuracyMeters: accuracy), accuracy
        )
    }
}

extension Fix {
    fileprivate func later(by milliseconds: Int64) -> Fix {
        var fix = self
        fix.at += milliseconds
        return fix
    }

    /// The fix with the accuracy of a GGA or GNS sentence of the same time.
    fileprivate func with(_ accuracy: (timeOfDay: Int64, meters: Double)?) -> Fix {
        guard let accuracy, self.accuracyMeters == nil, (self.at - accuracy.timeOfDay) % 86_400_000 == 0 else {
            return self
        }
        var fix = self
        fix.accuracyMeters = accuracy.meters
        return fix
    }
}
