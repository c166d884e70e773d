import EnrouteWire
import Testing

@Suite struct HexadecimalTests {
    @Test func `every byte has two digits in lower case, which are read back in either case`() throws {
        for byte in UInt8.min...UInt8.max {
            let digits = [byte].hexadecimal
            #expect(digits.utf8.count == 2 && digits.utf8.allSatisfy(\.isLowercaseHexDigit))
            for text in [digits, digits.uppercased()] {
                let values = text.utf8.compactMap(\.hexDigitValue)
                try #require(values.count == 2)
                #expect(values[0] * 16 + values[1] == Int(byte))
            }
        }
        #expect([UInt8]().hexadecimal == "")
        #expect([0, 9, 10, 255].hexadecimal == "00090aff")
    }

    @Test func `a number of 64 bits has 16 digits`() {
        #expect(UInt64.min.hexadecimal == "0000000000000000")
        #expect(UInt64(0xab).hexadecimal == "00000000000000ab")
        #expect(UInt64.max.hexadecimal == "ffffffffffffffff")
    }

    @Test func `only 0 to 9, a to f and A to F are digits`() {
        let digits = (UInt8.min...UInt8.max).filter { $0.hexDigitValue != nil }
        #expect(String(decoding: digits, as: UTF8.self) == "0123456789ABCDEFabcdef")
        let lowercase = (UInt8.min...UInt8.max).filter(\.isLowercaseHexDigit)
        #expect(String(decoding: lowercase, as: UTF8.self) == "0123456789abcdef")
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a%20b", "a b"), ("%41%4a%4A", "AJJ"), ("%E2%82%AC", "€"), ("%25%32%30", "%20"),
        // Incomplete or malformed escapes.
        ("%", "%"), ("100%", "100%"), ("%4", "%4"), ("%4g", "%4g"), ("%+5", "%+5"), ("%-5", "%-5"), ("% 5", "% 5"),
        ("%%41", "%A"), ("%C3", "\u{fffd}"),
    ])
    func `percent-encoding is decoded, and malformed escapes stay`(text: String, decoded: String) {
        #expect(text.percentDecoded == decoded)
        #expect(text[...].percentDecoded == decoded)
    }
}
