import EnrouteWire
import Testing

@Suite struct CoordinateTests {
    @Test func `T2: coordinates at the ends of the ranges are valid, and those beyond are not`() {
        for (latitude, longitude) in [(90.0, 180.0), (-90, -180), (0, 0.1), (0.1, 0)] {
            #expect(Coordinate(latitude: latitude, longitude: longitude) != nil)
        }
        for (latitude, longitude) in [
            (90.000001, 0.0), (-90.000001, 0), (1, 180.000001), (1, -180.000001), (.nan, 1), (1, .nan),
            (.infinity, 1), (1, -.infinity),
        ] {
            #expect(Coordinate(latitude: latitude, longitude: longitude) == nil, "\(latitude), \(longitude)")
        }
    }

    @Test func `T2: the coordinates 0 and 0 are refused, whatever their sign`() {
        for latitude in [0.0, -0.0] {
            for longitude in [0.0, -0.0] { #expect(Coordinate(latitude: latitude, longitude: longitude) == nil) }
        }
    }

    @Test func `coordinates survive encoding and decoding`() throws {
        let json = Coordinate.somewhere.json
        #expect(String(decoding: json, as: UTF8.self) == #"{"lat":52.5201234,"lon":13.4049876}"#)
        #expect(try json.withUnsafeBytes { try Coordinate(json: $0) } == .somewhere)
    }

    @Test(arguments: ["{}", #"{"lat":1}"#, #"{"lat":91,"lon":0}"#, #"{"lat":0,"lon":0}"#, "[1,2]", ""])
    func `JSON without valid coordinates is refused`(json: String) {
        #expect(throws: BadMessage.self) { try Array(json.utf8).withUnsafeBytes { try Coordinate(json: $0) } }
    }
}

/// Positions of people must not reach a log through any of Swift's conversions of values to text.
@Suite struct RedactionTests {
    private static let fix = Fix(at: 1_700_000_000_000, place: .somewhere)
    private static let report = LocationReport(job: .job7, sequence: 1, fixes: [fix])
    private static let published =
        #"{"type":"location","id":"1700000000000001","at":1700000000000"#
        + String(decoding: PublishedLocation.tail(of: fix, job: .job7, receivedAt: 1), as: UTF8.self)
    private static let snapshot = Snapshot(
        kind: .delivery, status: .inTransit, statusAt: 1, epoch: "e", id: StatusID("1-0")!, destination: .somewhere,
        tracking: .live, position: Array(published.utf8))

    private func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(describing: value), String(reflecting: value), dumped]
    }

    private func saysNothing(_ value: Any, _ secrets: [String]) {
        for text in self.texts(of: value) {
            for secret in secrets { #expect(!text.contains(secret), "\(text)") }
        }
    }

    private func isRedacted(_ value: Any) {
        // The digits, and the character codes of the digits.
        self.saysNothing(value, ["5201234", "4049876", "52.5", "13.4", "53, 50, 46, 53"])
    }

    @Test func `I2: the description of a coordinate contains no position`() { self.isRedacted(Coordinate.somewhere) }
    @Test func `the description of an optional coordinate contains no position`() {
        self.isRedacted(Coordinate?.some(.somewhere) as Any)
    }
    @Test func `the description of a fix contains no position`() { self.isRedacted(Self.fix) }
    @Test func `the description of a report contains no position`() { self.isRedacted(Self.report) }
    @Test func `I2: the description of a client message contains no position`() {
        self.isRedacted(ClientMessage.location(Self.report))
    }

    @Test func `the description of a decoded location contains no position`() throws {
        let message = try serverMessage(Self.published)
        self.isRedacted(message)
        guard case .location(let location) = message else {
            Issue.record("not a location")
            return
        }
        #expect(location.fix.place == .somewhere)
        self.isRedacted(location)
    }

    @Test func `the description of a snapshot contains neither the destination nor the position`() {
        self.isRedacted(Self.snapshot)
        self.isRedacted(ServerMessage.subscribed(job: .job7, Self.snapshot))
        #expect("\(Self.snapshot)".contains("inTransit"))
    }

    @Test func `the description of a credential does not contain its token`() {
        for credential in [Credential.token("eyJhbGciOi"), .link("0123456789abcdef")] {
            self.saysNothing(credential, ["eyJhbGciOi", "0123456789abcdef"])
            self.saysNothing(ClientMessage.auth(credential), ["eyJhbGciOi", "0123456789abcdef"])
        }
    }

    @Test func `I2: a refusal never repeats the bytes it refuses`() {
        for json in [
            #"{"type":"presence","lat":152.5201234,"lon":13.4049876}"#,
            #"{"type":"location","job":"job-7","seq":1,"fixes":[{"at":0,"lat":52.5201234,"lon":13.4049876}]}"#,
            #"{"type":"auth","token":"eyJhbGciOi"#, #"{"type":"subscribe","job":"eyJhbGciOi!"}"#,
        ] {
            let reason = refusal { _ = try clientMessage(json) }
            #expect(reason?.contains("5201234") == false)
            #expect(reason?.contains("eyJhbGciOi") == false)
        }
    }
}
