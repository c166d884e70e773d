// Verifies tokens (JWT, RFC 7519) as RFC 8725 requires: the key determines the algorithm, never the token; references to keys
// elsewhere are ignored; issuer, audience and times are required; no claim is used before the signature is verified, except
// that `iss` selects the keys where several identity providers are configured.

internal import Crypto
internal import FoundationEssentials
package import JWTKit
internal import Synchronization

/// Verifies tokens synchronously and without I/O. Copies share their keys and their cache.
package struct TokenVerifier: Sendable {
    /// One key and the only algorithm that it is used with.
    package struct Key: Sendable {
        package let kid: String?
        package let algorithm: any JWTAlgorithm

        package init(kid: String?, algorithm: any JWTAlgorithm) {
            self.kid = kid
            self.algorithm = algorithm
        }
    }

    /// Maximum length of a token, in bytes.
    package static let longestToken = 4096
    /// Tolerated difference between clocks, in seconds.
    package static let skew: Int64 = 30

    /// Maximum time from `iat` to `exp`, in seconds, so that every revocation outlives the tokens that it covers.
    package static let longestLifetime: Int64 = 48 * 3600
    /// How long a revocation has an effect, in seconds: the `iat` of a token that it covers may be `skew` later, and the token
    /// is accepted until `skew` after its `exp`.
    package static let longestRevocation = longestLifetime + 2 * skew

    let providers: [IdentityProvider]
    private let longestLifetime: Int64
    private let shared: Shared

    /// - Parameter providers: at least one. Several may have the same issuer, for example for two kinds of tokens.
    package init(_ providers: [IdentityProvider], longestLifetime: Int64 = TokenVerifier.longestLifetime) {
        precondition(!providers.isEmpty, "no identity provider")
        self.providers = providers
        self.longestLifetime = longestLifetime
        self.shared = Shared(providers.map(\.keys))
    }

    package init(
        keys: [Key], issuer: String, audience: String, longestLifetime: Int64 = TokenVerifier.longestLifetime
    ) {
        self.init(
            [IdentityProvider(issuer: issuer, audience: audience, keys: keys)], longestLifetime: longestLifetime)
    }

    /// Replaces the keys of a provider. Tokens verified with a removed key are rejected afterwards.
    ///
    /// - Parameter provider: its index.
    package func replace(keys: [Key], of provider: Int = 0) { self.replace(keys: [provider: keys]) }

    /// Replaces the keys of several providers at the same moment.
    ///
    /// - Parameter keys: the new keys by the provider's index.
    func replace(keys: [Int: [Key]]) {
        self.shared.state.withLock {
            for (provider, keys) in keys { $0.keys[provider] = Dictionary(grouping: keys, by: \.kid) }
            $0.generation += 1
            $0.verified.removeAll()
        }
    }

    /// Whether any provider currently has a key.
    package var hasKeys: Bool { self.shared.state.withLock { $0.keys.contains { !$0.isEmpty } } }

    /// Verifies a token and returns its grant.
    ///
    /// - Parameter now: seconds since the epoch.
    package func verify(_ token: String, now: Int64) throws(TokenRefusal) -> Grant {
        guard token.utf8.count <= Self.longestToken else { throw .tooLong }
        let bytes = Array(token.utf8)
        let digest = SHA256.hash(data: bytes)
        let (known, keys, generation) = self.shared.state.withLock { ($0.verified[digest], $0.keys, $0.generation) }
        if let known {
            if now >= known.expiresAt + Self.skew { self.shared.state.withLock { $0.verified.remove(digest) } }
            try known.checkTimes(now: now)
            return known.grant
        }
        let verified = try self.verify(bytes, keys)
        try verified.checkTimes(now: now)
        self.shared.state.withLock { if $0.generation == generation { $0.verified.insert(verified, digest) } }
        return verified.grant
    }

    /// Returns whether the token was verified before and is still remembered. It may have expired since.
    package func knows(_ token: String) -> Bool {
        guard token.utf8.count <= Self.longestToken else { return false }
        let digest = SHA256.hash(data: Array(token.utf8))
        return self.shared.state.withLock { $0.verified[digest] != nil }
    }

    /// The providers that may have issued a token, as indexes. With several, the token's `iss` selects among them
    /// before the signature is verified. It decides nothing else: each provider has its own keys, and `Claims` compares
    /// `iss` again.
    func candidates(_ token: [UInt8]) throws(TokenRefusal) -> [Int] {
        guard self.providers.count > 1 else { return [0] }
        let text = try CompactJWS(token)
        let issuer = try ClaimSet(json: text.claims).string(.issuer)
        return self.providers.indices.filter { self.providers[$0].issuer == issuer }
    }

    /// The providers that would accept the token's `iss` and `typ` but do not know the key that it names, as indexes.
    func lackingKey(of token: String) -> [Int] {
        let bytes = Array(token.utf8)
        guard let text = try? CompactJWS(bytes), let header = try? TokenHeader(json: text.header),
            let candidates = try? self.candidates(bytes)
        else { return [] }
        let keys = self.shared.state.withLock { $0.keys }
        return candidates.filter { self.providers[$0].accepts(header) && keys[$0][header.kid] == nil }
    }

    /// Checks everything except the times.
    private func verify(_ token: [UInt8], _ keys: [[String?: [Key]]]) throws(TokenRefusal) -> VerifiedToken {
        var refusal = TokenRefusal.wrongIssuer
        var furthest = -1
        var lacksKey = false
        for index in try self.candidates(token) {
            do throws(TokenRefusal) {
                return try self.verify(token, keys[index], self.providers[index])
            } catch {
                // If several providers have this issuer, the refusal of the one whose verification got furthest is the
                // most helpful. But a provider whose keys have not been fetched yet may be the one that issued the
                // token.
                lacksKey = lacksKey || error.lacksKey
                let isAboutAudience = error.claim == self.providers[index].audienceClaim
                let lacksKeys = error == .unknownKey && keys[index].isEmpty
                let progress = lacksKeys ? 5 : isAboutAudience ? 3 : error.progress
                guard progress > furthest else { continue }
                (refusal, furthest) = (error, progress)
            }
        }
        refusal.lacksKey = lacksKey
        throw refusal
    }

    private func verify(
        _ token: [UInt8], _ keys: [String?: [Key]], _ provider: IdentityProvider
    ) throws(TokenRefusal) -> VerifiedToken {
        let text = try CompactJWS(token)
        try Self.checkSignature(text, keys, provider)
        let claims = try Claims(
            try ClaimSet(json: text.claims), of: provider, longestLifetime: self.longestLifetime)
        let grant = Grant(
            person: claims.subject, role: claims.role, job: claims.job, rider: claims.rider, token: claims.token,
            expiresAt: claims.expiresAt)
        return VerifiedToken(grant: grant, notBefore: claims.notBefore, expiresAt: claims.expiresAt)
    }

    private static func checkSignature(
        _ text: CompactJWS, _ keys: [String?: [Key]], _ provider: IdentityProvider
    ) throws(TokenRefusal) {
        let header = try TokenHeader(json: text.header)
        guard provider.accepts(header) else { throw .wrongType }
        // A token with a kid is checked only against the key of that name; one without a kid against keys without one.
        guard let named = keys[header.kid] else {
            throw keys.isEmpty || header.kid != nil ? .unknownKey : .missingKeyID
        }
        let fitting = named.filter {
            $0.algorithm.name == header.algorithm && provider.accepted.contains($0.algorithm.name)
        }
        guard !fitting.isEmpty else { throw .wrongAlgorithm }
        // A signature of the wrong length makes some algorithms throw.
        guard fitting.contains(where: { (try? $0.algorithm.verify(text.signature, signs: text.signed)) == true }) else {
            throw .badSignature
        }
    }

    /// Shared by all loops. The lock is held for a dictionary lookup; signatures are verified outside of it.
    private final class Shared: Sendable {
        struct State {
            /// By provider and `kid`.
            var keys: [[String?: [Key]]]
            /// How many times the keys were replaced.
            var generation = 0
            var verified = TokenCache()
        }

        let state: Mutex<State>

        init(_ keys: [[Key]]) {
            self.state = Mutex(State(keys: keys.map { Dictionary(grouping: $0, by: \.kid) }))
        }
    }
}

extension IdentityProvider {
    /// The values of `typ` that are accepted unless one is configured. Others belong to JWTs for another purpose (RFC 8725
    /// section 3.11), such as `logout+jwt`.
    private static let types: Set<String?> = [nil, "jwt", "at+jwt"]

    fileprivate func accepts(_ header: TokenHeader) -> Bool {
        self.type.map { $0 == header.type } ?? Self.types.contains(header.type)
    }
}

extension TokenRefusal {
    /// How far the verification got, to choose between the refusals of several providers.
    fileprivate var progress: Int {
        switch self.reason {
        case .unknownKey, .missingKeyID: 1
        case .wrongIssuer: 2
        case .wrongAudience: 3
        case .missingClaim, .malformed, .badSubject, .unknownRole, .unmappedRole, .badAuthorization, .badTokenID,
            .lifetimeTooLong:
            4
        default: 0
        }
    }
}
