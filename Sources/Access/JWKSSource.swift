// Keeps an issuer's keys fresh: one fetch at a time, however many callers wait for it. The last valid set stays in use until a
// fetch succeeds. The fetch itself (JWKSFetcher) is a closure; KeyRefresh decides when to fetch.

internal import FoundationEssentials
internal import Synchronization

/// Updates the keys of the identity providers that publish them at one URL.
package actor JWKSSource {
    /// Returns the bytes of the key set. Must finish within seconds: tokens signed with an unknown key wait for it.
    package typealias Fetch = @Sendable () async throws -> [UInt8]

    /// The result of a request for new keys.
    package enum Outcome: Sendable {
        /// The issuer returned a valid set.
        case fresh
        /// Nothing was fetched: the last fetch is too recent, or too many callers are waiting.
        case throttled
        /// The previous set stays in use. The error comes from `Fetch`, or is a `JWKSet.Rejection`.
        case failed(any Error)
    }

    /// Maximum number of tokens that wait for one fetch; the others are verified with the known keys.
    package static let maxWaiting = 1024

    let verifier: TokenVerifier
    /// Configured keys, used in addition to those of the issuer, by provider index.
    private let fixed: [Int: [TokenVerifier.Key]]
    private let fetch: Fetch
    private let report: @Sendable (Outcome) -> Void
    private let fetches = Mutex(Fetches())
    private let now: @Sendable () -> ContinuousClock.Instant
    private var refresh = KeyRefresh()
    private var current: JWKSet?
    private var flight: Task<Outcome, Never>?
    private var waiting = 0

    /// - Parameters:
    ///   - fixed: configured keys to use in addition, by the index of each provider that publishes its keys here.
    ///   - report: called after every fetch, at most once per `KeyRefresh.shortestInterval`.
    package init(
        verifier: TokenVerifier, fixed: [Int: [TokenVerifier.Key]] = [0: []],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        report: @escaping @Sendable (Outcome) -> Void = { _ in }, fetch: @escaping Fetch
    ) {
        (self.verifier, self.fixed) = (verifier, fixed)
        (self.now, self.report, self.fetch) = (now, report, fetch)
    }

    /// The indexes of the providers that publish their keys here.
    nonisolated var providers: Set<Int> { Set(self.fixed.keys) }

    /// How often keys were fetched, by result.
    package struct Fetches: Hashable, Sendable {
        package var good = 0
        package var failed = 0
        /// When the current run of failures began, ms since the epoch; `nil` after a success.
        package var failingSince: Int64?
        /// When the current run of successes began, ms since the epoch.
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

    /// Counts of all completed fetches.
    package nonisolated var fetched: Fetches { self.fetches.withLock { $0 } }

    /// Verifies a token as TokenVerifier does, but a token that names an unknown key may wait for new keys. Throws
    /// `keyUnavailable` if the keys could not be fetched.
    ///
    /// - Parameter now: seconds since the epoch.
    package nonisolated func verify(_ token: String, now: Int64) async throws(TokenRefusal) -> Grant {
        try await IssuerKeys([self]).verify(token, now: now)
    }

    /// Fetches when the known keys are old. Call it at start and periodically.
    @discardableResult
    package func refreshIfStale() async -> Outcome { await self.renew(for: .age) }

    func renew(for reason: KeyRefresh.Reason) async -> Outcome {
        switch self.refresh.decide(reason, now: self.now()) {
        case .keep: return .throttled
        case .wait: break
        case .fetch:
            // An unstructured task, because the caller that started it may be cancelled while others wait. Nothing
            // cancels it: `Fetch` is bounded.
            self.flight = Task { await self.fetchOnce() }
        }
        guard let flight, self.waiting < Self.maxWaiting else { return .throttled }
        self.waiting += 1
        defer { self.waiting -= 1 }
        return await flight.value
    }

    private func fetchOnce() async -> Outcome {
        let outcome: Outcome
        do {
            let set = try JWKSet(json: try await self.fetch())
            // The cache of verified tokens survives when the keys did not change.
            if set != self.current {
                let published = try await set.verifierKeys()
                self.verifier.replace(keys: self.fixed.mapValues { $0 + published })
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
