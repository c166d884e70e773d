import TestSupport
import Testing

@testable import EnrouteWire

@Suite struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object(body)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func decimal(_ value: Double, _ decimals: Int) -> String {
        String(self.written { $0.field("v", value, decimals: decimals) }.dropFirst(5).dropLast())
    }

    @Test func `numbers with seven decimals survive encoding and decoding`() throws {
        var random = SeededGenerator(seed: 42)
        for _ in 0..<10_000 {
            let value = Double(Int64.random(in: -1_800_000_000...1_800_000_000, using: &random)) / 1e7
            let text = self.decimal(value, 7)
            try #require(try read(text) { try $0.double() } == value, "\(text)")
        }
    }

    @Test(
        arguments: [
            (1.0, 7, "1"), (-1.5, 7, "-1.5"), (0.0000001, 7, "0.0000001"), (-0.0000001, 7, "-0.0000001"),
            (0.00000004, 7, "0"), (-0.00000004, 7, "0"), (0.00000006, 7, "0.0000001"), (179.9999999, 7, "179.9999999"),
            (0, 7, "0"), (-0.0, 7, "0"), (12.34, 1, "12.3"), (12.96, 1, "13"), (10.01, 2, "10.01"), (7.6, 0, "8"),
        ])
    func `a decimal has no more digits than it needs`(value: Double, decimals: Int, text: String) {
        #expect(self.decimal(value, decimals) == text)
    }

    @Test func `escaped strings survive encoding and decoding`() throws {
        let controls = (0..<0x20 as Range<UInt8>).map { String(UnicodeScalar($0)) }.joined()
        for text in ["", "plain", #"a "quoted" \ back"#, controls, "é€😀\u{7F}", "a/b"] {
            let json = self.written { $0.field("v", text) }
            #expect(json.utf8.allSatisfy { $0 >= 0x20 })
            let value = try read(json) { reader in
                var value: String?
                try reader.object { (_, reader) throws(BadMessage) in value = try reader.string() }
                return value
            }
            #expect(value == text)
        }
    }

    @Test func `members and elements are separated by one comma, at every level`() {
        let json = self.written { writer in
            writer.field("a", Int64(1))
            writer.object("b") { writer in
                writer.field("c", true)
                writer.object("d") { _ in }
                writer.field("e", "x")
            }
            writer.array("f", [1, 2]) { writer, value in writer.object { $0.field("g", Int64(value)) } }
            writer.array("h", [Int]()) { _, _ in }
            writer.raw("i", nil)
            writer.raw("j", Array("[1]".utf8))
            writer.field("k", false)
        }
        #expect(
            json
                == #"{"a":1,"b":{"c":true,"d":{},"e":"x"},"f":[{"g":1},{"g":2}],"h":[],"i":null,"j":[1],"k":false}"#)
    }

    @Test func `nil members are left out`() {
        let json = self.written { writer in
            writer.field("a", String?.none)
            writer.field("b", Int64?.none)
            writer.field("c", Double?.none, decimals: 2)
            writer.field("d", Int64(4))
        }
        #expect(json == #"{"d":4}"#)
    }

    @Test func `the smallest and the largest whole number are written`() {
        #expect(
            self.written {
                $0.field("a", Int64.min); $0.field("b", Int64.max)
            }
                == #"{"a":-9223372036854775808,"b":9223372036854775807}"#)
    }
}
