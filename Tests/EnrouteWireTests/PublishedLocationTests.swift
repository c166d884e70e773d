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
}
