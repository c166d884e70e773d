import EnrouteWire
import Testing

@Suite struct CustomerNoteTests {
    @Test(arguments: ["Gate code 42", "Third floor,\nleft door", "Türcode „7“ 🙂", String(repeating: "é", count: 280)])
    func `a note is printable text of some lines`(text: String) {
        #expect(CustomerNote(text)?.text == text)
    }

    @Test(arguments: [
        "", "  ", "\n", "a\tb", "a\u{0}", "a\u{202E}b", "a\u{2028}b", String(repeating: "é", count: 281),
    ])
    func `other texts are not a note`(text: String) {
        #expect(CustomerNote(text) == nil)
    }

    @Test func `a log does not contain a note`() throws {
        let note = try #require(CustomerNote("Gate code 42"))
        var dumped = ""
        dump(note, to: &dumped)
        #expect(!dumped.contains("42"), "\(dumped)")
    }

    /// The longest text fits into the script's bound in bytes.
    @Test func `no note is longer than the script accepts`() {
        let longest = CustomerNote(String(repeating: "🙂", count: CustomerNote.longest))
        #expect(longest?.text.utf8.count == 1120)
    }
}
