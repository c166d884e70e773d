// Loads a recording: the file name determines the format and, with .gz, the compression.

internal import Foundation
internal import Gzip

extension Journey {
    /// Reads a recording.
    ///
    /// - Parameters:
    ///   - path: ends in `.gpx`, `.csv`, `.nmea`, `.nma` or `.log`, or one of these and `.gz`.
    ///   - trip: which trip of a CSV file that contains several; `nil` for the first.
    package static func load(path: String, trip: String? = nil) throws(JourneyError) -> Journey {
        var name = path.split(separator: "/").last.map(String.init) ?? path
        let bytes = try RecordingFile.bytes(path)
        if name.hasSuffix(".gz") { name.removeLast(3) }
        let located: [LocatedFix]
        var warnings: [String] = []
        let format = name.split(separator: ".").last?.lowercased()
        if let trip, ["gpx", "nmea", "nma", "log"].contains(format) { throw .noSuchTrip(trip) }
        switch format {
        case "gpx": located = try GPX.fixes(bytes)
        case "csv": located = try CSV.fixes(bytes, trip: trip)
        case "nmea", "nma", "log": (located, warnings) = try NMEA.fixes(bytes)
        default: throw .unknownFormat(path: path)
        }
        return try Journey(name: name, checking: located, warnings: warnings)
    }
}

extension Journey {
    /// Reads every trip of a recording. Only a CSV file with a trip column can contain several. Trips of a single fix are
    /// left out.
    ///
    /// - Parameter path: as for `load`.
    package static func loadAll(path: String) throws(JourneyError) -> [Journey] {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let name = file.hasSuffix(".gz") ? String(file.dropLast(3)) : file
        guard name.lowercased().hasSuffix(".csv") else { return [try self.load(path: path)] }
        var journeys: [Journey] = []
        let trips = try CSV.trips(try RecordingFile.bytes(path))
        guard !trips.isEmpty else { throw .empty }
        for trip in trips {
            do throws(JourneyError) {
                journeys.append(
                    try Journey(name: trip.name.map { "\(name), trip \($0)" } ?? name, checking: trip.fixes))
            } catch .tooShort {
                continue
            }
        }
        guard !journeys.isEmpty else { throw .tooShort }
        return journeys
    }
}

/// Files with recordings or streets, plain or compressed.
enum RecordingFile {
    /// Maximum size of an unpacked file in bytes.
    static let largest = 256 * 1_048_576

    static func bytes(_ path: String, limitBytes: Int = Self.largest) throws(JourneyError) -> Data {
        let data: Data
        if (try? URL(fileURLWithPath: path).resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true {
            throw .unreadable(path: path, reason: "it is a folder: name the files in it")
        }
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            let reason =
                (error as NSError).code == NSFileReadNoSuchFileError
                ? "the file does not exist" : "\(error.localizedDescription)"
            throw .unreadable(path: path, reason: reason)
        }
        guard data.count <= limitBytes else { throw .tooLarge(limitBytes: limitBytes) }
        return path.hasSuffix(".gz") ? try self.unpacked(data, limitBytes: limitBytes) : data
    }

    private static func unpacked(_ data: Data, limitBytes: Int) throws(JourneyError) -> Data {
        do throws(GzipError) {
            return try GzipReader.unpack(data, maxBytes: limitBytes)
        } catch {
            switch error {
            case .damaged(_, let reason): throw .corruptGzip(reason: reason)
            case .tooLarge(let limit): throw .tooLarge(limitBytes: limit)
            case .outOfMemory: throw .corruptGzip(reason: "zlib could not allocate memory")
            }
        }
    }

    /// Lines with their numbers from 1, without line endings or a byte order mark.
    static func lines(_ data: Data) throws(JourneyError) -> [(number: Int, text: String)] {
        if data.starts(with: [0xFF, 0xFE]) || data.starts(with: [0xFE, 0xFF]) {
            throw .malformed(line: 1, reason: "the file is UTF-16. Save it as UTF-8")
        }
        var text = String(decoding: data, as: UTF8.self)
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        return text.split(omittingEmptySubsequences: false) { $0.isNewline }.enumerated().map { ($0 + 1, String($1)) }
    }
}
