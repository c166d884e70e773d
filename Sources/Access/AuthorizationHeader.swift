// The Authorization header (RFC 9110 section 11.6.2): a scheme in any case, one space, and credentials without spaces.

extension String {
    /// Returns the credentials of this Authorization header, or `nil` if it is malformed or has another scheme.
    ///
    /// The header is read with every request and a token has hundreds of bytes, so this splits bytes instead of
    /// characters.
    ///
    /// - Parameter scheme: in lower case, for instance `bearer`.
    package func credentials(ofScheme scheme: String) -> String? {
        guard let space = self.utf8.firstIndex(of: UInt8(ascii: " ")),
            self.utf8.distance(from: self.startIndex, to: space) == scheme.utf8.count,
            self[..<space].lowercased() == scheme
        else { return nil }
        let credentials = self[self.utf8.index(after: space)...]
        guard !credentials.isEmpty, !credentials.utf8.contains(UInt8(ascii: " ")) else { return nil }
        return String(credentials)
    }

    /// Returns whether this Authorization header has the scheme, whatever its credentials are.
    ///
    /// - Parameter scheme: in lower case, for instance `bearer`.
    package func hasScheme(_ scheme: String) -> Bool { Substring(self.bytesOfScheme).lowercased() == scheme }

    /// The scheme of this Authorization header, for an error message. `nil` if the text may be a token without a
    /// scheme, which must not appear in a message.
    package var presentableScheme: String? {
        let scheme = self.bytesOfScheme
        guard scheme.endIndex < self.utf8.endIndex, (1...Self.longestPresentableScheme).contains(scheme.count),
            scheme.allSatisfy(Self.isOfScheme)
        else { return nil }
        return String(Substring(scheme))
    }

    private var bytesOfScheme: Substring.UTF8View { self.utf8.prefix { $0 != UInt8(ascii: " ") } }

    private static let longestPresentableScheme = 20

    /// The characters of the registered schemes. Those of a JWT include dots.
    private static func isOfScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
