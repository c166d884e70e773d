// Rejects requests with a token in the URL, because URLs end up in logs and browser histories. `HTTPExchange` checks every
// request before it reaches the router.

enum RejectTokensInURLs {
    static let refusal = "Tokens are not accepted in URLs. Send the token in the Authorization header."
}

extension String {
    /// Whether the query of this URL has a parameter for a token, even if its name is percent-encoded.
    var hasTokenInQuery: Bool {
        // Bytes, because this is read of every request, and most have no query.
        guard let mark = self.utf8.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return self[mark...].dropFirst().split(separator: "&").contains { member in
            ["token", "access_token", "jwt", "bearer"].contains(Self.decoded(member.prefix { $0 != "=" }).lowercased())
        }
    }

    /// Decodes percent-encoding (RFC 3986 section 2.1). Invalid sequences stay as they are.
    private static func decoded(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var (decoded, index): ([UInt8], Int) = ([], 0)
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let byte = UInt8(String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
            {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
