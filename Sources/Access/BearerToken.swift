// A token in an Authorization header (RFC 6750 section 2.1).

extension TokenVerifier {
    /// Verifies the token of an `Authorization: Bearer` header (RFC 6750) and returns its grant.
    package func verify(bearer header: String, now: Int64) throws(TokenRefusal) -> Grant {
        guard let token = Self.token(bearer: header) else { throw .malformed }
        return try self.verify(token, now: now)
    }

    /// Returns whether the header's token was verified before and is still remembered.
    package func knows(bearer header: String) -> Bool { Self.token(bearer: header).map { self.knows($0) } ?? false }

    package static func token(bearer header: String) -> String? {
        header.credentials(ofScheme: "bearer")
    }
}
