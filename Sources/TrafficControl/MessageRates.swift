// Limits the rate of WebSocket messages for each session, user (or tracking link) and client address on one event loop. A
// session has direct references to its three token buckets, so checking a message costs three subtractions and no lookup.

package import EnrouteWire
internal import Fanout

/// A token bucket that all sessions of a user in one role, of a tracking link or of an address share. Confined to its loop.
package final class SharedBucket {
    fileprivate var bucket: TokenBucket
    fileprivate var holders = 0

    fileprivate init(_ bucket: TokenBucket) { self.bucket = bucket }
}

/// The shared buckets of all users and links, or of all addresses, with sessions on one event loop. Confined to that loop.
package final class SharedBuckets<Key: Hashable> {
    private var buckets: [Key: SharedBucket] = [:]
    private let perSecond: Int
    private let burst: Int

    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// Returns the bucket for a key. Each call must be balanced by a call of `release`.
    ///
    /// - Returns: `nil` if the rate is not limited (a burst of 0).
    package func acquire(_ key: Key) -> SharedBucket? {
        guard self.burst > 0 else { return nil }
        let shared = self.buckets[key] ?? SharedBucket(TokenBucket(perSecond: self.perSecond, burst: self.burst))
        self.buckets[key] = shared
        shared.holders += 1
        return shared
    }

    /// Releases the bucket, and removes it with its last session, so the table never has more entries than the loop has
    /// sessions. The next session starts with a full bucket, but another limit bounds how often clients may connect.
    package func release(_ key: Key) {
        guard let shared = self.buckets[key] else { return }
        shared.holders -= 1
        if shared.holders == 0 { self.buckets[key] = nil }
    }
}

/// The rate limit of one session. Confined to its loop.
package struct MessageRate {
    package enum Verdict: Hashable {
        case allowed
        /// The client may try again after this time.
        case refused(retryInMilliseconds: Int64)
        /// The client keeps sending too fast: close the session.
        case excessive
    }

    private var own: TokenBucket
    private var ofOwner: SharedBucket?
    private let ofAddress: SharedBucket?
    private let maxRefusals: Int
    private var refusals = 0

    package init(_ limits: Limits, address: SharedBucket?) {
        self.own = TokenBucket(perSecond: limits.messagesPerSecond, burst: limits.messagesBurst)
        self.ofAddress = address
        self.maxRefusals = 2 * limits.messagesBurst
    }

    package mutating func signedIn(_ owner: SharedBucket?) { self.ofOwner = owner }

    /// Admits one message, or refuses it.
    ///
    /// - Parameter now: nanoseconds of a monotonic clock.
    package mutating func admit(at now: UInt64) -> Verdict {
        // Check all three buckets before taking from any: a refused message must not use up tokens of the shared buckets.
        let wait = max(
            self.own.wait(at: now), self.ofOwner?.bucket.wait(at: now) ?? 0, self.ofAddress?.bucket.wait(at: now) ?? 0)
        guard wait == 0 else {
            self.refusals += 1
            guard self.refusals <= self.maxRefusals else { return .excessive }
            return .refused(retryInMilliseconds: Int64(clamping: wait / 1_000_000 + 1))
        }
        // A client that has been quiet long enough for its bucket to fill starts with a clean record.
        if self.refusals > 0, self.own.isFull(at: now) { self.refusals = 0 }
        self.charge(1, at: now)
        return .allowed
    }

    /// Takes up to `count` more tokens for an admitted message that causes as much work as several.
    package mutating func charge(_ count: Int, at now: UInt64) {
        for _ in 0..<count {
            _ = self.own.take(at: now)
            _ = self.ofOwner?.bucket.take(at: now)
            _ = self.ofAddress?.bucket.take(at: now)
        }
    }
}
