// JSON numbers and escaped strings. A coordinate has few enough digits for an exact conversion with one division
// (Clinger 1990): its digits fit in 2^53 and its power of ten is exact. All other numbers use the standard library.

/// The digits of a JSON number (RFC 8259 section 6).
struct JSONNumber {
    private let text: UnsafeRawBufferPointer
    private var mantissa: UInt64 = 0
    private var digits = 0
    private var exponent = 0
    private var isNegative = false
    private var isWhole = true

    static func mayHold(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    init(_ text: UnsafeRawBufferPointer) throws(BadMessage) {
        self.text = text
        var rest = text[...]
        if rest.first == UInt8(ascii: "-") {
            self.isNegative = true
            rest.removeFirst()
        }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = self.takeDigits(&rest)
        guard whole > 0, whole == 1 || !startsWithZero else { throw BadMessage("a number is malformed") }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            let fraction = self.takeDigits(&rest)
            guard fraction > 0 else { throw BadMessage("a number is malformed") }
            self.exponent = -fraction
            self.isWhole = false
        }
        if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            var isNegativeExponent = false
            if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
                isNegativeExponent = sign == UInt8(ascii: "-")
                rest.removeFirst()
            }
            guard !rest.isEmpty, rest.count <= 4 else { throw BadMessage("a number is malformed") }
            var written = 0
            while let byte = rest.first, (48...57).contains(byte) {
                written = written * 10 + Int(byte - 48)
                rest.removeFirst()
            }
            self.exponent += isNegativeExponent ? -written : written
            self.isWhole = false
        }
        guard rest.isEmpty else { throw BadMessage("a number is malformed") }
    }

    private mutating func takeDigits(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Int {
        let before = rest.count
        while let byte = rest.first, (48...57).contains(byte) {
            self.mantissa = self.mantissa &* 10 &+ UInt64(byte - 48)
            rest.removeFirst()
        }
        self.digits += before - rest.count
        return before - rest.count
    }

    /// The nearest Double. Throws if the number is not finite.
    var double: Double {
        get throws(BadMessage) {
            if self.digits <= 15, abs(self.exponent) <= 22 {
                let magnitude = Double(self.mantissa)
                let scaled =
                    self.exponent < 0
                    ? magnitude / Self.powersOfTen[-self.exponent] : magnitude * Self.powersOfTen[self.exponent]
                return self.isNegative ? -scaled : scaled
            }
            guard let value = Double(String(decoding: self.text, as: UTF8.self)), value.isFinite else {
                throw BadMessage("a number is out of range")
            }
            return value
        }
    }

    /// Digits of an integer that always fit.
    static let mostIntegerDigits = 18

    /// The number as an integer. JSON does not distinguish 10, 10.0 and 1E1. Throws for a fraction and for too many digits.
    var integer: Int64 {
        get throws(BadMessage) {
            guard self.isWhole, self.digits <= Self.mostIntegerDigits else { return try self.shiftedInteger }
            return self.isNegative ? -Int64(self.mantissa) : Int64(self.mantissa)
        }
    }

    /// The integer that is written with a fraction or an exponent, as Java writes 1.796050469578E12. No digit is rounded.
    private var shiftedInteger: Int64 {
        get throws(BadMessage) {
            let refusal = BadMessage("expected a whole number")
            // The digits from the first to the last one that is not 0, and the zeros after them.
            var (significant, count, zeros) = (Int64(0), 0, 0)
            for byte in self.text.prefix(while: { $0 | 0x20 != UInt8(ascii: "e") }) where (48...57).contains(byte) {
                guard byte != 48 else {
                    zeros += 1
                    continue
                }
                let added = count == 0 ? 1 : zeros + 1
                (count, zeros) = (count + added, 0)
                guard count <= Self.mostIntegerDigits else { throw refusal }
                significant = significant * Self.power(added) + Int64(byte - 48)
            }
            guard count > 0 else { return 0 }
            let shift = zeros + self.exponent
            guard shift >= 0, count + shift <= Self.mostIntegerDigits else { throw refusal }
            let magnitude = significant * Self.power(shift)
            return self.isNegative ? -magnitude : magnitude
        }
    }

    /// 10 to the power of 0 to `mostIntegerDigits`, which a Double represents exactly.
    private static func power(_ exponent: Int) -> Int64 { Int64(self.powersOfTen[exponent]) }

    static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}

extension JSONReader {
    /// The text of a string with its escape sequences resolved (RFC 8259 section 7). Throws for unpaired surrogates.
    static func unescaped(_ raw: UnsafeRawBufferPointer) throws(BadMessage) -> String {
        var units: [UInt8] = []
        units.reserveCapacity(raw.count)
        var index = 0
        while index < raw.count {
            let byte = raw[index]
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                units.append(byte)
                continue
            }
            guard index < raw.count else { throw BadMessage("a string ends inside an escape sequence") }
            let kind = raw[index]
            index += 1
            switch kind {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): units.append(kind)
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"):
                var code = try Self.hexadecimal(raw, at: index)
                index += 4
                if (0xD800..<0xDC00).contains(code), index + 6 <= raw.count, raw[index] == UInt8(ascii: "\\"),
                    raw[index + 1] == UInt8(ascii: "u")
                {
                    let low = try Self.hexadecimal(raw, at: index + 2)
                    guard (0xDC00..<0xE000).contains(low) else {
                        throw BadMessage("a string contains an unpaired surrogate")
                    }
                    code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
                    index += 6
                }
                guard let scalar = UnicodeScalar(code) else {
                    throw BadMessage("a string contains an unpaired surrogate")
                }
                units.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            default: throw BadMessage("a string contains an unknown escape sequence")
            }
        }
        return String(decoding: units, as: UTF8.self)
    }

    private static func hexadecimal(_ raw: UnsafeRawBufferPointer, at index: Int) throws(BadMessage) -> UInt32 {
        guard index + 4 <= raw.count else { throw BadMessage("a string ends inside an escape sequence") }
        var code: UInt32 = 0
        for byte in raw[index..<index + 4] {
            guard let digit = byte.hexDigitValue else {
                throw BadMessage("a string contains an unknown escape sequence")
            }
            code = code << 4 | UInt32(digit)
        }
        return code
    }
}
