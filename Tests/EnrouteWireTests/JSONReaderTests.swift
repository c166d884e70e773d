import Testing

@testable import EnrouteWire

@Suite struct JSONReaderTests {
    private func string(_ json: String) throws -> String { try read(json) { try $0.string() } }
    /// Skips one value, and returns its text.
    @discardableResult
    private func skip(_ json: String) throws -> String {
        String(decoding: try read(json) { Array(try $0.value()) }, as: UTF8.self)
    }

    @Test(
        arguments: [
            (#""""#, ""), (#""plain""#, "plain"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (#""\u0041\u00e9\u20AC""#, "Aé€"), (#""\ud83d\ude00""#, "😀"), (#""\uD83D\uDE00!""#, "😀!"),
            (#""é€😀""#, "é€😀"), (#""\u0000""#, "\0"), (#""\\u0041""#, #"\u0041"#), ("\"\u{7F}\"", "\u{7F}"),
        ])
    func `a string's escapes are resolved`(json: String, text: String) throws {
        #expect(try self.string(json) == text)
    }

    @Test(arguments: [
        #""\ud83d""#, #""\ude00""#, #""\ud83d\ud83d""#, #""\ud83d\u0041""#, #""\ude00\ud83d""#, #""\ud83dx""#,
    ])
    func `an unpaired surrogate is refused`(json: String) {
        #expect(throws: BadMessage("a string contains an unpaired surrogate")) { try self.string(json) }
    }

    @Test(arguments: [
        #""\x""#, #""\u12""#, #""\u12G4""#, #""\u""#, #""\U0041""#, #""\'""#, #""\u１２３４""#, #""\ud83d\u12""#,
    ])
    func `an unknown escape sequence is refused`(json: String) {
        #expect(throws: BadMessage.self) { try self.string(json) }
    }

    @Test func `every control character in a string is refused unless it is escaped`() throws {
        for byte in 0..<0x20 as Range<UInt8> {
            let character = Character(UnicodeScalar(byte))
            #expect(throws: BadMessage("a string contains a control character")) {
                try self.string("\"a\(character)\"")
            }
            let digits = String(byte, radix: 16)
            let escaped = "\"\\u" + String(repeating: "0", count: 4 - digits.count) + digits + "\""
            #expect(try self.string(escaped) == String(character))
        }
    }

    @Test(arguments: ["\"", "\"abc", #""abc\"#, #""abc\""#, #""\u004"#])
    func `an unterminated string is refused`(json: String) {
        #expect(throws: BadMessage.self) { try self.string(json) }
    }

    @Test func `D8: eight levels of nesting are decoded and nine are refused`() throws {
        func nested(_ depth: Int, _ open: String, _ close: String, _ inner: String) -> String {
            String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
        }
        #expect(throws: Never.self) { try self.skip(nested(8, "[", "]", "1")) }
        #expect(throws: Never.self) { try self.skip(nested(8, #"{"a":"#, "}", "1")) }
        let tooDeep = BadMessage("nesting is deeper than 8 levels")
        #expect(throws: tooDeep) { try self.skip(nested(9, "[", "]", "1")) }
        #expect(throws: tooDeep) { try self.skip(nested(9, #"{"a":"#, "}", "1")) }
        #expect(throws: tooDeep) { try self.skip(nested(100_000, "[", "]", "")) }
    }

    @Test func `closed levels of nesting are not counted`() throws {
        let json = "[" + Array(repeating: "[[]]", count: 100).joined(separator: ",") + "]"
        #expect(try self.skip(json) == json)
    }

    @Test(
        arguments: [
            "{}", "[]", "[ ]", "{ }", #"{"a":1,"b":[true,false,null,"x",{"c":-1.5e3}]}"#, " \t\r\n[ 1 , 2 ] \n", "null",
            "\"x\"",
        ])
    func `a value of any kind can be skipped`(json: String) throws {
        let text = json.drop(while: \.isWhitespace)
        #expect(try self.skip(json) == text.prefix(text.count - text.reversed().prefix(while: \.isWhitespace).count))
    }

    @Test(
        arguments: [
            "", " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#,
            #"{"a":1 "b":2}"#, #"{"a" 1}"#, "tru", "True", "nul", "nulls", "truefalse", "[1]]", "{}{}", "1 2", "'a'",
            #"{1:2}"#, "//", "/**/1", "\u{FEFF}1",
        ])
    func `text that is not JSON is refused`(json: String) {
        #expect(throws: BadMessage.self) { try self.skip(json) }
    }

    @Test(arguments: [#"{"\u0061":1}"#, #"{"a\n":1}"#, #"{"type\\":1}"#])
    func `an escape sequence in a member name is refused`(json: String) {
        #expect(throws: BadMessage("a member name must not contain escape sequences")) { try self.skip(json) }
    }

    @Test func `a skipped value is returned as its bytes, without surrounding white space`() throws {
        let json = #"  {"a": [1, 2]}  "#
        #expect(try self.skip(json) == #"{"a": [1, 2]}"#)
    }

    @Test(arguments: [(" \t\r\n[1]", true, false), ("{}", false, true), ("1", false, false), ("  ", false, false)])
    func `looking at the next value does not move the cursor`(json: String, isArray: Bool, isObject: Bool) {
        Array(json.utf8).withUnsafeBytes { bytes in
            let reader = JSONReader(bytes)
            #expect(reader.isAtArray == isArray && reader.isAtObject == isObject)
            #expect(reader.position == 0)
        }
    }
}
