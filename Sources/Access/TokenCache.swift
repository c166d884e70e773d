// A cache of verified tokens: a client that reconnects or repeats a REST request costs a hash instead of a signature (row D6 of
// the threat table). Only valid tokens enter it, so it cannot be filled without one.

internal import Crypto

/// What is remembered about a verified token.
struct VerifiedToken: Hashable, Sendable {
    let grant: Grant
    /// Seconds since the epoch, without skew.
    let notBefore: Int64
    /// Seconds since the epoch, without skew.
    let expiresAt: Int64

    /// - Parameter now: seconds since the epoch.
    func checkTimes(now: Int64) throws(TokenRefusal) {
        guard self.notBefore - TokenVerifier.skew <= now else { throw .notYetValid }
        guard self.expiresAt + TokenVerifier.skew > now else { throw .expired }
    }
}

/// The most recently verified tokens, keyed by the SHA-256 of their text; the text itself is not stored. O(1).
struct TokenCache {
    /// Maximum number of tokens; a new one replaces the oldest. About 2.5 MB when full.
    static let most = 8192

    private let most: Int
    private var tokens: [SHA256Digest: VerifiedToken] = [:]
    /// In order of arrival; once full, `oldest` is the index of the next replacement.
    private var order: [SHA256Digest] = []
    private var oldest = 0

    init(most: Int = Self.most) {
        precondition(most > 0)
        self.most = most
    }

    var count: Int { self.tokens.count }

    subscript(digest: SHA256Digest) -> VerifiedToken? { self.tokens[digest] }

    mutating func insert(_ token: VerifiedToken, _ digest: SHA256Digest) {
        // Two loops may have verified the same token concurrently.
        guard self.tokens.updateValue(token, forKey: digest) == nil else { return }
        guard self.order.count == self.most else { return self.order.append(digest) }
        self.tokens[self.order[self.oldest]] = nil
        self.order[self.oldest] = digest
        self.oldest = (self.oldest + 1) % self.most
    }

    /// Removes an expired token. Its slot is reused in turn.
    mutating func remove(_ digest: SHA256Digest) { self.tokens[digest] = nil }

    /// Removes all tokens, because they were verified with keys that have been replaced.
    mutating func removeAll() { self = TokenCache(most: self.most) }
}
