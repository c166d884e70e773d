// The claims of a token (RFC 7519 section 4.1), read after its signature was verified. Required claims are enforced here;
// TokenVerifier compares their values with the configuration.

internal import EnrouteWire

/// The claims of a token.
struct Claims: Hashable {
    let issuer: String
    let audiences: [String]
    let subject: PersonID
    let role: Role
    /// Seconds since the epoch: the later of `iat` and `nbf`.
    let notBefore: Int64
    /// Seconds since the epoch.
    let expiresAt: Int64
    let token: TokenIdentity
    let job: JobID?
    let rider: PersonID?

    init(json: [UInt8]) throws(TokenRefusal) {
        var (iss, sub, jti, role): (String?, String?, String?, String?)
        var (exp, iat, nbf): (Int64?, Int64?, Int64?)
        var aud: [String]?
        var authorization = Authorization()
        try JSONMembers.read(json) { (name, reader) throws(BadMessage) in
            switch name {
            case "iss": iss = try reader.string()
            case "sub": sub = try reader.string()
            case "jti": jti = try reader.string()
            case "role": role = try reader.string()
            case "exp": exp = try reader.integer()
            case "iat": iat = try reader.integer()
            case "nbf": nbf = try reader.integer()
            case "aud": aud = try reader.audiences()
            case "authorization": try authorization.read(&reader)
            default: try reader.value()
            }
        }
        guard let iss, let sub, let jti, !jti.isEmpty, let role, let exp, let iat, let aud else { throw .malformed }
        guard let role = Role(rawValue: role) else { throw .unknownRole }
        guard let subject = PersonID(sub) else { throw .badSubject }
        guard authorization.isUnderstood else { throw .badAuthorization }
        // A token that revocation cannot name could never be revoked.
        guard RevocationSubject(.token, id: jti) != nil else { throw .badTokenID }
        (self.issuer, self.audiences, self.subject, self.role) = (iss, aud, subject, role)
        (self.notBefore, self.expiresAt) = (max(iat, nbf ?? iat), exp)
        self.token = TokenIdentity(id: jti, issuedAt: iat)
        (self.job, self.rider) = (authorization.job, authorization.rider)
    }
}

/// `{"jobid": …}`, `{"riderid": …}` or both: narrows what the token reaches. An unknown member would narrow it too, so the
/// token is rejected rather than the member ignored.
private struct Authorization {
    private(set) var job: JobID?
    private(set) var rider: PersonID?
    /// Also `true` when the claim is absent.
    private(set) var isUnderstood = true

    mutating func read(_ reader: inout JSONReader) throws(BadMessage) {
        var members = JSONMembers()
        var (job, rider): (JobID?, PersonID?)
        var isUnderstood = true
        try reader.object { (name, reader) throws(BadMessage) in
            switch members.next(name) {
            case "jobid":
                job = JobID(try reader.string())
                isUnderstood = isUnderstood && job != nil
            case "riderid":
                rider = PersonID(try reader.string())
                isUnderstood = isUnderstood && rider != nil
            default:
                isUnderstood = false
                try reader.value()
            }
        }
        (self.job, self.rider) = (job, rider)
        // An empty object narrows nothing, which cannot be what the issuer meant.
        self.isUnderstood = isUnderstood && !members.isRepeated && (job != nil || rider != nil)
    }
}

extension JSONReader {
    /// `aud`: a string, or an array of them.
    fileprivate mutating func audiences() throws(BadMessage) -> [String] {
        var all: [String] = []
        if self.isAtArray {
            try self.array { (reader) throws(BadMessage) in all.append(try reader.string()) }
        } else {
            all.append(try self.string())
        }
        return all
    }
}
