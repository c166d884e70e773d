// When a client reconnects: after a random delay that grows with each failure, so that many clients do not reconnect at once.

/// Delays between attempts to connect: random(0, min(longest, shortest * 2^n)).
struct ReconnectBackoff: Sendable {
    static let shortest = Duration.milliseconds(250)
    static let longest = Duration.seconds(10)
    private static let maxDoublings = 10

    private var failures = 0

    /// The delay before the next attempt.
    ///
    /// - Parameter madeProgress: whether the connection that has just failed was useful. If so, the delays start again
    ///   at the shortest.
    mutating func next(madeProgress: Bool = false) -> Duration {
        self.failures = madeProgress ? 0 : self.failures + 1
        let ceiling = min(Self.longest, Self.shortest * (1 << min(self.failures, Self.maxDoublings)))
        return ceiling * Double.random(in: 0...1)
    }

    /// The number of consecutive attempts without progress.
    var count: Int { self.failures }
}
