// Verifies tokens (JWT, RFC 7519) as RFC 8725 requires: the key determines the algorithm, never the token; references to keys
// elsewhere are ignored; issuer, audience and times are required; no claim is used before the signature is verified.

internal import Crypto
internal import FoundationEssentials
package import JWTKit
internal import Synchronization

/// Why a token is rejected. Describes what to change, never the content of the token.
package enum TokenRefusal: Error, Hashable, Sendable, CaseIterable {
    case tooLong, malformed, repeatedMember, criticalHeader, unknownKey, wrongAlgorithm, badSignature
    case wrongIssuer, wrongAudience, notYetValid, expired, badSubject, badTokenID, unknownRole, badAuthorization
    case lifetimeTooLong
    /// The key is unknown, and the issuer could not be queried, or not again so soon.
    case keyUnavailable
}

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

    /// Maximum time from `iat` to `exp`, in seconds. Revocations are remembered for this long, so no token may live longer.
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

    /// Replaces the keys. Tokens verified with a removed key are rejected afterwards.
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

    /// Checks everything except the times.
    private func verify(_ token: [UInt8], _ keys: [String?: [Key]]) throws(TokenRefusal) -> VerifiedToken {
        let text = try CompactJWS(token)
        try Self.checkSignature(text, keys)
        let claims = try Claims(json: text.claims)
        guard claims.issuer == self.issuer else { throw .wrongIssuer }
        guard claims.audiences.contains(self.audience) else { throw .wrongAudience }
        // Both can be any integer, so their difference can overflow.
        let (lifetime, isAbsurd) = claims.expiresAt.subtractingReportingOverflow(claims.token.issuedAt)
        guard !isAbsurd, lifetime <= self.longestLifetime else { throw .lifetimeTooLong }
        let grant = Grant(
            person: claims.subject, role: claims.role, job: claims.job, rider: claims.rider, token: claims.token,
            expiresAt: claims.expiresAt)
        return VerifiedToken(grant: grant, notBefore: claims.notBefore, expiresAt: claims.expiresAt)
    }

    private static func checkSignature(_ text: CompactJWS, _ keys: [String?: [Key]]) throws(TokenRefusal) {
        let header = try TokenHeader(json: text.header)
        // A token with a kid is checked only against the key of that name; one without a kid against keys without one.
        guard let named = keys[header.kid] else { throw .unknownKey }
        let fitting = named.filter { $0.algorithm.name == header.algorithm }
        guard !fitting.isEmpty else { throw .wrongAlgorithm }
        // A signature of the wrong length makes some algorithms throw.
        guard fitting.contains(where: { (try? $0.algorithm.verify(text.signature, signs: text.signed)) == true }) else {
            throw .badSignature
        }
    }

    /// Shared by all loops. The lock is held for a dictionary lookup; signatures are verified outside of it.
    private final class Shared: Sendable {
        struct State {
            var keys: [String?: [Key]]
            /// How many times the keys were replaced.
            var generation = 0
            var verified = TokenCache()
        }

        let state: Mutex<State>

        init(_ keys: [Key]) { self.state = Mutex(State(keys: Dictionary(grouping: keys, by: \.kid))) }
    }
}
