// Base64 for URLs without padding (RFC 4648 section 5), the encoding of tokens and of browsers' push keys.

internal import FoundationEssentials

package enum Base64URL {
    package static func text(_ bytes: [UInt8]) -> String {
        var text = Data(bytes).base64EncodedString()
        text.replace("+", with: "-")
        text.replace("/", with: "_")
        return String(text.prefix { $0 != "=" })
    }
}

extension [UInt8] {
    /// Decodes base64url without padding (RFC 4648 section 5).
    ///
    /// - Returns: `nil` for any other character, an impossible length, or trailing bits that are not zero.
    package init?(base64URL text: ArraySlice<UInt8>) {
        guard text.count % 4 != 1 else { return nil }
        self = []
        self.reserveCapacity(text.count * 3 / 4)
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in text {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            self.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= (1 << UInt32(count)) - 1
        }
        guard bits == 0 else { return nil }
    }
}
