// Rejects requests with a token in the URL, because URLs end up in logs and browser histories. `HTTPExchange` checks every
// request before it reaches the router.

internal import EnrouteWire

enum RejectTokensInURLs {
    static let refusal = "Tokens are not accepted in URLs. Send the token in the Authorization header."
}

extension String {
    /// Whether the query of this URL has a parameter for a token, even if its name is percent-encoded.
    var hasTokenInQuery: Bool {
        // Searches bytes, because every request is checked and most have no query.
        guard let mark = self.utf8.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return self[mark...].dropFirst().split(separator: "&").contains { member in
            ["token", "access_token", "jwt", "bearer"].contains(member.prefix { $0 != "=" }.percentDecoded.lowercased())
        }
    }
}
