// An issuer's keys, kept fresh: one fetch at a time, whoever asks, and the last good set for as long as no other comes.
// What fetches (KeyFetch) is a closure; when to fetch is KeyRefresh's.

internal import FoundationEssentials
internal import Synchronization

/// Keeps the keys of one verifier those that an issuer publishes.
package actor JWKSSource {
    /// Brings the bytes of the set. It must end by itself, in seconds: those with a key nobody knows wait for it.
    package typealias Fetch = @Sendable () async throws -> [UInt8]

    /// What became of a wish for new keys.
    package enum Outcome: Sendable {
        /// The issuer answered with a set that is in order.
        case fresh
        /// It is too early to ask again, or too many wait already.
        case asked
        /// The set of before is used; an `Error` of `Fetch`, or `JWKSet.Unusable`.
        case failed(any Error)
    }

    /// Tokens that wait for one fetch, at most; the others are answered with the keys that are known.
    package static let mostWaiting = 1024

    private let verifier: TokenVerifier
    /// Used besides those of the issuer.
    private let fixed: [TokenVerifier.Key]
    private let fetch: Fetch
    private let report: @Sendable (Outcome) -> Void
    private let fetches = Mutex(Fetches())
    private let now: @Sendable () -> ContinuousClock.Instant
    private var refresh = KeyRefresh()
    private var current: JWKSet?
    private var flight: Task<Outcome, Never>?
    private var waiting = 0

    /// - Parameter report: hears of every fetch that has ended: one in `KeyRefresh.shortestInterval`, at most.
    package init(
        verifier: TokenVerifier, fixed: [TokenVerifier.Key] = [],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        report: @escaping @Sendable (Outcome) -> Void = { _ in }, fetch: @escaping Fetch
    ) {
        (self.verifier, self.fixed, self.now, self.report, self.fetch) = (verifier, fixed, now, report, fetch)
    }

    /// Some tokens are good without the issuer.
    package nonisolated var hasFixedKeys: Bool { !self.fixed.isEmpty }

    /// How often the issuer was asked, by what came of it.
    package struct Fetches: Hashable, Sendable {
        package var good = 0
        package var failed = 0
        /// When the first of the fetches that failed in a row did, ms since the epoch; `nil` after one that did not.
        package var failingSince: Int64?
        /// When the first of the good ones in a row ended, ms since the epoch.
        package var goodSince: Int64 = 0

        mutating func ended(isGood: Bool, at time: Int64) {
            if isGood {
                if self.good == 0 || self.failingSince != nil { self.goodSince = time }
                self.good += 1
                self.failingSince = nil
            } else {
                self.failed += 1
                self.failingSince = self.failingSince ?? time
            }
        }
    }

    /// Of all fetches that have ended.
    package nonisolated var fetched: Fetches { self.fetches.withLock { $0 } }

    /// As TokenVerifier does, but a token that names a key nobody knows may wait for new keys; `keyNotFetched` where there
    /// was no answer to wait for.
    ///
    /// - Parameter now: seconds since the epoch.
    package nonisolated func verify(_ token: String, now: Int64) async throws(TokenRefusal) -> Grant {
        do throws(TokenRefusal) {
            return try self.verifier.verify(token, now: now)
        } catch .unknownKey {
            let outcome = await self.renew(for: .unknownKey)
            // Whatever came of it: the keys may have come just before it was asked.
            do throws(TokenRefusal) {
                return try self.verifier.verify(token, now: now)
            } catch {
                if case .fresh = outcome { throw error }
                throw error == .unknownKey ? .keyNotFetched : error
            }
        }
    }

    /// To be called at the start, and now and then: fetches when what is known is old.
    @discardableResult
    package func keepFresh() async -> Outcome { await self.renew(for: .age) }

    /// Keeps the keys fresh until the task is cancelled.
    package func run() async {
        while (try? await Task.sleep(for: KeyRefresh.shortestInterval)) != nil { await self.keepFresh() }
    }

    private func renew(for reason: KeyRefresh.Reason) async -> Outcome {
        switch self.refresh.decide(reason, now: self.now()) {
        case .keep: return .asked
        case .wait: break
        case .fetch:
            // Of its own, because the one that asked may go while others wait. Nobody cancels it: `Fetch` ends by itself.
            self.flight = Task { await self.fetchOnce() }
        }
        guard let flight, self.waiting < Self.mostWaiting else { return .asked }
        self.waiting += 1
        defer { self.waiting -= 1 }
        return await flight.value
    }

    private func fetchOnce() async -> Outcome {
        let outcome: Outcome
        do {
            let set = try JWKSet(json: try await self.fetch())
            // What was verified with the same keys stays verified.
            if set != self.current {
                let keys = self.fixed + (try await set.verifierKeys())
                self.verifier.replace(keys: keys)
                self.current = set
            }
            outcome = .fresh
        } catch {
            outcome = .failed(error)
        }
        if case .fresh = outcome {
            self.refresh.ended(isGood: true, now: self.now())
        } else {
            self.refresh.ended(isGood: false, now: self.now())
        }
        self.flight = nil
        let isGood = if case .fresh = outcome { true } else { false }
        let time = Int64(Date.now.timeIntervalSince1970 * 1000)
        self.fetches.withLock { $0.ended(isGood: isGood, at: time) }
        self.report(outcome)
        return outcome
    }
}
