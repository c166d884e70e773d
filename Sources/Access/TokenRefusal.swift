// Why a token is rejected: the reason, and the claim that is missing or wrong. Neither contains anything of the token; the
// claim is named as the settings name it.

internal import EnrouteWire

/// Why a token is rejected.
package struct TokenRefusal: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable, CaseIterable {
        case tooLong, malformed, repeatedMember, criticalHeader, wrongType, unknownKey, wrongAlgorithm, badSignature
        case missingClaim, wrongIssuer, wrongAudience, notYetValid, expired, badSubject, badTokenID, unknownRole
        /// No entry of the role map matches.
        case unmappedRole
        case badAuthorization, lifetimeTooLong
        /// The token has no `kid`, and every key has one.
        case missingKeyID
        /// The key is unknown, and the issuer could not be queried or was queried too recently.
        case keyUnavailable
    }

    package let reason: Reason
    /// The claim that is missing or wrong; `nil` if the reason concerns the whole token or names it already.
    package let claim: ClaimPath?
    /// Whether a provider that may have issued the token does not know its key. Once that provider's keys have been
    /// fetched, the token may be accepted, whatever the other providers' reasons are.
    package var lacksKey: Bool

    package init(_ reason: Reason, claim: ClaimPath? = nil) {
        (self.reason, self.claim, self.lacksKey) = (reason, claim, reason == .unknownKey)
    }

    package static let tooLong = TokenRefusal(.tooLong)
    package static let malformed = TokenRefusal(.malformed)
    package static let repeatedMember = TokenRefusal(.repeatedMember)
    package static let criticalHeader = TokenRefusal(.criticalHeader)
    package static let wrongType = TokenRefusal(.wrongType)
    package static let unknownKey = TokenRefusal(.unknownKey)
    package static let missingKeyID = TokenRefusal(.missingKeyID)
    package static let wrongAlgorithm = TokenRefusal(.wrongAlgorithm)
    package static let badSignature = TokenRefusal(.badSignature)
    package static let wrongIssuer = TokenRefusal(.wrongIssuer, claim: .issuer)
    package static let wrongAudience = TokenRefusal(.wrongAudience, claim: .audience)
    package static let notYetValid = TokenRefusal(.notYetValid)
    package static let expired = TokenRefusal(.expired, claim: .expiry)
    package static let lifetimeTooLong = TokenRefusal(.lifetimeTooLong)
    package static let keyUnavailable = TokenRefusal(.keyUnavailable)

    /// A sentence for the caller and the log.
    package var sentence: String {
        let claim = self.claim.map { "\($0)" } ?? "claim"
        return switch self.reason {
        case .keyUnavailable:
            "Its signing key is unknown. The issuer does not answer, or its keys were fetched less than 30 s ago. Try again "
                + "later."
        case .tooLong: "It is longer than \(TokenVerifier.longestToken) bytes."
        case .malformed where self.claim != nil: "Its \(claim) has the wrong type."
        case .malformed: "It is not a signed JWT: a header, a payload and a signature, in base64url."
        case .missingClaim: "Its \(claim) is missing."
        case .repeatedMember: "Its header repeats a parameter, or its payload repeats a claim."
        case .criticalHeader: "Its header contains crit, but no extensions are supported."
        case .wrongType: "Its typ is not that of an access token."
        case .unknownKey: "Its kid does not match any configured key."
        case .missingKeyID: "It has no kid, but every configured key has one."
        case .wrongAlgorithm: "Its alg does not match the algorithm of its key."
        case .badSignature: "Its signature is invalid."
        case .wrongIssuer: "Its iss does not match the configured issuer."
        case .wrongAudience: "Its \(claim) does not match the configured audience."
        case .notYetValid: "Its iat or nbf is in the future. Check the issuer's clock."
        case .expired: "It has expired. Get a new one."
        case .badSubject: "Its \(claim) must be \(Self.form)."
        case .badTokenID: "Its jti must be \(RevocationSubject.Kind.token.form), so that it can be revoked."
        case .unknownRole: "Its \(claim) must be one of \(Role.allCases.map(\.rawValue).joined(separator: ", "))."
        case .unmappedRole: "Its \(claim) matches no entry of the role map."
        case .badAuthorization where self.claim == .authorization:
            "Its authorization must contain jobid, riderid or both, each \(Self.form)."
        case .badAuthorization: "Its \(claim) must be \(Self.form), and agree with authorization."
        case .lifetimeTooLong:
            "Its lifetime, from iat to exp, is longer than \(TokenVerifier.longestLifetime) s."
        }
    }

    /// A few words for the reason of a close frame, which has at most 123 bytes.
    package var summary: String {
        switch self.reason {
        case .missingClaim: "\(self.shortClaim) is missing"
        case .malformed where self.claim != nil: "\(self.shortClaim) has the wrong type"
        case .wrongIssuer, .wrongAudience, .badSubject, .unknownRole, .unmappedRole, .badAuthorization:
            "\(self.shortClaim) is wrong"
        case .missingKeyID: "kid is missing"
        case .badTokenID: "jti is wrong"
        case .lifetimeTooLong: "lifetime too long"
        case .notYetValid: "not valid yet"
        case .unknownKey, .wrongAlgorithm, .badSignature: "signature not verified"
        default: "malformed"
        }
    }

    private var shortClaim: String {
        let name = self.claim.map { "\($0)" } ?? ""
        return name.count <= Self.longestShortClaim ? name : "\(name.prefix(Self.longestShortClaim))…"
    }

    private static let form = "1 to \(PersonID.longest) characters of [A-Za-z0-9_-]"
    private static let longestShortClaim = 60
}

extension ClaimPath {
    package static let issuer = ClaimPath(literal: "iss")
    package static let audience = ClaimPath(literal: "aud")
    package static let subject = ClaimPath(literal: "sub")
    package static let expiry = ClaimPath(literal: "exp")
    package static let issuedAt = ClaimPath(literal: "iat")
    package static let notBefore = ClaimPath(literal: "nbf")
    package static let tokenID = ClaimPath(literal: "jti")
    package static let role = ClaimPath(literal: "role")
    package static let authorization = ClaimPath(literal: "authorization")
}
