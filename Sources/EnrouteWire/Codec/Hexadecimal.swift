// Hexadecimal digits, and the percent-encoding that is written with them (RFC 3986 section 2.1).

extension Sequence<UInt8> {
    /// Two digits for each byte, in lower case.
    package var hexadecimal: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * self.underestimatedCount)
        for byte in self {
            digits.append(Self.digit(byte >> 4))
            digits.append(Self.digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension UInt64 {
    /// 16 digits, in lower case.
    package var hexadecimal: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension UInt8 {
    /// The value of this ASCII character as a hexadecimal digit in either case; `nil` if it is not one.
    package var hexDigitValue: Int? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(self - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(self - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// Whether this ASCII character is 0 to 9 or a to f.
    package var isLowercaseHexDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}

extension StringProtocol {
    /// The text without percent-encoding. A percent sign without two digits stays as it is, and bytes that are not UTF-8
    /// become replacement characters.
    package var percentDecoded: String {
        var (decoded, rest): ([UInt8], ArraySlice<UInt8>) = ([], ArraySlice(self.utf8))
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(\.hexDigitValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                decoded.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
