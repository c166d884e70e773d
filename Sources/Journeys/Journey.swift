// A recorded or generated trip: fixes in the order in which they were captured. A recording is validated once, here, so later
// code can rely on it.

/// One fix of a recording (WGS 84).
package struct Fix: Sendable, Hashable {
    /// ms since the epoch
    package var at: Int64
    /// Degrees north and east.
    package var latitude: Double
    package var longitude: Double
    package var accuracyMeters: Double?
    package var speedMetersPerSecond: Double?
    /// Degrees clockwise from north.
    package var headingDegrees: Double?

    /// Leaves out invalid values of accuracy, speed or heading: phones write -1 for unknown ones, receivers NaN.
    package init(
        at: Int64, latitude: Double, longitude: Double, accuracyMeters: Double? = nil,
        speedMetersPerSecond: Double? = nil, headingDegrees: Double? = nil
    ) {
        self.at = at
        self.latitude = latitude
        self.longitude = longitude
        self.accuracyMeters = accuracyMeters.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
        self.speedMetersPerSecond = speedMetersPerSecond.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
        self.headingDegrees = headingDegrees.flatMap { (0...360).contains($0) ? $0 : nil }
    }
}

/// At least two fixes with increasing times.
package struct Journey: Sendable {
    package let name: String
    package let fixes: [Fix]
    /// Problems in the recording that were skipped, as sentences for the person who loads it.
    package var warnings: [String] = []

    package var duration: Duration { .milliseconds((self.fixes.last?.at ?? 0) - (self.fixes.first?.at ?? 0)) }

    /// The rest of the trip after its first `count` fixes; at least two remain.
    package func dropping(first count: Int) -> Journey {
        let most = max(0, self.fixes.count - 2)
        return Journey(name: self.name, fixes: Array(self.fixes.dropFirst(min(max(0, count), most))))
    }

    package var averageMetersPerSecond: Double {
        let (seconds, attoseconds) = self.duration.components
        return self.lengthMeters / max(Double(seconds) + Double(attoseconds) / 1e18, 0.001)
    }

    package var lengthMeters: Double {
        zip(self.fixes, self.fixes.dropFirst()).reduce(0) { $0 + Geodesy.meters(from: $1.0, to: $1.1) }
    }
}

/// A fix and its line in the file, counted from 1.
struct LocatedFix {
    var fix: Fix
    var line: Int
}

extension Journey {
    /// Validates the fixes of a file: order, ranges, and whether there are at least two.
    ///
    /// A second fix with the same time is skipped, because receivers repeat themselves.
    init(name: String, checking located: [LocatedFix], warnings: [String] = []) throws(JourneyError) {
        var fixes: [Fix] = []
        fixes.reserveCapacity(located.count)
        var previousLine = 0
        for (fix, line) in located.map({ ($0.fix, $0.line) }) {
            guard (-90...90).contains(fix.latitude), (-180...180).contains(fix.longitude) else {
                throw .outOfRange(line: line)
            }
            if let last = fixes.last {
                guard fix.at >= last.at else { throw .backwards(line: line, previousLine: previousLine) }
                guard fix.at > last.at else { continue }
            }
            fixes.append(fix)
            previousLine = line
        }
        guard !fixes.isEmpty else { throw .empty }
        guard fixes.count > 1 else { throw .tooShort }
        self.init(name: name, fixes: fixes, warnings: warnings)
    }
}

/// Why a recording cannot be used: what is wrong, where, and what to do.
package enum JourneyError: Error, Hashable, Sendable, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    case unknownFormat(path: String)
    case corruptGzip(reason: String)
    case tooLarge(limitBytes: Int)
    case empty
    case tooShort
    case malformed(line: Int, reason: String)
    case wrongChecksum(line: Int)
    case missingTime(line: Int)
    case outOfRange(line: Int)
    case backwards(line: Int, previousLine: Int)
    case noSuchTrip(String)
    /// A mistake in one of several files.
    indirect case inFile(path: String, JourneyError)

    /// The error with the name of its file, if it does not have it yet.
    package func naming(_ path: String) -> JourneyError {
        switch self {
        case .unreadable, .unknownFormat, .inFile: self
        default: .inFile(path: path, self)
        }
    }

    package var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)."
        case .unknownFormat(let path):
            "The format of \(path) is unknown. The name must end in .gpx, .csv or .nmea, optionally followed by .gz."
        case .corruptGzip(let reason): "The gzip data is damaged: \(reason). Fetch the file again."
        case .tooLarge(let limit): "The file is larger than \(limit / 1_048_576) MiB. Extract the trip you need."
        case .empty: "The file contains no fix. A trip needs at least two."
        case .tooShort: "The file contains only one fix. A trip needs at least two."
        case .malformed(let line, let reason): "Line \(line): \(reason)."
        case .wrongChecksum(let line): "Line \(line): the checksum does not match, so the line is damaged."
        case .missingTime(let line): "Line \(line): the fix has no time. Export the recording with times."
        case .outOfRange(let line):
            "Line \(line): latitude must be -90 to 90 and longitude -180 to 180 degrees. They may be swapped."
        case .backwards(let line, let previous):
            "Line \(line): the time is earlier than on line \(previous). Sort the recording by time."
        case .noSuchTrip(let trip):
            "The file contains no trip named \(trip). Only a CSV file with a column trip_id or trip names trips."
        case .inFile(let path, let error): "\(path): \(error)"
        }
    }
}
