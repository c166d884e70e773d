import EnrouteWire
import Testing

@Suite struct LocationReportTests {
    private static let fix = #"{"at":1700000000000,"lat":52.5,"lon":13.4}"#

    private static func message(_ fixes: String, job: String = #""job":"job-7","#, seq: String = #""seq":1,"#) -> String
    {
        #"{"type":"location",\#(job)\#(seq)"fixes":[\#(fixes)]}"#
    }

    private static func fix(_ members: String) -> String { self.message("{\(members)}") }

    private func report(_ json: String) throws -> LocationReport? {
        guard case .location(let report) = try clientMessage(json) else { return nil }
        return report
    }

    @Test func `every member of a report is decoded`() throws {
        let json = Self.fix(#""at":1700000000000,"lat":52.5201234,"lon":13.4049876,"acc":4.5,"spd":7.25,"hdg":359.9"#)
        let report = try #require(try self.report(json))
        #expect(report.job == .job7)
        #expect(report.sequence == 1)
        #expect(
            report.fixes == [
                Fix(
                    at: 1_700_000_000_000, place: .somewhere, accuracyMeters: 4.5, speedMetersPerSecond: 7.25,
                    headingDegrees: 359.9)
            ])
    }

    @Test(
        arguments: [
            #""lat":90,"lon":180"#, #""lat":-90,"lon":-180"#, #""lat":0,"lon":1e-7"#, #""lat":1,"lon":1,"acc":0"#,
            #""lat":1,"lon":1,"acc":10000"#, #""lat":1,"lon":1,"spd":0"#, #""lat":1,"lon":1,"spd":340"#,
            #""lat":1,"lon":1,"hdg":0"#, #""lat":1,"lon":1,"hdg":360"#,
            #""lat":1,"lon":1,"acc":null,"spd":null,"hdg":null"#,
            #""lat":5.25e1,"lon":1"#,
        ])
    func `T2: values at the ends of their ranges are accepted`(members: String) throws {
        #expect(try self.report(Self.fix(#""at":1700000000000,"# + members)) != nil)
    }

    @Test func `a speed or heading of -1, as iOS writes what it has not measured, is unknown`() throws {
        let members = #""at":1700000000000,"lat":41,"lon":12"#
        let plain = try self.report(Self.fix(members))
        #expect(plain != nil)
        for unknown in [#","spd":-1"#, #","hdg":-1"#, #","spd":-1,"hdg":-1.0"#, #","spd":null,"hdg":-1"#] {
            #expect(try self.report(Self.fix(members + unknown)) == plain)
        }
    }

    @Test(
        arguments: [
            (#""lat":1"#, "lat and lon"), (#""lon":1"#, "lat and lon"),
            (#""lat":null,"lon":1"#, "expected a number"),
            (#""lat":"1","lon":1"#, "expected a number"), (#""lat":NaN,"lon":1"#, "expected a value"),
            (#""lat":Infinity,"lon":1"#, "expected a value"),
            (#""lat":-Infinity,"lon":1"#, "a number is malformed"),
            (#""lat":1e999,"lon":1"#, "a number is out of range"),
            (#""lat":-1e999,"lon":1"#, "a number is out of range"),
            (#""lat":1.\#(String(repeating: "0", count: 127)),"lon":1"#, "longer than 128"),
            (#""lat":1,"lon":1,"acc":-0.1"#, "acc must be"), (#""lat":1,"lon":1,"acc":10000.1"#, "acc must be"),
            (#""lat":1,"lon":1,"spd":-0.1"#, "spd must be"), (#""lat":1,"lon":1,"spd":340.1"#, "spd must be"),
            (#""lat":1,"lon":1,"hdg":-0.1"#, "hdg must be"), (#""lat":1,"lon":1,"hdg":360.1"#, "hdg must be"),
            (#""lat":1,"lat":1,"lon":1"#, "contains a member twice"),
            (#""lat":1,"lon":1,"lon":2"#, "contains a member twice"),
            (#""lat":1,"lon":1,"at":1700000000001"#, "contains a member twice"),
            (#""lat":1,"lon":1,"acc":1,"acc":1"#, "contains a member twice"),
            (#""lat":1,"lon":1,"spd":1,"spd":1"#, "contains a member twice"),
            (#""lat":1,"lon":1,"hdg":1,"hdg":1"#, "contains a member twice"),
            (#""l\u0061t":1,"lon":1"#, "must not contain escape sequences"),
            (#""lat":1,"lon":1,"x":[[[[[[1]]]]]]"#, "deeper than 8 levels"),
        ])
    func `T2: an invalid fix is refused with the reason`(members: String, reason: String) {
        let given = refusal { _ = try self.report(Self.fix(#""at":1700000000000,"# + members)) }
        #expect(given?.contains(reason) == true, "\(given ?? "accepted")")
    }

    @Test(
        arguments: [
            (#""lat":90.1,"lon":1"#, .outOfRange), (#""lat":-90.1,"lon":1"#, .outOfRange),
            (#""lat":1,"lon":180.1"#, .outOfRange), (#""lat":1e300,"lon":-180.1"#, .outOfRange),
            (#""lat":0,"lon":0"#, .zeroZero), (#""lat":-0.0,"lon":0e5"#, .zeroZero),
        ] as [(String, InvalidFix.Fault)])
    func `T2: invalid coordinates make an invalid fix and are not stored`(
        members: String, fault: InvalidFix.Fault
    ) throws {
        let report = try #require(
            try self.report(Self.message(#"{"at":1700000000000,\#(members)},\#(Self.fix)"#)))
        #expect(report.invalidFixes == [InvalidFix(at: 1_700_000_000_000, fault: fault)] && report.fixes.count == 1)
        let again = try self.report(String(decoding: report.encoded, as: UTF8.self))
        #expect(again == report)
        #expect(try self.report(Self.fix(#""at":1700000000000,"# + members))?.fixes == [])
    }

    @Test(arguments: [
        "0", "-1", "999999999999", "10000000000000", "1700000000", "1e11", "1e13", "1700000000000.5",
        "\"1700000000000\"", "null",
    ])
    func `the time of a fix has thirteen digits`(at: String) {
        #expect(throws: BadMessage.self) { try self.report(Self.fix(#""at":\#(at),"lat":1,"lon":1"#)) }
    }

    /// As programs in other languages write them: Java's `double`, `BigDecimal` and C's `%.52f`.
    @Test func `numbers may be written with a fraction of zeros, an exponent and many digits`() throws {
        let fix = #"{"at":1700000000000,"lat":52.520008,"lon":13.4049}"#
        let usual = try self.report(Self.message(fix, seq: #""seq":17,"#))
        let latitude = "52.52000799999999713918441557325422763824462890625000"
        for (at, seq) in [("1700000000000.0", "17.0"), ("1.7E12", "1.7E1"), ("1.700e+12", "17.00")] {
            let other = #"{"at":\#(at),"lat":\#(latitude),"lon":1.34049E1}"#
            #expect(try self.report(Self.message(other, seq: #""seq":\#(seq),"#)) == usual, "\(at)")
            let body = Array(#"{"seq":\#(seq),"fixes":[\#(other)]}"#.utf8)
            let batch = try body.withUnsafeBytes { try LocationBatch($0) }
            #expect(batch.sequence == usual?.sequence && batch.fixes == usual?.fixes, "\(at)")
        }
    }

    @Test func `a fix without a time is refused`() {
        #expect(refusal { _ = try self.report(Self.fix(#""lat":1,"lon":1"#)) } == "a fix needs at: ms since the epoch")
    }

    @Test func `job, seq and fixes are required, once each`() {
        for (json, reason) in [
            (Self.message(Self.fix, job: ""), "location needs job"),
            (Self.message(Self.fix, seq: ""), "location needs seq: a whole number, 0 or greater"),
            (Self.message(Self.fix, seq: #""seq":-1,"#), "location needs seq: a whole number, 0 or greater"),
            (Self.message(Self.fix, seq: #""seq":1.5,"#), "seq must be a whole number"),
            (Self.message(#"{"at":1.5,"lat":1,"lon":1}"#), "at must be a whole number"),
            (Self.message(Self.fix, seq: #""seq":1,"seq":1,"#), "location contains a member twice"),
            (Self.message(Self.fix, job: #""job":"a","job":"a","#), "location contains a member twice"),
            (Self.message(""), "location needs at least one fix"),
            (#"{"type":"location","job":"a","seq":1}"#, "location needs at least one fix"),
            (#"{"type":"location","job":"a","seq":1,"fixes":[],"fixes":[]}"#, "location contains a member twice"),
            (#"{"type":"location","job":"a","seq":1,"fixes":{}}"#, "expected an array at byte 45"),
        ] {
            #expect(refusal { _ = try self.report(json) } == reason, "\(json)")
        }
    }

    @Test func `fifty fixes are accepted and fifty-one are refused`() throws {
        func fixes(_ count: Int) -> String { Array(repeating: Self.fix, count: count).joined(separator: ",") }
        #expect(try self.report(Self.message(fixes(50)))?.fixes.count == 50)
        #expect(
            refusal { _ = try self.report(Self.message(fixes(51))) }
                == "a location message can contain at most 50 fixes")
    }

    @Test func `seq may be zero, and has up to 18 digits`() throws {
        #expect(try self.report(Self.message(Self.fix, seq: #""seq":0,"#))?.sequence == 0)
        #expect(
            try self.report(Self.message(Self.fix, seq: #""seq":999999999999999999,"#))?.sequence
                == 999_999_999_999_999_999)
    }

    @Test func `a battery level is between 0 and 1, or absent`() throws {
        func report(_ level: String) throws -> LocationReport? {
            try self.report(Self.message(Self.fix, seq: #""seq":1,"battery":\#(level),"#))
        }
        #expect(try report("0")?.battery == 0 && report("1")?.battery == 1 && report("0.625")?.battery == 0.625)
        #expect(try report("null")?.battery == nil)
        for level in ["-0.01", "1.01", "42"] {
            #expect(refusal { _ = try report(level) } == "battery must be a level from 0 to 1", "\(level)")
        }
        #expect(refusal { _ = try report(#"1,"battery":1"#) } == "location contains a member twice")
    }

    @Test func `the newest fix is the one captured last, in whatever order they arrive`() throws {
        let times = [3, 1, 7, 2].map { 1_700_000_000_000 + Int64($0) }
        let report = LocationReport(
            job: .job7, sequence: 1, fixes: times.map { Fix(at: $0, place: .somewhere) })
        #expect(report.newest?.at == 1_700_000_000_007)
        #expect(LocationReport(job: .job7, sequence: 1, fixes: []).newest == nil)
    }

    @Test func `only a complete message is decoded, wherever it is cut off`() throws {
        let json = Self.fix(#""at":1700000000000,"lat":52.5201234,"lon":13.4049876,"hdg":10"#)
        let bytes = Array(json.utf8)
        for count in 0..<bytes.count {
            let part = Array(bytes.prefix(count))
            #expect(throws: BadMessage.self, "\(count) bytes") { try part.withUnsafeBytes { try ClientMessage($0) } }
        }
        #expect(try self.report(json) != nil)
    }
}
