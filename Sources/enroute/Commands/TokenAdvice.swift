// Advice about refused tokens: which setting to compare, or what the identity provider must issue differently.

import Access

extension TokenRefusal {
    /// Advice for an operator. In a section of the providers file, the settings' names have no prefix.
    ///
    /// - Parameter providers: the providers that may have issued the token.
    func advice(for providers: [IdentityProvider]) -> String? {
        switch self.reason {
        case .missingClaim: self.claim.flatMap { Self.adviceOnMissing($0, providers) }
        case .malformed: self.claim.flatMap { Self.adviceOnType(of: $0, providers) }
        case .wrongIssuer: Self.issuerAdvice
        case .wrongAudience: Self.audienceAdvice
        case .badSubject where !providers.isEmpty && providers.allSatisfy { $0.personForm == .hashed }:
            "\(self.claim.map { "\($0)" } ?? "The claim") is empty. With ENROUTE_TOKEN_PERSON_FORM=hashed, any other id is "
                + "accepted. ENROUTE_TOKEN_PERSON_CLAIM selects another claim."
        case .badSubject:
            "With ENROUTE_TOKEN_PERSON_FORM=hashed, any id that is not empty is accepted. ENROUTE_TOKEN_PERSON_CLAIM selects "
                + "another claim."
        case .unknownRole, .unmappedRole:
            "Map its values with ENROUTE_TOKEN_ROLES, such as courier:rider, or set ENROUTE_TOKEN_DEFAULT_ROLE."
        case .unknownKey, .badSignature, .wrongAlgorithm:
            "Check that ENROUTE_TOKEN_JWKS_URL or ENROUTE_TOKEN_PUBLIC_KEY_FILES belong to the issuer of this token, and "
                + "that ENROUTE_TOKEN_ALGORITHMS contains its algorithm."
        case .missingKeyID:
            "Sign the token with the kid of its key. `enroute token --key` writes the id that --kid names: one of "
                + "ENROUTE_TOKEN_KEY_IDS, or of the set at ENROUTE_TOKEN_JWKS_URL."
        case .keyUnavailable: "Check that this machine reaches ENROUTE_TOKEN_JWKS_URL."
        case .wrongType: "If this is an access token, set ENROUTE_TOKEN_TYPE to its typ."
        case .lifetimeTooLong: "Make your provider's access tokens valid for a shorter time."
        default: nil
        }
    }

    private static let issuerAdvice =
        "Compare it with ENROUTE_TOKEN_ISSUER, or with ISSUER in the file of ENROUTE_TOKEN_PROVIDERS_FILE."
    private static let audienceAdvice =
        "Compare it with ENROUTE_TOKEN_AUDIENCE. If another claim contains the audience, set ENROUTE_TOKEN_AUDIENCE_CLAIM."

    private static func adviceOnMissing(_ claim: ClaimPath, _ providers: [IdentityProvider]) -> String? {
        switch claim {
        case .tokenID: "If your provider offers no jti, set ENROUTE_TOKEN_JTI=optional."
        case .issuer: self.issuerAdvice
        case .expiry, .issuedAt: "Make your provider issue tokens with iat and exp. No setting replaces them."
        case _ where providers.contains { $0.audienceClaim == claim }: self.audienceAdvice
        case _ where providers.contains { $0.roleClaim == claim }:
            "If another claim contains the role, set ENROUTE_TOKEN_ROLE_CLAIM. ENROUTE_TOKEN_DEFAULT_ROLE is the role of "
                + "tokens without one."
        case _ where providers.contains { $0.personClaim == claim }:
            "If another claim contains the person, set ENROUTE_TOKEN_PERSON_CLAIM."
        default: nil
        }
    }

    private static func adviceOnType(of claim: ClaimPath, _ providers: [IdentityProvider]) -> String? {
        switch claim {
        case .expiry, .issuedAt, .notBefore:
            "Make your provider issue \(claim) as a number of seconds since 1970: not as text, and without an exponent."
        case .issuer, .tokenID: "Make your provider issue \(claim) as text."
        case .authorization: "It must be an object that contains jobid, riderid or both, as text."
        case _ where providers.contains { $0.audienceClaim == claim }:
            "It must be text or an array of texts. If another claim contains the audience, set ENROUTE_TOKEN_AUDIENCE_CLAIM."
        case _ where providers.contains { $0.roleClaim == claim && $0.roles.isEmpty }:
            "It must be text. A claim with several roles needs ENROUTE_TOKEN_ROLES. If another claim contains the role, set "
                + "ENROUTE_TOKEN_ROLE_CLAIM."
        case _ where providers.contains { $0.roleClaim == claim }:
            "It must be text or an array of texts. If another claim contains the role, set ENROUTE_TOKEN_ROLE_CLAIM."
        case _ where providers.contains { $0.personClaim == claim }:
            "It must be text. If another claim contains the person, set ENROUTE_TOKEN_PERSON_CLAIM."
        default: "It must be text."
        }
    }
}
