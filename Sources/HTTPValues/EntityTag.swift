// Entity tags. The digest in a tag has no key: a client that guesses the digested values can confirm its guess. So the digest
// must not cover anything that a reader of the tag may not see.

internal import Crypto
internal import EnrouteWire
internal import FoundationEssentials

/// An entity tag (RFC 9110 section 8.8.3), such as `"<epoch>.<status event>.<revision>-<digest>"`.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The tag with its quotes, as in a header.
    package let description: String

    /// The length of the digest in bytes. A collision, with a probability of 2^-64, would only hide one change.
    private static let digestBytes = 8

    /// - Parameters:
    ///   - state: the readable part of the tag.
    ///   - parts: the values to digest.
    package init(_ state: String, digestOf parts: [String]) {
        self.description = "\"\(state)-\(Self.digest(of: Data(parts.joined(separator: "\n").utf8)))\""
    }

    /// Creates the tag of content that does not change while the gateway runs.
    package init(digestOf bytes: [UInt8]) { self.description = "\"\(Self.digest(of: bytes))\"" }

    private static func digest(of bytes: some DataProtocol) -> String {
        SHA256.hash(data: bytes).prefix(Self.digestBytes).hexadecimal
    }

    /// Returns whether an `If-None-Match` header matches this tag (RFC 9110 section 13.1.2). The header is a list of tags,
    /// which are compared weakly, or `*`, which matches any tag.
    package func matches(ifNoneMatch header: String) -> Bool {
        header.split(separator: ",").contains { part in
            let tag = part.trimmed
            return tag == "*" || tag == self.description || tag.hasPrefix("W/") && tag.dropFirst(2) == self.description
        }
    }
}

extension StringProtocol {
    /// The text without leading and trailing whitespace (RFC 9110 section 5.6.3).
    package var trimmed: SubSequence {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        guard let end = self.lastIndex(where: { !isSpace($0) }) else { return self[self.endIndex...] }
        return self[...end].drop(while: isSpace)
    }
}
