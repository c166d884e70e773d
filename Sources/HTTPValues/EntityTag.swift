// The tag of a job's state: which record, which status event, and a digest of all else that a reader sees. Two gateways
// give the same state the same tag. The age of the position is left out: it grows by itself, and says nothing new.

internal import Crypto
internal import EnrouteWire
internal import FoundationEssentials

/// An entity tag (RFC 9110 section 8.8.3), `"<epoch>.<status event>.<digest>"`.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// With its quotes, as it stands in a header.
    package let description: String

    /// Bytes of the digest: what a chance of one in 2^64 is enough for.
    private static let digestBytes = 8

    /// - Parameters:
    ///   - state: what the tag says in the clear.
    ///   - parts: of which a digest is made.
    package init(_ state: String, digestOf parts: [String]) {
        self.description = "\"\(state).\(Self.digest(of: Data(parts.joined(separator: "\n").utf8)))\""
    }

    /// Of what is the same until the gateway is another.
    package init(digestOf bytes: [UInt8]) { self.description = "\"\(Self.digest(of: bytes))\"" }

    private static func digest(of bytes: some DataProtocol) -> String {
        SHA256.hash(data: bytes).prefix(Self.digestBytes)
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// Whether an `If-None-Match` names it (RFC 9110 section 13.1.2): weakly compared, a list, or `*` for whatever there
    /// is.
    package func isNamed(by header: String) -> Bool {
        header.split(separator: ",").contains { part in
            let tag = part.trimmed
            return tag == "*" || tag == self.description || tag.hasPrefix("W/") && tag.dropFirst(2) == self.description
        }
    }
}

extension StringProtocol {
    /// Without white space around it (RFC 9110 section 5.6.3).
    package var trimmed: SubSequence {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        guard let end = self.lastIndex(where: { !isSpace($0) }) else { return self[self.endIndex...] }
        return self[...end].drop(while: isSpace)
    }
}
