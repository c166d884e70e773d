// Tokens whose signature was good once, so that a client that comes back, or asks again over REST, costs a hash in the
// place of a signature (row D6 of the threats). Only good tokens get in, so nobody without one can fill it.

internal import Crypto

/// What is known of a token that was verified.
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

/// The newest verified tokens, by the SHA-256 of their text; the token itself is not kept. O(1).
struct VerifiedTokens {
    /// Tokens, at most; the oldest goes out for a new one. About 2.5 MB when they are all there.
    static let most = 8192

    private let most: Int
    private var tokens: [SHA256Digest: VerifiedToken] = [:]
    /// In the order in which they came; once it is full, `oldest` is the place of the next one.
    private var order: [SHA256Digest] = []
    private var oldest = 0

    init(most: Int = Self.most) {
        precondition(most > 0)
        self.most = most
    }

    var count: Int { self.tokens.count }

    subscript(digest: SHA256Digest) -> VerifiedToken? { self.tokens[digest] }

    mutating func insert(_ token: VerifiedToken, _ digest: SHA256Digest) {
        // Two loops may have verified it at the same time.
        guard self.tokens.updateValue(token, forKey: digest) == nil else { return }
        guard self.order.count == self.most else { return self.order.append(digest) }
        self.tokens[self.order[self.oldest]] = nil
        self.order[self.oldest] = digest
        self.oldest = (self.oldest + 1) % self.most
    }

    /// Forgets one that has expired. Its place is taken in its turn.
    mutating func remove(_ digest: SHA256Digest) { self.tokens[digest] = nil }

    /// Forgets all: the keys they were verified with are not those of now.
    mutating func removeAll() { self = VerifiedTokens(most: self.most) }
}
