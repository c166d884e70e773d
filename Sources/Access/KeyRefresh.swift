// When to fetch an issuer's keys again: periodically, and when a token names an unknown key. Never while a fetch is under way
// or shortly after one, so that invented key names cannot cause a flood of fetches (row S4 of the threat table).

/// Decides whether to fetch. Takes times, returns decisions.
struct KeyRefresh: Hashable, Sendable {
    /// Minimum time between the starts of two fetches.
    static let shortestInterval = Duration.seconds(30)
    /// After this time a key that the issuer has removed is no longer trusted, provided that the issuer answers.
    static let longestAge = Duration.seconds(600)

    enum Reason: Hashable, Sendable, CaseIterable {
        case unknownKey, age
    }

    enum Decision: Hashable, Sendable {
        /// Start a fetch, and call `ended` when it completes.
        case fetch
        /// A fetch is under way; wait for it, because it may bring the missing key.
        case wait
        /// Use the known keys.
        case keep
    }

    private var startedAt: ContinuousClock.Instant?
    private var succeeded: ContinuousClock.Instant?
    private(set) var isFetching = false

    mutating func decide(_ reason: Reason, now: ContinuousClock.Instant) -> Decision {
        guard !self.isFetching else { return .wait }
        if let startedAt, now < startedAt + Self.shortestInterval { return .keep }
        if reason == .age, let succeeded, now < succeeded + Self.longestAge { return .keep }
        (self.startedAt, self.isFetching) = (now, true)
        return .fetch
    }

    /// - Parameter isGood: `false` when the fetch failed and the previous keys stay.
    mutating func ended(isGood: Bool, now: ContinuousClock.Instant) {
        precondition(self.isFetching, "a fetch ended that never started")
        self.isFetching = false
        if isGood { self.succeeded = now }
    }
}
