import TestSupport
import Testing

@testable import EnrouteWire

@Suite struct PublishedLocationTests {
    private static let fix = Fix(
        at: 1_700_000_000_123, place: .somewhere, accuracyMeters: 4.5, speedMetersPerSecond: 7.25, headingDegrees: 90)

    /// Composes the message as lua/publish_location.lua does.
    private func published(id: String = "1700000000456789", fix: Fix = fix) -> [UInt8] {
        Array(#"{"type":"location","id":"\#(id)","at":\#(fix.at)"#.utf8)
            + PublishedLocation.tail(of: fix, job: .job7, receivedAt: 1_700_000_000_200)
    }

    private func id(_ bytes: [UInt8]) -> UInt64? { bytes.withUnsafeBytes { PublishedLocation.id(of: $0) } }

    @Test func `head and tail together are a message that survives decoding`() throws {
        let message = try self.published().withUnsafeBytes { try ServerMessage($0) }
        guard case .location(let location) = message else {
            Issue.record("not a location")
            return
        }
        #expect(location.id == 1_700_000_000_456_789)
        #expect(location.job == .job7)
        #expect(location.fix == Self.fix)
        #expect(location.receivedAt == 1_700_000_000_200)
    }

    @Test func `a place that was moved to a street is marked, and a mocked one is never published as mocked`() throws {
        var fix = Self.fix
        (fix.isSnapped, fix.isMocked) = (true, true)
        let bytes = self.published(fix: fix)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix(#","hdg":90,"snapped":true}"#) && !text.contains("mock"))
        #expect(bytes.withUnsafeBytes { PublishedLocation.fix(of: $0) }?.isSnapped == true)
    }

    @Test(arguments: ["1700000000456789", "0000000000000001"])
    func `a received location is encoded with the same bytes`(id: String) throws {
        let bytes = self.published(id: id)
        #expect(try bytes.withUnsafeBytes { try ServerMessage($0) }.encoded == bytes)
    }

    @Test func `id and time are at the offsets where the script reads them`() {
        let text = String(decoding: self.published(), as: UTF8.self)
        // string.sub(stored, 26, 41) and string.sub(stored, 49, 61), counted from 1.
        #expect(String(Array(text)[25..<41]) == "1700000000456789")
        #expect(String(Array(text)[48..<61]) == "1700000000123")
    }

    @Test func `the id is extracted without decoding the message`() {
        #expect(self.id(self.published()) == 1_700_000_000_456_789)
        #expect(self.id(self.published(id: "0000000000000001")) == 1)
    }

    @Test func `no other message has a location id`() {
        for text in [
            "", "{}", #"{"type":"location"}"#, #"{"type":"location","id":"123"}"#,
            #"{"type":"location","id":"170000000045678x","at":1}"#,
            #"{"type":"location","id":"-700000000456789","at":1}"#,
            #"{"type": "location","id":"1700000000456789"}"#, #"{"id":"1700000000456789","type":"location"}"#,
            #"{"type":"status","job":"a","epoch":"e","prev":"","id":"1-0","status":"accepted","at":1}"#,
        ] {
            #expect(self.id(Array(text.utf8)) == nil, "\(text)")
        }
        let whole = self.published()
        for count in 0..<41 { #expect(self.id(Array(whole.prefix(count))) == nil) }
    }

    @Test func `the tail starts with a comma and ends with a brace`() {
        let tail = PublishedLocation.tail(of: Fix(at: 1_700_000_000_000, place: .somewhere), job: .job7, receivedAt: 5)
        #expect(
            String(decoding: tail, as: UTF8.self) == #","job":"job-7","received":5,"lat":52.5201234,"lon":13.4049876}"#)
    }

    @Test func `a location that is cut off, or followed by data, is refused`() {
        let whole = self.published()
        for count in 0..<whole.count {
            let part = Array(whole.prefix(count))
            #expect(throws: BadMessage.self) { try part.withUnsafeBytes { try ServerMessage($0) } }
        }
        #expect(throws: BadMessage.self) { try (whole + [0x78]).withUnsafeBytes { try ServerMessage($0) } }
    }

    @Test func `a tail has the bytes that the general writer of a fix writes`() {
        var generator = SeededGenerator(seed: 20)
        func some(_ range: ClosedRange<Double>) -> Double? {
            Bool.random(using: &generator) ? Double.random(in: range, using: &generator) : nil
        }
        for _ in 0..<5_000 {
            let place = Coordinate(
                latitude: Double.random(in: -90...90, using: &generator),
                longitude: Double.random(in: -180...180, using: &generator))!
            let fix = Fix(
                at: 1_700_000_000_000, place: place, accuracyMeters: some(0...10_000),
                speedMetersPerSecond: some(0...340), headingDegrees: some(0...360))
            var writer = JSONWriter()
            writer.object { writer in
                writer.field("job", "job-7")
                writer.field("received", Int64(1_700_000_000_001))
                fix.write(into: &writer)
            }
            let tail = PublishedLocation.tail(of: fix, job: .job7, receivedAt: 1_700_000_000_001)
            #expect(tail.dropFirst() == writer.bytes.dropFirst())
            #expect(tail.first == UInt8(ascii: ",") && tail.count <= PublishedLocation.maxTailBytes)
        }
    }

    @Test func `the longest tail fits`() {
        let fix = Fix(
            at: 1_700_000_000_000, place: Coordinate(latitude: -89.1234567, longitude: -179.1234567)!,
            accuracyMeters: 9_999.9, speedMetersPerSecond: 339.99, headingDegrees: 359.9)
        let job = JobID(String(repeating: "j", count: JobID.longest))!
        #expect(
            PublishedLocation.tail(of: fix, job: job, receivedAt: .min).count <= PublishedLocation.maxTailBytes)
    }

    @Test(arguments: [0, 1, 99, 1_700_000_000_000, .max] as [Int64])
    func `the answer to a location has the bytes of ok`(sequence: Int64) {
        let general = ServerMessage.ok(replyTo: "location", job: .job7, sequence: sequence, deadline: nil, ref: nil)
        #expect(ServerMessage.locationAccepted(.job7, sequence: sequence) == general.encoded)
    }
}
