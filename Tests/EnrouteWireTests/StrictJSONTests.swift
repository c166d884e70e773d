import Foundation
import Testing

@testable import EnrouteWire

@Suite struct StrictJSONTests {
    private static func fault(_ bytes: some Sequence<UInt8>) -> StrictJSON.Fault? {
        do throws(StrictJSON.Fault) { try StrictJSON.check(bytes) } catch { return error }
        return nil
    }

    @Test(arguments: [
        "{}", "[]", " [ { } , [ ] ] ", "7", "[0,-0,10,-0.50,1E9,1e-09]", "null", #""""#,
        #"{"a":{"a":1},"b":[{"a":true},{"a":false}]}"#,
        #"{"é":1,"e\u0301":2,"":3,"\u0041":-1.5e+3}"#, "\t{\r\n\"a\" : \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00\"}",
    ])
    func `valid JSON is accepted`(text: String) { #expect(Self.fault(text.utf8) == nil) }

    @Test(arguments: [
        "", " ", "{", "[", "[1,]", "[,1]", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1,,"b":2}"#, "{a:1}",
        "[1]]", "[1]}", "{]", "[}", "{} {}", "tru", "nul", "'a'", "\"", #""\"#, #""\x""#, #""\u12g4""#, #""\u12""#,
        "\"a\nb\"", "/**/1", "01", "-", "--1", "+1", "1-2", ".5", "1.", "1e", "1e+", "0x1", "NaN",
    ])
    func `malformed JSON is refused`(text: String) { #expect(Self.fault(text.utf8) == .syntax) }

    @Test func `only UTF-8 without a byte order mark is accepted`() {
        let text = #"{"kind":"service"}"#
        for encoding in [String.Encoding.utf16, .utf16BigEndian, .utf16LittleEndian, .utf32] {
            #expect(Self.fault(text.data(using: encoding)!) == .encoding)
        }
        #expect(Self.fault([0xEF, 0xBB, 0xBF] + Array(text.utf8)) == .encoding)
        #expect(Self.fault(Array("\"".utf8) + [0xC3] + Array("\"".utf8)) == .encoding)
    }

    @Test(arguments: [
        #"["Ana \ud83d"]"#, #"["\ude00"]"#, #"["\ud83d\ud83d\ude00"]"#, #"{"\ud83d":1}"#, #"["\uD83D😀"]"#,
        #"["\ud83d\u0041"]"#,
    ])
    func `half a surrogate pair is refused`(text: String) { #expect(Self.fault(text.utf8) == .loneSurrogate) }

    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"{"a":1,"b":{},"a":2}"#, #"[{"x":{"a":1,"\u0061":2}}]"#, #"{"":1,"":2}"#,
        #"{"\ud83d\ude00":1,"😀":2}"#,
    ])
    func `a member name that occurs twice in one object is refused, however it is written`(text: String) {
        #expect(Self.fault(text.utf8) == .duplicateMember)
    }

    @Test func `malformed JSON is called malformed, and not a value of the wrong type`() {
        #expect(StrictJSON.Fault.syntax.reason("The body") == "The body is not valid JSON.")
    }

    @Test func `nesting is limited`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(Self.fault(nested(StrictJSON.maxDepth).utf8) == nil)
        #expect(Self.fault(nested(StrictJSON.maxDepth + 1).utf8) == .depth)
    }
}
