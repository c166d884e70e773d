import Foundation
import TestSupport
import Testing

@testable import Journeys

@Suite struct JourneyFileTests {
    private static let trip = StreetGrid.generate(seed: 3).trip(seed: 3, startingAt: 1_795_000_000_000)

    private static func isSame(_ journey: Journey, _ other: Journey) -> Bool {
        journey.fixes.count == other.fixes.count
            && zip(journey.fixes, other.fixes).allSatisfy { a, b in
                a.at == b.at && abs(a.latitude - b.latitude) < 1e-6 && abs(a.longitude - b.longitude) < 1e-6
            }
    }

    @Test func `a trip written as GPX, CSV or NMEA is read unchanged, plain and compressed`() throws {
        for (name, text) in [("a.gpx", Self.trip.asGPX), ("a.csv", Self.trip.asCSV), ("a.nmea", Self.trip.asNMEA)] {
            #expect(Self.isSame(try load(name, text), Self.trip), "\(name)")
            let packed = try withFile(name + ".gz", gzipped(Data(text.utf8))) { try Journey.load(path: $0) }
            #expect(Self.isSame(packed, Self.trip), "\(name).gz")
        }
    }

    @Test(arguments: ["a.csv", "a.nmea"])
    func `a file in UTF-16 is refused with a remedy`(name: String) throws {
        let text = try #require("unix_ms,lat,lon\n1000,1,1\n".data(using: .utf16))
        #expect(throws: JourneyError.malformed(line: 1, reason: "the file is UTF-16. Save it as UTF-8")) {
            try withFile(name, text) { try Journey.load(path: $0) }
        }
    }

    @Test func `coordinates in the southern and western hemispheres are read`() throws {
        let grid = StreetGrid.generate(seed: 1, around: Place(latitude: -33.45, longitude: -70.66))
        let trip = grid.trip(seed: 1, startingAt: 1_795_000_000_000)
        #expect(Self.isSame(try load("a.nmea", trip.asNMEA), trip))
    }

    @Test(arguments: [
        (
            "a.gpx",
            "<gpx><trk><trkseg>\n<trkpt lat=\"1\" lon=\"2\"><time>2026-01-01T00:00:00Z</time></trkpt>\n</trk></gpx>",
            "Line 3: the file is not well-formed XML"
        ),
        (
            "a.gpx", "<gpx><trk>\n<trkpt lon=\"2\"><time>2026-01-01T00:00:00Z</time></trkpt></trk></gpx>",
            "Line 2: trkpt needs"
        ),
        ("a.gpx", "<gpx><trk>\n\n<trkpt lat=\"1\" lon=\"2\"/></trk></gpx>", "Line 3: the fix has no time"),
        (
            "a.gpx", "<gpx><trk><trkpt lat=\"1\" lon=\"2\">\n<time>yesterday</time></trkpt></trk></gpx>",
            "Line 2: the time is not"
        ),
        (
            "a.gpx", "<gpx><trk><trkpt lat=\"1\" lon=\"2\">\n<time>2026-01-01T00:00:00</time></trkpt></trk></gpx>",
            "Line 2: the time has no time zone"
        ),
        (
            "a.gpx", "<gpx><trk>\n<trkpt lat=\"1\" lon=\"2\"><time>2026-01-01T00:00:00Z</time></trkpt>",
            "Line 2: the file is truncated"
        ),
        ("a.gpx", "<!DOCTYPE a [<!ENTITY a \"aa\">]>\n<gpx/>", "Line 1: document type declarations are"),
        ("a.gpx", "", "contains no fix"), ("a.gpx", "<gpx/>", "contains no fix"), ("a.csv", "", "contains no fix"),
        ("a.gpx", "<gpx><trkpt lat=\"1\" lon=\"2\"><time>2026-01-01T00:00:00Z</time></trkpt></gpx>", "only one fix"),
        ("a.csv", "unix_ms,lat,lon\n1000,1,1\n\n3000,1,1\n2000,1,1\n", "Line 5: the time is earlier than on line 4"),
        ("a.csv", "unix_ms,lat,lon\n1000,91,1\n", "Line 2: latitude must be"),
        ("a.csv", "unix_ms,lat,lon\n1000,1,181\n", "Line 2: latitude must be"),
        ("a.csv", "unix_ms,lat,lon\n1000,1\n", "Line 2: the line has 2 fields, but the header has 3"),
        ("a.csv", "unix_ms,lat,lon\n1000,x,1\n", "Line 2: lat is not a number"),
        ("a.csv", "unix_ms,lat,lon\n1000,nan,1\n", "Line 2: lat is not a number"),
        ("a.csv", "unix_ms,lat,lon\n,1,1\n", "Line 2: the fix has no time"),
        ("a.csv", "unix_ms,lat,lon\n1000,\"1,1\n", "Line 2: a quoted field is not closed"),
        ("a.csv", "name,where\n", "Line 1: the header must name"),
        ("a.nmea", "$GPRMC,120000,A,4154.0,N,01230.0,E,0,0,010126,,*00\n", "Line 1: the checksum does not match"),
        ("a.nmea", "hello\n", "Line 1: this is not an NMEA sentence"),
        ("a.txt", "", "The format of"), ("a.gpx.gz", "not gzip", "gzip data is damaged"),
    ])
    func `an unusable recording is refused with its line and a remedy`(name: String, text: String, reason: String) {
        #expect {
            try load(name, text)
        } throws: {
            "\($0)".contains(reason)
                || {
                    print("got: \($0)"); return false
                }($0)
        }
    }

    /// Two track points, each with further elements inside; the points already have a time.
    private static func gpx(_ inside: String, prefix: String = "") -> String {
        let points = (0..<2).map { second in
            "<\(prefix)trkpt lat=\"1.\(second)\" lon=\"2\"><\(prefix)time>2026-01-01T00:00:0\(second)Z</\(prefix)time>"
                + "\(inside)</\(prefix)trkpt>"
        }
        return "<\(prefix)gpx xmlns:g=\"http://www.topografix.com/GPX/1/1\" xmlns:x=\"urn:x\"><\(prefix)trk>"
            + "<\(prefix)trkseg>\(points.joined())</\(prefix)trkseg></\(prefix)trk></\(prefix)gpx>"
    }

    @Test func `GPX elements may have a prefix`() throws {
        let trip = try load("a.gpx", Self.gpx("<g:speed>5</g:speed><g:course>90</g:course>", prefix: "g:"))
        #expect(trip.fixes.map(\.at) == [1_767_225_600_000, 1_767_225_601_000])
        #expect(trip.fixes.map(\.latitude) == [1, 1.1])
        #expect(trip.fixes.map(\.speedMetersPerSecond) == [5, 5] && trip.fixes.map(\.headingDegrees) == [90, 90])
    }

    @Test(arguments: [
        "<extensions><x:time>yesterday</x:time><x:a><x:speed>5</x:speed><x:course>90</x:course></x:a></extensions>",
        "<extensions><time>12</time><x:trkpt><x:time/></x:trkpt><speed>5</speed></extensions><course>90</course>",
    ]) func `a time in the extensions of a point is not its own, and a speed there is`(inside: String) throws {
        let trip = try load("a.gpx", Self.gpx(inside))
        #expect(trip.fixes.map(\.at) == [1_767_225_600_000, 1_767_225_601_000])
        #expect(trip.fixes.map(\.speedMetersPerSecond) == [5, 5] && trip.fixes.map(\.headingDegrees) == [90, 90])
    }

    @Test(arguments: ["nan", "inf", "-1", "-inf", "fast", ""])
    func `a speed or a course that is not a valid number is left out`(value: String) throws {
        let track = try load("a.gpx", Self.gpx("<speed>\(value)</speed><course>\(value)</course>"))
        #expect(track.fixes.allSatisfy { $0.speedMetersPerSecond == nil && $0.headingDegrees == nil })
    }

    @Test func `a CSV file with unknown values of -1 and a course of 400 degrees is read without them`() throws {
        let text = "unix_ms,lat,lon,acc,speed,course\n1000,1,1,-1,-1,-1\n2000,1,1.001,5,3,400\n3000,1,1.002,0,0,360\n"
        let fixes = try load("a.csv", text).fixes
        #expect(fixes.map(\.accuracyMeters) == [nil, 5, 0] && fixes.map(\.speedMetersPerSecond) == [nil, 3, 0])
        #expect(fixes.map(\.headingDegrees) == [nil, nil, 360])
    }

    @Test func `a CSV file with a header alone has no fix, for one trip and for all`() throws {
        for text in ["unix_ms,lat,lon\n", "trip,unix_ms,lat,lon"] {
            #expect(throws: JourneyError.empty) { try load("a.csv", text) }
            #expect(throws: JourneyError.empty) {
                try withFile("a.csv", Data(text.utf8)) { try Journey.loadAll(path: $0) }
            }
        }
    }

    @Test func `an error names its file once`() {
        let error = JourneyError.tooShort.naming("/trips/a.csv")
        #expect("\(error)" == "/trips/a.csv: The file contains only one fix. A trip needs at least two.")
        #expect(error.naming("/trips/a.csv") == error)
        let absent = JourneyError.unreadable(path: "/a", reason: "the file does not exist")
        #expect(absent.naming("/a") == absent)
    }

    @Test func `the error for a missing file contains its path`() {
        #expect {
            try Journey.load(path: "/nowhere/trip.gpx")
        } throws: { "\($0)".contains("/nowhere/trip.gpx cannot be read: the file does not exist") }
    }

    @Test func `a compressed recording that is damaged, truncated or unpacks to too much is refused`() throws {
        let text = Data(Self.trip.asCSV.utf8)
        let packed = gzipped(text)
        for wrong in [packed.dropLast(20), packed + Data([1]), packed + Data(count: 3) + packed] {
            #expect {
                try withFile("a.csv.gz", wrong) { try Journey.load(path: $0) }
            } throws: { "\($0)".contains("gzip data is damaged") }
        }
        #expect(throws: JourneyError.tooLarge(limitBytes: 1_000_000)) {
            try withFile("a.csv.gz", gzipped(Data(count: 4_000_000))) {
                try RecordingFile.bytes($0, limitBytes: 1_000_000)
            }
        }
    }

    @Test func `a compressed recording with several members is read as a whole`() throws {
        let text = Data(Self.trip.asCSV.utf8)
        let half = text.count / 2
        let members = gzipped(text.prefix(half)) + gzipped(Data(text.dropFirst(half))) + gzipped(Data())
        let journey = try withFile("a.csv.gz", members + Data(count: 512)) { try Journey.load(path: $0) }
        #expect(Self.isSame(journey, Self.trip))
    }

    @Test func `a CSV file with several trips yields the named one, or the first`() throws {
        let text = "trip_id,unix_ms,lat,lon\na,1000,1,1\nb,1000,2,2\na,2000,1,1.001\nb,2000,2,2.001\n"
        #expect(try load("a.csv", text).fixes[0].latitude == 1)
        #expect(try load("a.csv", text, trip: "b").fixes[0].latitude == 2)
        #expect(throws: JourneyError.noSuchTrip("c")) { try load("a.csv", text, trip: "c") }
        let unnamed = "unix_ms,lat,lon\n1000,1,1\n2000,1,1\n"
        #expect(throws: JourneyError.noSuchTrip("c")) { try load("a.csv", unnamed, trip: "c") }
        #expect(throws: JourneyError.noSuchTrip("c")) { try load("a.gpx", "<gpx></gpx>", trip: "c") }
    }

    @Test func `void NMEA fixes are skipped and a repeated time counts once`() throws {
        let void = "GPRMC,120000,V,,,,,,,010126,,"
        let line = String(format: "$%@*%02X\n", void, Int(void.utf8.reduce(UInt8(0), ^)))
        #expect(try load("a.nmea", line + Self.trip.asNMEA).fixes.count == Self.trip.fixes.count)
        #expect(try load("a.csv", "unix_ms,lat,lon\n1000,1,1\n1000,1,2\n2000,1,1\n").fixes.count == 2)
    }

    @Test func `B19: a log as programs write it is read, with warnings about doubtful lines`() throws {
        func sentence(_ body: String) -> String {
            let sum = body.utf8.reduce(UInt8(0), ^)
            return "$\(body)*" + String(format: "%02X", Int(sum))
        }
        func rmc(_ talker: String, _ second: Int) -> String {
            "\(talker)RMC,1200\(second < 10 ? "0" : "")\(second),A,4154.0\(second),N,01230.0,E,0,0,010126,,"
        }
        let log = [
            "# Name: a receiver", "# Chipset: another", "", "$PSRFTXT,Version 1.0", "$PMTK010,001*2E",
            "$PGRME,15.0,M,*00",
            "!AIVDM,1,1,,A,13u?etPv2;0n:dDPwUM1U1Cb069D,0*24", sentence("GPGSV,1,1,00"), sentence(rmc("GP", 1)),
            "$" + rmc("GN", 2), sentence(rmc("BD", 3)), sentence(rmc("QZ", 4)).dropLast(2) + "00", "$GPRMC,1200",
            sentence("GPRMC,120005,V,,,,,,,010126,,"), sentence(rmc("GL", 6)), "half a li",
        ].joined(separator: "\r\n")
        let journey = try load("a.log", log)
        #expect(journey.fixes.count == 4)
        #expect(journey.warnings.count == 2)
        #expect(journey.warnings.first?.hasPrefix("1 sentence has no checksum") == true)
        #expect(
            journey.warnings.last?.contains(
                "3 damaged lines were skipped (1 with a wrong checksum); the first: Line 12:") == true)
        #expect(try load("a.csv", "unix_ms,lat,lon\n1000,1,1\n2000,1,1\n").warnings.isEmpty)
    }

    private static let recordings = URL(filePath: #filePath).appending(path: "../../../../shared/data").standardized

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: recordings.path), "../shared/data is not there"))
    func `every real recording beside the project can be read`() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.recordings.appending(path: "trips").path) {
            #expect(
                try Journey.load(path: Self.recordings.appending(path: "trips/\(name)").path).fixes.count > 100,
                "\(name)")
        }
        let agents = Self.recordings.appending(path: "delivery-agents-805-trips.csv.gz").path
        #expect(try Journey.load(path: agents).fixes.count > 10)
        for name in ["rome", "petersburg"] {
            #expect(
                try Streets.load(path: Self.recordings.appending(path: "\(name).streets.geojson.gz").path).count
                    > 10_000)
        }
    }
}
