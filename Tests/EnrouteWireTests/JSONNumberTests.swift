import TestSupport
import Testing

@testable import EnrouteWire

@Suite struct JSONNumberTests {
    private func double(_ text: String) throws -> Double { try read(text) { try $0.double() } }
    private func integer(_ text: String) throws -> Int64 { try read(text) { try $0.integer() } }

    private static func decimal(_ random: inout SeededGenerator) -> String {
        func digits(_ count: Int) -> String {
            (0..<count).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
        }
        var text = Bool.random(using: &random) ? "-" : ""
        let whole = Int.random(in: 0...10, using: &random)
        text += whole == 0 ? "0" : String(Int.random(in: 1...9, using: &random)) + digits(whole - 1)
        let fraction = Int.random(in: 0...12, using: &random)
        if fraction > 0 { text += "." + digits(fraction) }
        if Int.random(in: 0...2, using: &random) == 0 {
            text += Bool.random(using: &random) ? "e" : "E"
            text += ["", "+", "-"][Int.random(in: 0...2, using: &random)]
            text += String(Int.random(in: 0...(Bool.random(using: &random) ? 30 : 290), using: &random))
        }
        return text
    }

    @Test func `ten thousand decimals are decoded to the same bit as by the standard library`() throws {
        var random = SeededGenerator(seed: 1990)
        for _ in 0..<10_000 {
            let text = Self.decimal(&random)
            let expected = try #require(Double(text))
            try #require(expected.isFinite)
            try #require(try self.double(text).bitPattern == expected.bitPattern, "\(text)")
        }
    }

    @Test func `coordinates with seven decimals are read exactly`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<10_000 {
            let units = Int64.random(in: -1_800_000_000...1_800_000_000, using: &random)
            let fraction = String(units.magnitude % 10_000_000)
            let text =
                (units < 0 ? "-" : "") + "\(units.magnitude / 10_000_000)."
                + String(repeating: "0", count: 7 - fraction.count) + fraction
            try #require(try self.double(text) == Double(text), "\(text)")
        }
    }

    @Test func `negative zero keeps its sign`() throws {
        for text in ["-0", "-0.0", "-0e5", "-0.000e-7"] {
            #expect(try self.double(text).bitPattern == (-0.0).bitPattern, "\(text)")
        }
        #expect(try self.integer("-0") == 0)
    }

    @Test func `T2: a number that is too small becomes zero, and one that is too large is refused`() throws {
        #expect(try self.double("1e-999") == 0)
        #expect(try self.double("1.7976931348623157e308") == .greatestFiniteMagnitude)
        for text in ["1e999", "-1e999", "1.8e308", "9e9999"] {
            #expect(throws: BadMessage("a number is out of range")) { try self.double(text) }
        }
    }

    @Test(
        arguments: [
            "01", "-01", "00", ".5", "1.", "-", "+1", "1e", "1e+", "1e-", "1.e5", "1.2.3", "1e5e5", "1-", "--1",
            "1e5.0",
            "1+1", "e5", "-.5",
        ])
    func `text that is not a number by RFC 8259 is refused`(text: String) {
        #expect(throws: BadMessage("a number is malformed")) { try self.double(text) }
    }

    @Test(arguments: ["NaN", "nan", "Infinity", "-Infinity", "0x10", "1_000", "1,5", "١"])
    func `number formats of other languages are refused`(text: String) {
        #expect(throws: BadMessage.self) { try self.double(text) }
    }

    @Test func `D8: a number of more than 32 characters is refused`() throws {
        let longest = "0." + String(repeating: "3", count: 30)
        #expect(try self.double(longest) == Double(longest))
        #expect(throws: BadMessage("a number is longer than 32 characters")) { try self.double(longest + "3") }
        #expect(throws: BadMessage.self) { try self.double(String(repeating: "9", count: 100_000)) }
    }

    @Test func `whole numbers of up to 18 digits are read`() throws {
        for value in [0, 1, -1, 1_700_000_000_000, 999_999_999_999_999_999, -999_999_999_999_999_999] as [Int64] {
            #expect(try self.integer(String(value)) == value)
        }
    }

    @Test(arguments: ["1.0", "1e3", "1000000000000000000", "-9223372036854775808", "99999999999999999999", "0.5"])
    func `a fraction, an exponent and a number that does not fit are not whole numbers`(text: String) {
        #expect(throws: BadMessage("expected a whole number")) { try self.integer(text) }
    }
}
