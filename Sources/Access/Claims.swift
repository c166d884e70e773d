// The claims of a token (RFC 7519 section 4.1), read as the settings of its identity provider say, after its signature
// was verified. All claims are checked here, except against the current time.

internal import EnrouteWire

/// The claims of a token.
struct Claims: Hashable {
    let subject: PersonID
    let role: Role
    /// Seconds since the epoch: the later of `iat` and `nbf`.
    let notBefore: Int64
    /// Seconds since the epoch.
    let expiresAt: Int64
    let token: TokenIdentity
    let job: JobID?
    let rider: PersonID?

    /// - Throws: the first claim that is missing or wrong. Issuer and audience are checked first, so that the refusal
    ///   of another service's token reveals nothing else about it.
    init(_ claims: ClaimSet, of provider: IdentityProvider, longestLifetime: Int64) throws(TokenRefusal) {
        let issuer = try Self.required(.issuer, try claims.string(.issuer))
        guard issuer == provider.issuer else { throw .wrongIssuer }
        let audiences = try Self.required(provider.audienceClaim, try claims.strings(provider.audienceClaim))
        guard audiences.contains(provider.audience) else {
            throw TokenRefusal(.wrongAudience, claim: provider.audienceClaim)
        }
        let expiresAt = try Self.required(.expiry, try claims.time(.expiry))
        let issuedAt = try Self.required(.issuedAt, try claims.time(.issuedAt))
        // Only optional claims may be `null`. A restriction that is `null` is refused, because the token would
        // otherwise allow more than its issuer may have meant.
        let optional = claims.withoutNull
        let notBefore = try optional.time(.notBefore)
        // Both can be any integer, so their difference can overflow.
        let (lifetime, isAbsurd) = expiresAt.subtractingReportingOverflow(issuedAt)
        guard !isAbsurd, lifetime <= longestLifetime else { throw .lifetimeTooLong }

        let id = try Self.required(provider.personClaim, try claims.string(provider.personClaim))
        guard let subject = provider.person(id) else { throw TokenRefusal(.badSubject, claim: provider.personClaim) }
        self.role = try provider.role(optional)
        let limits = try Restriction(claims, of: provider)
        let tokenID: String
        if let jti = try optional.string(.tokenID) {
            // A token whose id is not valid in a revocation could never be revoked.
            guard RevocationSubject(.token, id: jti) != nil else { throw TokenRefusal(.badTokenID, claim: .tokenID) }
            tokenID = jti
        } else {
            guard !provider.requiresTokenID else { throw TokenRefusal(.missingClaim, claim: .tokenID) }
            tokenID = TokenIdentity.id(of: subject, issuedAt: issuedAt)
        }
        self.subject = subject
        (self.notBefore, self.expiresAt) = (max(issuedAt, notBefore ?? issuedAt), expiresAt)
        self.token = TokenIdentity(id: tokenID, issuedAt: issuedAt)
        (self.job, self.rider) = (limits.job, limits.rider)
    }

    private static func required<Value>(_ claim: ClaimPath, _ value: Value?) throws(TokenRefusal) -> Value {
        guard let value else { throw TokenRefusal(.missingClaim, claim: claim) }
        return value
    }
}

/// The job, the rider or both that a token is limited to.
private struct Restriction {
    private(set) var job: JobID?
    private(set) var rider: PersonID?

    init(_ claims: ClaimSet, of provider: IdentityProvider) throws(TokenRefusal) {
        if let json = try claims.value(at: .authorization) { try self.readAuthorization(json, provider) }
        if let claim = provider.jobClaim, let text = try claims.string(claim) {
            guard let job = JobID(text), self.job == nil || self.job == job else {
                throw TokenRefusal(.badAuthorization, claim: claim)
            }
            self.job = job
        }
        if let claim = provider.riderClaim, let text = try claims.string(claim) {
            guard let rider = provider.person(text), self.rider == nil || self.rider == rider else {
                throw TokenRefusal(.badAuthorization, claim: claim)
            }
            self.rider = rider
        }
    }

    /// `{"jobid": …}`, `{"riderid": …}` or both. An unknown member may be a further restriction, so the token is
    /// rejected instead of ignoring the member. An empty object is rejected too: it restricts nothing, which cannot be
    /// what the issuer meant.
    private mutating func readAuthorization(_ json: [UInt8], _ provider: IdentityProvider) throws(TokenRefusal) {
        let refusal = TokenRefusal(.badAuthorization, claim: .authorization)
        let members: ClaimSet
        do throws(TokenRefusal) { members = try ClaimSet(json: json) } catch {
            throw error.reason == .repeatedMember ? refusal : TokenRefusal(.malformed, claim: .authorization)
        }
        guard !members.names.isEmpty, members.names.allSatisfy({ ["jobid", "riderid"].contains($0) }) else {
            throw refusal
        }
        if let text = try members.string(.jobID) {
            guard let job = JobID(text) else { throw refusal }
            self.job = job
        }
        if let text = try members.string(.riderID) {
            guard let rider = provider.person(text) else { throw refusal }
            self.rider = rider
        }
    }
}

extension ClaimPath {
    fileprivate static let jobID = ClaimPath(literal: "jobid")
    fileprivate static let riderID = ClaimPath(literal: "riderid")
}
