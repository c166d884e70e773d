// How fast one session, one person and one address may speak, on one event loop. A session holds its three buckets, so
// that a message costs three subtractions and no look-up.

package import EnrouteWire
internal import Fanout

/// A bucket that the sessions of a person, or of an address, take from together. Confined to its loop.
package final class SharedBucket {
    fileprivate var bucket: TokenBucket
    fileprivate var holders = 0

    fileprivate init(_ bucket: TokenBucket) { self.bucket = bucket }
}

/// Buckets of the people and addresses that have sessions on one event loop. Confined to it.
package final class SharedBuckets<Key: Hashable> {
    private var buckets: [Key: SharedBucket] = [:]
    private let perSecond: Int
    private let burst: Int

    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// To be given back with `leave`.
    ///
    /// - Returns: `nil` where there is no bound: a burst of 0.
    package func join(_ key: Key) -> SharedBucket? {
        guard self.burst > 0 else { return nil }
        let shared = self.buckets[key] ?? SharedBucket(TokenBucket(perSecond: self.perSecond, burst: self.burst))
        self.buckets[key] = shared
        shared.holders += 1
        return shared
    }

    /// Bounded by the sessions of the loop: who has none begins with a full bucket the next time, and how often
    /// somebody may come is bounded elsewhere.
    package func leave(_ key: Key) {
        guard let shared = self.buckets[key] else { return }
        shared.holders -= 1
        if shared.holders == 0 { self.buckets[key] = nil }
    }
}

/// What one session may say. Confined to its loop.
package struct MessageRate {
    package enum Verdict: Hashable {
        case allowed
        /// Try again after so many ms.
        case refused(retryInMilliseconds: Int64)
        /// It goes on and on.
        case hopeless
    }

    private var own: TokenBucket
    private var ofPerson: SharedBucket?
    private let ofAddress: SharedBucket?
    private let mostRefusals: Int
    private var refusals = 0

    package init(_ limits: Limits, address: SharedBucket?) {
        self.own = TokenBucket(perSecond: limits.messagesPerSecond, burst: limits.messagesBurst)
        self.ofAddress = address
        self.mostRefusals = 2 * limits.messagesBurst
    }

    package mutating func signedIn(_ person: SharedBucket?) { self.ofPerson = person }

    /// - Parameter now: ns of a clock that does not go back.
    package mutating func take(at now: UInt64) -> Verdict {
        // All three are looked at before one is taken from: what is refused must not use up another's.
        let wait = max(
            self.own.wait(at: now), self.ofPerson?.bucket.wait(at: now) ?? 0, self.ofAddress?.bucket.wait(at: now) ?? 0)
        guard wait == 0 else {
            self.refusals += 1
            guard self.refusals <= self.mostRefusals else { return .hopeless }
            return .refused(retryInMilliseconds: Int64(clamping: wait / 1_000_000 + 1))
        }
        // Forgiven once it has been quiet for as long as the bucket takes to fill.
        if self.refusals > 0, self.own.isFull(at: now) { self.refusals = 0 }
        self.charge(1, at: now)
        return .allowed
    }

    /// Takes as many as there are, `count` at most: of a message that is as much work as several, and was allowed.
    package mutating func charge(_ count: Int, at now: UInt64) {
        for _ in 0..<count {
            _ = self.own.take(at: now)
            _ = self.ofPerson?.bucket.take(at: now)
            _ = self.ofAddress?.bucket.take(at: now)
        }
    }
}
