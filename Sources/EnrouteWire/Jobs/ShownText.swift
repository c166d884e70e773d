// Rules for texts and links that the order system writes and that people see. Pages never insert them as HTML; these rules
// only reject what could mislead a reader or start an action: control characters, overridden text directions, and links that
// are neither https nor a telephone number.

package enum ShownText {
    /// One line of text: 1 to `longest` characters, not only spaces, without control characters.
    package static func isLine(_ text: String, longest: Int) -> Bool {
        (1...longest).contains(text.unicodeScalars.count) && !text.allSatisfy(\.isWhitespace)
            && text.unicodeScalars.allSatisfy(Self.isShown)
    }

    /// Like a line, but line breaks are allowed.
    static func isParagraph(_ text: String, longest: Int) -> Bool {
        (1...longest).contains(text.unicodeScalars.count) && !text.allSatisfy(\.isWhitespace)
            && text.unicodeScalars.allSatisfy { $0 == "\n" || Self.isShown($0) }
    }

    /// Whether the character is neither a control character nor one that breaks lines or overrides the text direction. All
    /// rejected characters are at most U+FFFF, so four hexadecimal digits can name them.
    package static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: false
        // Line and paragraph separators, and characters that override the direction of the text around them.
        case 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: false
        default: true
        }
    }

    /// An absolute https URL in ASCII, with a host and without a user.
    static func isHTTPS(_ text: String, longest: Int) -> Bool {
        guard text.utf8.count <= longest, text.hasPrefix("https://"), text.utf8.allSatisfy(Self.isOfURL) else {
            return false
        }
        let authority = text.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.isEmpty, !authority.contains("@") else { return false }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        let isHost = parts[0].utf8.allSatisfy { $0.isNameCharacter || $0 == UInt8(ascii: ".") } && !parts[0].isEmpty
        return isHost && (parts.count == 1 || parts.count == 2 && UInt16(parts[1]) ?? 0 > 0)
    }

    /// Printable ASCII except for what a URL must escape (RFC 3986 appendix A).
    private static func isOfURL(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\"<>\\^`{|}".utf8.contains(byte)
    }

    /// A telephone number as a URI: digits with the usual separators, optionally followed by digits to dial afterwards. No `*`
    /// or `#`, because they control the phone itself (RFC 3966 sections 5.1.1 and 10).
    static func isTelephone(_ text: String) -> Bool {
        guard text.hasPrefix("tel:"), text.utf8.count <= 64 else { return false }
        var number = text.dropFirst("tel:".count)
        if let suffix = number.firstRange(of: ";ext=") {
            let digits = number[suffix.upperBound...]
            guard !digits.isEmpty, digits.utf8.allSatisfy(Self.isDigit) else { return false }
            number = number[..<suffix.lowerBound]
        }
        if number.hasPrefix("+") { number = number.dropFirst() }
        return number.utf8.count(where: Self.isDigit) >= 3
            && number.utf8.allSatisfy { Self.isDigit($0) || "-.(),".utf8.contains($0) }
    }

    /// How to reach somebody: an https URL of at most `RiderCard.longestURL` bytes, or a telephone number as a URI.
    static func isContact(_ text: String) -> Bool {
        Self.isHTTPS(text, longest: RiderCard.longestURL) || Self.isTelephone(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
