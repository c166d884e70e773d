// How the tokens of one identity provider are read: its keys, what its tokens must contain, and which claims hold the person,
// the role and the restrictions. Providers differ in all of these; the defaults are the claims of Enroute's own tokens.

internal import Crypto
package import EnrouteWire
internal import FoundationEssentials

/// An issuer whose tokens are accepted.
package struct IdentityProvider: Sendable {
    /// How to treat a person's id that is not 1 to 64 characters of `[A-Za-z0-9_-]`.
    package enum PersonForm: String, Sendable, CaseIterable {
        /// The token is rejected.
        case plain
        /// The id is replaced by `s_` and the base64url of its SHA-256.
        case hashed
    }

    /// One entry of the role map.
    package struct RoleEntry: Sendable, Hashable {
        package let value: String
        package let role: Role

        /// - Parameter text: `value:role`, for example `courier:rider`. The value may contain colons.
        /// - Returns: `nil` if the value is missing or the role is unknown.
        package init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
                let role = Role(rawValue: String(text[text.index(after: colon)...]))
            else { return nil }
            (self.value, self.role) = (String(text[..<colon]), role)
        }
    }

    /// Maximum number of entries of a role map.
    package static let mostRoles = 32
    /// Maximum number of providers of a gateway.
    package static let most = 8
    /// The algorithms of keys that a gateway accepts.
    package static let algorithms: Set<String> = ["ES256", "RS256", "EdDSA", "HS256"]

    package var issuer: String
    package var audience: String
    package var keys: [TokenVerifier.Key]
    package var audienceClaim = ClaimPath.audience
    package var personClaim = ClaimPath.subject
    package var personForm = PersonForm.plain
    package var roleClaim = ClaimPath.role
    /// Maps values of the role claim to roles; the first entry whose value the claim contains applies. If empty, the
    /// claim must be one of Enroute's roles.
    package var roles: [RoleEntry] = []
    /// The role of tokens whose role claim is missing or contains no value of `roles`; `nil` to reject them. The
    /// settings allow customers and riders only: operations staff and services need an entry in `roles`.
    package var defaultRole: Role?
    /// Claims that limit the token to a job or to a rider's jobs, in addition to `authorization`.
    package var jobClaim: ClaimPath?
    package var riderClaim: ClaimPath?
    /// Whether a token without `jti` is rejected.
    package var requiresTokenID = true
    /// The accepted algorithms. The key determines the algorithm of a token; this set can exclude keys.
    package var accepted = Self.algorithms
    /// The required `typ` of the header, in lower case; `nil` for `JWT`, `at+jwt` or none.
    package var type: String?

    package init(issuer: String, audience: String, keys: [TokenVerifier.Key] = []) {
        (self.issuer, self.audience, self.keys) = (issuer, audience, keys)
    }

    // MARK: people

    /// The person with this id at the provider.
    ///
    /// - Returns: `nil` if the id is empty, or cannot be used as it is and `personForm` is `plain`.
    package func person(_ id: String) -> PersonID? {
        guard self.personForm == .hashed else { return PersonID(id) }
        guard !id.isEmpty else { return nil }
        // An id that looks like a hash is hashed too, so that nobody can choose another person's hash as an id.
        if let person = PersonID(id), !Self.isHash(id) { return person }
        return PersonID(Self.hashPrefix + Base64URL.text(Array(SHA256.hash(data: Data(id.utf8)))))
    }

    package static let hashPrefix = "s_"
    /// The prefix and 32 bytes in base64url.
    private static let hashLength = 45

    private static func isHash(_ id: String) -> Bool {
        id.utf8.count == Self.hashLength && id.hasPrefix(Self.hashPrefix)
    }

    // MARK: roles

    /// - Throws: `missingClaim`, `unknownRole` or `unmappedRole`.
    func role(_ claims: ClaimSet) throws(TokenRefusal) -> Role {
        let values: [String]?
        if self.roles.isEmpty {
            values = try claims.string(self.roleClaim).map { [$0] }
        } else {
            values = try claims.strings(self.roleClaim)
        }
        guard let values else {
            guard let defaultRole else { throw TokenRefusal(.missingClaim, claim: self.roleClaim) }
            return defaultRole
        }
        if self.roles.isEmpty {
            guard let role = Role(rawValue: values[0]) else { throw TokenRefusal(.unknownRole, claim: self.roleClaim) }
            return role
        }
        guard let role = self.roles.first(where: { values.contains($0.value) })?.role ?? self.defaultRole else {
            throw TokenRefusal(.unmappedRole, claim: self.roleClaim)
        }
        return role
    }
}
