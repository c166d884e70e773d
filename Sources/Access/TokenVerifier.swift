// Tokens are JWTs (RFC 7519), checked as RFC 8725 asks: the algorithm belongs to the key, never to the token; what names
// a key elsewhere is not looked at; issuer, audience and times are required; nothing is believed before its signature.

internal import Crypto
internal import FoundationEssentials
package import JWTKit
internal import Synchronization

/// Why a token is not accepted. Says what to change, never what the token holds.
package enum TokenRefusal: Error, Hashable, Sendable, CaseIterable {
    case tooLong, malformed, repeatedMember, criticalHeader, unknownKey, wrongAlgorithm, badSignature
    case wrongIssuer, wrongAudience, notYetValid, expired, badSubject, badTokenID, unknownRole, badAuthorization
    case livesTooLong
    /// Nobody knows the key, and its issuer could not be asked, or not again so soon.
    case keyNotFetched
}

/// Checks tokens, synchronously and without looking anything up outside. Copies share their keys and what they verified.
package struct TokenVerifier: Sendable {
    /// One key and the only algorithm it is used with.
    package struct Key: Sendable {
        package let kid: String?
        package let algorithm: any JWTAlgorithm

        package init(kid: String?, algorithm: any JWTAlgorithm) {
            self.kid = kid
            self.algorithm = algorithm
        }
    }

    /// Bytes of a token, at most.
    package static let longestToken = 4096
    /// Seconds by which clocks may differ.
    package static let skew: Int64 = 30

    /// Seconds from `iat` to `exp`, at most: what is revoked is remembered for so long, and no token may outlive that.
    package static let longestLifetime: Int64 = 48 * 3600

    private let issuer: String
    private let audience: String
    private let longestLifetime: Int64
    private let shared: Shared

    package init(
        keys: [Key], issuer: String, audience: String, longestLifetime: Int64 = TokenVerifier.longestLifetime
    ) {
        self.issuer = issuer
        self.audience = audience
        self.longestLifetime = longestLifetime
        self.shared = Shared(keys)
    }

    /// Takes these keys in the place of those before; a token that was good by one that is gone is good no more.
    package func replace(keys: [Key]) {
        self.shared.state.withLock {
            $0.keys = Dictionary(grouping: keys, by: \.kid)
            $0.generation += 1
            $0.verified.removeAll()
        }
    }

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

    /// All but the times.
    private func verify(_ token: [UInt8], _ keys: [String?: [Key]]) throws(TokenRefusal) -> VerifiedToken {
        let text = try TokenText(token)
        try Self.checkSignature(text, keys)
        let claims = try Claims(json: text.claims)
        guard claims.issuer == self.issuer else { throw .wrongIssuer }
        guard claims.audiences.contains(self.audience) else { throw .wrongAudience }
        // Both may be any number: their difference may be none.
        let (lifetime, isAbsurd) = claims.expiresAt.subtractingReportingOverflow(claims.token.issuedAt)
        guard !isAbsurd, lifetime <= self.longestLifetime else { throw .livesTooLong }
        let grant = Grant(
            person: claims.subject, role: claims.role, job: claims.job, rider: claims.rider, token: claims.token,
            expiresAt: claims.expiresAt)
        return VerifiedToken(grant: grant, notBefore: claims.notBefore, expiresAt: claims.expiresAt)
    }

    private static func checkSignature(_ text: TokenText, _ keys: [String?: [Key]]) throws(TokenRefusal) {
        let header = try TokenHeader(json: text.header)
        // A token with a kid gets the key of that name and no other; one without gets those without.
        guard let named = keys[header.kid] else { throw .unknownKey }
        let fitting = named.filter { $0.algorithm.name == header.algorithm }
        guard !fitting.isEmpty else { throw .wrongAlgorithm }
        // A signature of the wrong length makes some algorithms throw.
        guard fitting.contains(where: { (try? $0.algorithm.verify(text.signature, signs: text.signed)) == true }) else {
            throw .badSignature
        }
    }

    /// Used by all loops, for as long as a look into a dictionary takes; signatures are checked outside of the lock.
    private final class Shared: Sendable {
        struct State {
            var keys: [String?: [Key]]
            /// How many times the keys were replaced.
            var generation = 0
            var verified = VerifiedTokens()
        }

        let state: Mutex<State>

        init(_ keys: [Key]) { self.state = Mutex(State(keys: Dictionary(grouping: keys, by: \.kid))) }
    }
}
