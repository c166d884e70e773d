import Foundation
import Testing

@testable import Journeys

/// Logs as receivers and logging programs write them.
@Suite struct NMEATests {
    private static func sentence(_ body: String) -> String {
        "$\(body)*" + String(format: "%02X", Int(body.utf8.reduce(UInt8(0), ^)))
    }

    /// A position in Rome that moves north, at this many seconds after noon.
    private static func place(_ second: Int) -> String { "4154.\(100 + second),N,01230.000,E" }
    private static func time(_ second: Int) -> String { "1200" + (second < 10 ? "0" : "") + "\(second).00" }
    private static func rmc(_ talker: String, _ second: Int) -> String {
        Self.sentence("\(talker)RMC,\(Self.time(second)),A,\(Self.place(second)),9.7,90.0,010126,,,A")
    }
    private static func gga(_ talker: String, _ second: Int, hdop: String = "1.2", quality: Int = 1) -> String {
        Self.sentence("\(talker)GGA,\(Self.time(second)),\(Self.place(second)),\(quality),08,\(hdop),50.0,M,46.9,M,,")
    }

    private static func load(_ lines: [String]) throws -> Journey {
        try JourneysTests.load("a.nmea", lines.joined(separator: "\r\n"))
    }

    @Test func `GGA adds the accuracy to RMC of the same time, whichever comes first and whoever sends it`() throws {
        let journey = try Self.load([
            Self.gga("GN", 1), Self.rmc("GN", 1), Self.rmc("GP", 2), Self.gga("GP", 2, hdop: "2.0"), Self.rmc("GL", 3),
            Self.gga("GN", 5), Self.rmc("GA", 4),
        ])
        #expect(journey.fixes.map(\.accuracyMeters) == [6, 10, nil, nil])
        #expect(journey.fixes.allSatisfy { abs(($0.speedMetersPerSecond ?? 0) - 4.99) < 0.01 })
        #expect(journey.warnings.isEmpty)
    }

    @Test func `a receiver with several talkers counts each time once`() throws {
        let journey = try Self.load((1...3).flatMap { [Self.rmc("GP", $0), Self.rmc("GN", $0), Self.rmc("GL", $0)] })
        #expect(journey.fixes.map { $0.at % 60_000 } == [1000, 2000, 3000])
    }

    @Test func `a log of GGA alone gets its date from ZDA, and a warning without it`() throws {
        let positions = [Self.gga("GP", 1), Self.gga("GP", 2, quality: 0), Self.gga("GP", 3)]
        let dated = try Self.load([Self.sentence("GPZDA,120000.00,01,01,2026,00,00")] + positions)
        #expect(dated.fixes.map(\.at) == [1_767_268_801_000, 1_767_268_803_000])
        #expect(dated.fixes.map(\.accuracyMeters) == [6, 6] && dated.warnings.isEmpty)
        let undated = try Self.load(positions)
        #expect(undated.fixes.map(\.at) == [43_201_000, 43_203_000])
        #expect(undated.warnings.first?.hasPrefix("the log has no date") == true)
    }

    @Test func `a trip of GGA sentences continues after midnight`() throws {
        let times = ["235958", "235959", "000000", "000001"]
        let journey = try Self.load(
            times.map { Self.sentence("GPGGA,\($0),\(Self.place(1)),1,08,1.0,50.0,M,,M,,") })
        #expect(zip(journey.fixes, journey.fixes.dropFirst()).allSatisfy { $1.at == $0.at + 1000 })
    }

