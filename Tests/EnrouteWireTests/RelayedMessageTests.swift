import Testing

@testable import EnrouteWire

/// Which messages are relayed from a Redis channel to followers.
@Suite struct RelayedMessageTests {
    private static let job = JobID("job-7")!

    private static func location(
        id: String = "1795000000000000", at: String = "1795000000000", job: String = "job-7", lat: String = "41.9",
        lon: String = "12.5", more: String = ""
    ) -> String {
        #"{"type":"location","id":"\#(id)","at":\#(at),"job":"\#(job)","received":1795000000001,"lat":\#(lat),"lon":\#(lon)\#(more)}"#
    }

    private static func read(_ text: String) -> UInt64? {
        Array(text.utf8).withUnsafeBytes { PublishedLocation.read($0, of: Self.job)?.id }
    }

    @Test func `a location with all members that a gateway may publish is relayed`() {
        let fix = Fix(
            at: 1_795_000_000_000, place: Coordinate(latitude: -41.1234567, longitude: 179.9999999)!,
            accuracyMeters: 5.5,
            speedMetersPerSecond: 0, headingDegrees: 359.9)
        let tail = PublishedLocation.tail(of: fix, job: Self.job, receivedAt: 1_795_000_000_001)
        let message =
            #"{"type":"location","id":"1795000000000000","at":1795000000000"# + String(decoding: tail, as: UTF8.self)
        #expect(Self.read(message) == 1_795_000_000_000_000)
        #expect(Self.read(Self.location()) == 1_795_000_000_000_000)
        // A member of a later version.
        #expect(Self.read(Self.location(more: #","alt":12.5,"note":"tür \"A\"","of":[1,{"a":null}]"#)) != nil)
    }

    @Test(arguments: [
        "", "{", "null", "[]", location(id: "179500000000000"), location(id: "17950000000000000"),
        location(id: "-795000000000000"),
        location(at: "1e11"), location(at: "99"), location(at: "9223372036854775807"), location(at: "null"),
        location(job: "job-8"), location(job: "job-7\\u0020"), location(lat: "90.1"), location(lat: "1e308"),
        location(lat: "1e999"), location(lat: "nan"), location(lat: "\"41.9\""), location(lat: "null"),
        location(lon: "180.5"),
        location(lat: "0", lon: "0"), location() + "x", location() + location(), String(location().dropLast()),
        location(more: #","lat":1"#), location(more: #","acc":"5""#), location(more: #","x":"\u{1}""#),
        location(more: #","x":"\ud800""#), location(more: #","x":"\#(String(repeating: "A", count: 5_000))""#),
    ])
    func `B27: a location that a client cannot decode is not relayed`(text: String) {
        #expect(Self.read(text) == nil)
    }

    @Test func `B27: a message with invalid UTF-8 at any position is not relayed`() {
        let good = Array(Self.location(more: #","x":"abc""#).utf8)
        for place in good.indices {
            var bytes = good
            bytes[place] = 0xFF
            #expect(bytes.withUnsafeBytes { PublishedLocation.read($0, of: Self.job) } == nil, "\(place)")
            #expect(bytes.withUnsafeBytes { ServerMessage(ours: $0) } == nil, "\(place)")
        }
    }

    @Test(arguments: [
        #"{"type":"eta","job":"j","state":"ok","arrivesAt":999999999999999999,"seconds":1,"at":1}"#,
        #"{"type":"eta","job":"j","state":"ok","arrivesAt":1,"seconds":999999999999999999,"at":1}"#,
        #"{"type":"eta","job":"j","state":"ok","arrivesAt":1,"seconds":-1,"at":1}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":-999999999999999999}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":1,"stopsBefore":999999999999999999}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":1,"earliestAt":2,"latestAt":1}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":1,"earliestAt":2}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":1,"route":{"polyline":"_p~iF","meters":1,"seconds":1}}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":1,"route":7}"#,
        #"{"type":"eta","job":"j","state":"unavailable","at":9223372036854775807}"#,
    ])
    func `B27: an arrival time with a number out of range is not relayed`(text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { ServerMessage(ours: $0) } == nil)
    }
}
