import EnrouteWire
import Testing

@Suite struct IdentifierTests {
    private static let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-".utf8)

    @Test(arguments: [0, 1, 2])
    func `T3: only 64 of the 256 bytes are allowed in an id, at any position`(position: Int) {
        for byte in UInt8.min...UInt8.max {
            var name = Array("abc".utf8)
            name[position] = byte
            let isAccepted = name.withUnsafeBytes { JobID(bytes: $0) } != nil
            #expect(isAccepted == Self.allowed.contains(byte), "byte \(byte)")
        }
    }

    @Test func `an id has 1 to 64 characters`() {
        #expect(JobID("") == nil)
        #expect(JobID("a") != nil)
        #expect(JobID(String(repeating: "a", count: 64)) != nil)
        #expect(JobID(String(repeating: "a", count: 65)) == nil)
    }

    @Test func `letters and digits of other scripts are refused`() {
        for name in ["é", "ß", "１２", "日本", "a\u{301}", "job\u{200B}"] { #expect(JobID(name) == nil, "\(name)") }
    }

    @Test func `T3: text with a meaning in Redis or JSON is not an id`() {
        for name in ["{a}", "a:b", "a b", "a\r\n", "a*", "\"", "\\", "a\0", "a/b", "."] {
            #expect(JobID(name) == nil, "\(name.debugDescription)")
        }
    }

    @Test func `an id survives its description`() {
        #expect(JobID("job_7-B")?.description == "job_7-B")
        #expect(JobID("job_7-B").flatMap { JobID($0.description) } == JobID("job_7-B"))
    }

    @Test func `bytes and text give the same id`() {
        let bytes = Array("rider-1".utf8)
        #expect(bytes.withUnsafeBytes { PersonID(bytes: $0) } == PersonID("rider-1"))
        #expect([UInt8]().withUnsafeBytes { PersonID(bytes: $0) } == nil)
    }
}

@Suite struct StatusIDTests {
    @Test func `ids are ordered by time, then by sequence, as numbers and not as text`() throws {
        let texts = ["0-0", "0-1", "9-0", "9-2", "9-10", "10-0", "1700000000000-0", "18446744073709551615-1"]
        let ids = try texts.map { try #require(StatusID($0)) }
        #expect(ids.shuffled().sorted() == ids)
        for (earlier, later) in zip(ids, ids.dropFirst()) { #expect(earlier < later) }
    }

    @Test func `a status id survives its description`() throws {
        let id = try #require(StatusID("1700000000000-12"))
        #expect(id.milliseconds == 1_700_000_000_000)
        #expect(id.sequence == 12)
        #expect(id.description == "1700000000000-12")
    }

    @Test(
        arguments: [
            "", "-", "1", "1-", "-1", "1-2-3", "1--2", "+1-2", "1-+2", "1 -2", "a-1", "1-a", "1.0-1", "0x1-1",
            "18446744073709551616-0", "0-18446744073709551616", "１-２", "1-2\n",
        ])
    func `text that is not two whole numbers is not a status id`(text: String) {
        #expect(StatusID(text) == nil)
    }
}
