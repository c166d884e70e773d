import Foundation
import Testing

/// `enroute eta-accuracy`, run as a user runs it.
@Suite struct ETAAccuracyTests {
    /// Half an hour north, with a fix every five seconds.
    private static var recording: String {
        let rows = (0...360).map { step in
            "\(1_795_000_000_000 + step * 5000),\(48 + Double(step) * 0.0004),16.4"
        }
        return (["unix_ms,lat,lon"] + rows).joined(separator: "\n") + "\n"
    }

    @Test func `errors of arrival times are compared with those of a straight line, for each horizon`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-score-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, still) = (folder.appending(path: "trip.csv"), folder.appending(path: "still.csv"))
        try Self.recording.write(to: file, atomically: true, encoding: .utf8)
        try "unix_ms,lat,lon\n1795000000000,0,0\n1795000001000,0,0\n".write(
            to: still, atomically: true, encoding: .utf8)
        let outcome = try await CommandTests.run(["eta-accuracy", file.path, still.path])
        #expect(outcome.code == 0 && outcome.error.isEmpty)
        #expect(outcome.output.contains("trip.csv: 29 min to the arrival, 361 fixes accepted, 0 held, 0 refused"))
        #expect(outcome.output.contains("still.csv: fewer than two fixes were accepted"))
        // The recording is a straight road at constant speed, which the straight line predicts best.
        let tables = outcome.output.components(separatedBy: "\n\n").suffix(2)
        #expect(tables.map { $0.split(separator: "|")[1] } == [" minutes before ", " minutes predicted "])
        for (table, minutes) in tables.flatMap({ table in ["| 5 | ", "| 10 | ", "| 20 | "].map { (table, $0) } }) {
            #expect(table.contains("\n| learned " + minutes))
        }
    }

    @Test func `every trip of a file counts for the vehicle in its name, in its folder, or in the option`() async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-score-\(UUID())")
        let riders = folder.appending(path: "moped")
        try FileManager.default.createDirectory(at: riders, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = Self.recording.split(separator: "\n").dropFirst()
        let two = ["a", "b"].flatMap { trip in lines.map { "\(trip),\($0)" } }
        let (rides, other) = (folder.appending(path: "bicycle.csv"), riders.appending(path: "monday.csv"))
        try (["trip_id,unix_ms,lat,lon"] + two).joined(separator: "\n").write(
            to: rides, atomically: true, encoding: .utf8)
        try Self.recording.write(to: other, atomically: true, encoding: .utf8)
        let outcome = try await CommandTests.run(["score", rides.path, other.path])
        #expect(outcome.code == 0 && outcome.output.contains("bicycle.csv: 2 trips"))
        let rows = outcome.output.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| vehicle") }
        let vehicles = ["bicycle", "bicycle", "bicycle", "moped", "moped", "moped"]
        #expect(rows.map { String($0.split(separator: " ")[1]) } == vehicles + vehicles)
        let counts = rows.map { $0.split(separator: "|")[2].trimmingCharacters(in: .whitespaces) }.compactMap {
            Int($0)
        }
        #expect(counts.count == 12 && counts[0] == 2 * counts[3] && counts[2] == 2 * counts[5])
        // The second table is grouped by the predicted time, which depends on the vehicle; the two rides are the same.
        #expect(counts[6...].allSatisfy { $0 > 0 } && counts[6..<9].allSatisfy { $0.isMultiple(of: 2) })
        let chosen = try await CommandTests.run(["score", "--vehicle", "van", rides.path, other.path])
        #expect(chosen.output.contains("\n| van | 5 ") && !chosen.output.contains("| bicycle"))
        let wrong = try await CommandTests.run(["score", "--vehicle", "ship", rides.path])
        #expect(wrong.code == 64 && wrong.error.contains("--vehicle must be one of foot, bicycle"))
    }

    @Test func `errors and warnings name the file that they are about`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-score-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ name: String, _ text: String) throws -> String {
            let file = folder.appending(path: name)
            try text.write(to: file, atomically: true, encoding: .utf8)
            return file.path
        }
        let good = try write("good.csv", Self.recording)
        for (name, text, message) in [
            ("header.csv", "unix_ms,lat,lon\n", "The file contains no fix"),
            ("back.csv", "unix_ms,lat,lon\n2000,1,1\n1000,1,1\n", "Line 3: the time is earlier than on line 2"),
            ("one.gpx", "<gpx/>", "The file contains no fix"),
        ] {
            let bad = try write(name, text)
            let outcome = try await CommandTests.run(["score", good, bad])
            #expect(outcome.code == 65 && outcome.error.contains("enroute: \(bad): \(message)"), "\(outcome.error)")
        }
        let absent = try await CommandTests.run(["score", good, "/nowhere.csv"])
        #expect(absent.code == 65 && absent.error.hasPrefix("enroute: /nowhere.csv cannot be read: the file does not"))
        // Sentences without a checksum are used.
        let log = try write(
            "bare.nmea",
            (10...50).map { "$GPRMC,1200\($0),A,4154.1\($0),N,01230.000,E,9.7,90.0,010126,,,A" }.joined(separator: "\n")
        )
        let outcome = try await CommandTests.run(["score", good, log])
        #expect(outcome.code == 0 && !outcome.output.contains("warning"))
        #expect(outcome.error == "warning: \(log): 41 sentences have no checksum and were used unverified\n")
    }

    @Test func `with a street network the tables have its estimates and its routes`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-score-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (trip, town) = (folder.appending(path: "car.csv"), folder.appending(path: "town.geojson"))
        try Self.recording.write(to: trip, atomically: true, encoding: .utf8)
        try """
        {"type":"FeatureCollection","features":[{"type":"Feature","properties":{"highway":"primary"},
        "geometry":{"type":"LineString","coordinates":[[16.4,47.9],[16.4,48.05],[16.4,48.2]]}}]}
        """.write(to: town, atomically: true, encoding: .utf8)
        let streets = folder.appending(path: "town.streets").path
        #expect(try await CommandTests.run(["streets", "build", town.path, "--output", streets]).code == 0)
        let outcome = try await CommandTests.run(["score", "--streets", streets, trip.path])
        #expect(outcome.code == 0 && outcome.error.isEmpty)
        for name in ["car", "car, with streets", "car, streets alone"] {
            let row = try #require(outcome.output.split(separator: "\n").first { $0.hasPrefix("| \(name) | 10 |") })
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(try #require(Int(cells[2])) > 0 && cells[5].hasSuffix("%") == !name.contains("alone"), "\(row)")
        }
        let other = try await CommandTests.run(["score", "--streets", trip.path, trip.path])
        #expect(other.code == 65 && other.error.contains("is not a compiled street file"))
    }
}
