// No token in a URL, on any path: what is in a URL ends up in logs and histories. Every request is looked at before the router
// sees it (`HTTPExchange`).

enum RejectTokensInURLs {
    static let refusal = "Tokens are not accepted in URLs. Send the token in the Authorization header."
}

extension String {
    /// Whether the query of this URL names a token, however the name is encoded.
    var hasTokenInQuery: Bool {
        guard let query = self.split(separator: "?", maxSplits: 1).dropFirst().first else { return false }
        return query.split(separator: "&").contains { member in
            ["token", "access_token", "jwt", "bearer"].contains(Self.decoded(member.prefix { $0 != "=" }).lowercased())
        }
    }

    /// Without percent-encoding (RFC 3986 section 2.1); other text stays as it is.
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
