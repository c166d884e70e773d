// What may happen at any rate is logged at a pace: a line now and then, with how often it has happened since the last one.

/// When the next line may be written.
package struct LogPace {

    package init() {}
    /// Between two lines, ns.
    private static let between: UInt64 = 60_000_000_000

    private var lastAt: UInt64?
    private var unsaid = 0

    /// It has happened once more.
    ///
    /// - Parameter now: ns of a clock that does not go back.
    /// - Returns: how often it happened without a line since the last one; `nil`: no line now.
    package mutating func next(at now: UInt64) -> Int? {
        if let lastAt, now < lastAt + Self.between {
            self.unsaid += 1
            return nil
        }
        self.lastAt = now
        defer { self.unsaid = 0 }
        return self.unsaid
    }
}
