// When an issuer's keys are asked for again: now and then, and when a token names a key nobody knows; but neither while
// they are being asked for nor soon after, whatever names strangers think of (row S4 of the threats).

/// Decides whether to fetch; time goes in, a decision comes out.
struct KeyRefresh: Hashable, Sendable {
    /// Between the beginnings of two fetches, at least.
    static let shortestInterval = Duration.seconds(30)
    /// After this a key that is gone is not believed any longer, as long as the issuer answers.
    static let longestAge = Duration.seconds(600)

    enum Reason: Hashable, Sendable, CaseIterable {
        case unknownKey, age
    }

    enum Decision: Hashable, Sendable {
        /// Begin one, and say when it has ended.
        case fetch
        /// One is under way: what it brings may be what is missing.
        case wait
        /// What is known is what is used.
        case keep
    }

    private var begun: ContinuousClock.Instant?
    private var succeeded: ContinuousClock.Instant?
    private(set) var isFetching = false

    mutating func decide(_ reason: Reason, now: ContinuousClock.Instant) -> Decision {
        guard !self.isFetching else { return .wait }
        if let begun, now < begun + Self.shortestInterval { return .keep }
        if reason == .age, let succeeded, now < succeeded + Self.longestAge { return .keep }
        (self.begun, self.isFetching) = (now, true)
        return .fetch
    }

    /// - Parameter isGood: `false` when the keys of before stay.
    mutating func ended(isGood: Bool, now: ContinuousClock.Instant) {
        precondition(self.isFetching, "a fetch ended that was never begun")
        self.isFetching = false
        if isGood { self.succeeded = now }
    }
}
