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

    @Test func `D8: a number of more than 128 characters is refused`() throws {
        let longest = "0." + String(repeating: "3", count: 126)
        #expect(try self.double(longest) == Double(longest))
        #expect(throws: BadMessage("a number is longer than 128 characters")) { try self.double(longest + "3") }
        #expect(throws: BadMessage.self) { try self.double(String(repeating: "9", count: 100_000)) }
    }

    @Test func `whole numbers of up to 18 digits are read`() throws {
        for value in [0, 1, -1, 1_700_000_000_000, 999_999_999_999_999_999, -999_999_999_999_999_999] as [Int64] {
            #expect(try self.integer(String(value)) == value)
        }
    }

    @Test(arguments: [
        "1000000000000000000", "-9223372036854775808", "99999999999999999999", "0.5", "1e18", "1e9999", "-1E4000",
        "10e-2", "1e-9999", "1234567890123456789.0", "1.2345678901234567890", "123456789012345678.5",
        "18446744073709551617", "0.00000000000000000001", "1.000000000000000000000000000000000001",
    ])
    func `a fraction and a number that does not fit are not whole numbers`(text: String) {
        #expect(throws: BadMessage("expected a whole number")) { try self.integer(text) }
    }

    /// JSON Schema counts them as `integer`, and Java's `double` and `BigDecimal` are written like this.
    @Test(
        arguments: [
            ("1.0", 1), ("-1.0", -1), ("1e3", 1_000), ("1E+3", 1_000), ("1.5e1", 15), ("1500e-2", 15),
            ("0.00015e5", 15), ("0.0", 0), ("-0e9", 0), ("0e9999", 0), ("0.000e-9999", 0),
            ("1796050469578.0", 1_796_050_469_578), ("1.796050469578E12", 1_796_050_469_578),
            ("-999999999999999999.000", -999_999_999_999_999_999), ("1e17", 100_000_000_000_000_000),
            ("99999999999999999900000e-5", 999_999_999_999_999_999), ("1." + String(repeating: "0", count: 126), 1),
            ("100000000000000000000000000000e-29", 1),
        ] as [(String, Int64)])
    func `a whole number may have a fraction of zeros or an exponent`(text: String, value: Int64) throws {
        #expect(try self.integer(text) == value)
    }
}