    @Test func `missing and wrong checksums are counted, and sentences with a wrong one are skipped`() throws {
        let bare = { (second: Int) in String(Self.rmc("GN", second).dropLast(3)) }
        let journey = try Self.load([
            "# a logger", "$PMTK705,AXN_2.31", "$PUBX,00,1", bare(1), bare(2), Self.rmc("GN", 3).dropLast(2) + "00",
            Self.gga("GN", 4).dropLast(2) + "ZZ", Self.rmc("GN", 5),
        ])
        #expect(journey.fixes.map { $0.at % 60_000 } == [1000, 2000, 5000])
        #expect(
            journey.warnings == [
                "2 sentences have no checksum and were used unverified",
                "2 damaged lines were skipped (2 with a wrong checksum); the first: "
                    + "Line 6: the checksum does not match, so the line is damaged.",
            ])
    }

    @Test(arguments: [
        ([1, 2, 3, 2, 4], [1, 2, 3, 4], 1), ([1, 5, 2, 3, 6], [1, 2, 3, 6], 1), ([9, 1, 2, 3], [1, 2, 3], 1),
        // A repeated time is in order, and counts once.
        ([9, 8, 1, 2, 3, 3, 4], [1, 2, 3, 4], 2), ([1, 2, 9, 3, 4, 5], [1, 2, 3, 4, 5], 1),
        ([3, 4, 1, 2, 5], [3, 4, 5], 2),
    ]) func `fixes whose times are not in order are skipped, and counted`(
        seconds: [Int], kept: [Int], skipped: Int
    ) throws {
        let journey = try Self.load(seconds.map { Self.rmc("GP", $0) })
        #expect(journey.fixes.map { Int($0.at % 60_000) / 1000 } == kept)
        #expect(
            journey.warnings == [
                skipped == 1
                    ? "1 fix was skipped, because its time is not in order"
                    : "\(skipped) fixes were skipped, because their times are not in order"
            ])
    }

    @Test func `a first date in the far future does not cause the rest of a log to be skipped`() throws {
        let future = Self.sentence("GPRMC,\(Self.time(0)),A,\(Self.place(0)),9.7,90.0,010179,,,A")
        let journey = try Self.load([future] + (1...50).map { Self.rmc("GP", $0) })
        #expect(journey.fixes.count == 50 && journey.warnings.count == 1)
        #expect(journey.fixes[0].at == 1_767_268_801_000)
    }

    @Test func `a log of GNS sentences alone is read like one of GGA`() throws {
        func gns(_ second: Int, mode: String) -> String {
            Self.sentence("GNGNS,\(Self.time(second)),\(Self.place(second)),\(mode),12,1.2,50.0,46.9,,,V")
        }
        let journey = try Self.load([
            Self.sentence("GNZDA,120000.00,01,01,2026,00,00"), gns(1, mode: "AN"), gns(2, mode: "NNN"),
            gns(3, mode: "NA"), gns(4, mode: ""), gns(5, mode: "D"),
        ])
        #expect(journey.fixes.map(\.at) == [1_767_268_801_000, 1_767_268_803_000, 1_767_268_805_000])
        #expect(journey.fixes.map(\.accuracyMeters) == [6, 6, 6] && journey.warnings.isEmpty)
    }

    @Test func `a sentence behind a time stamp or an interrupted sentence is read`() throws {
        let journey = try Self.load([
            "2026-01-01T12:00:01Z " + Self.rmc("GP", 1), "$GPGSV,3,1,11,0" + Self.rmc("GP", 2),
            "\\s:r1,c:1767268803*00\\" + Self.rmc("GP", 3),
        ])
        #expect(journey.fixes.count == 3 && journey.warnings.isEmpty)
    }

    @Test(arguments: [
        "$GPRMC,120000,A,9999999999999999999999.0,N,1e308,E,inf,nan,010126,,", "$GPRMC,-1-1-1,A,1,N,1,E,1,1,-1-1-1,,",
        "$GPGGA,999999,1,N,1,E,99999999999999999999,,", "$GPGGA,120000,nan,N,1,E,1,8,inf,", "$", "$*", "$GPRMC*", "$,*",
        "$GPZDA,120000,99,99,99999999999999999999,,", "$GPRMC,120000,A,1,N,1,E,1,1,999999,,",
    ])
    func `malformed sentences are skipped or refused`(line: String) throws {
        #expect(throws: JourneyError.self) { try Self.load([line, line]) }
        #expect(try Self.load([line, Self.rmc("GP", 1), Self.rmc("GP", 2)]).fixes.count == 2)
    }
}
