// Whether a loop sees what has been revoked. It looks twice a second, and is blind when the last look that was answered is
// too long ago: what it does not see it might show to somebody who may not see it any more. A loop that was stopped itself
// is blind too, until it has looked again, but has nothing to tell anybody about.

/// When the stream of revocations was last seen. Times are nanoseconds of a clock that never goes back.
package struct Sight: Sendable {
    /// After a look that was answered it is good for so long.
    package let patience: UInt64
    /// When the last look that was answered began: what was revoked before that is known.
    private var seenAt: UInt64
    /// Ticks of the loop since a look was answered.
    private var ticks = 0

    /// Ticks without an answer before clients are told: the loop was there all the time, and Redis was not.
    package static let ticksToTell = 10

    package init(now: UInt64, patience: UInt64 = .seconds(1)) {
        self.seenAt = now
        self.patience = patience
    }

    /// - Parameter sentAt: when it was asked.
    package mutating func answered(sentAt: UInt64) {
        self.seenAt = max(self.seenAt, sentAt)
        self.ticks = 0
    }

    package mutating func tick() { self.ticks += 1 }

    package func isBlind(now: UInt64) -> Bool { now > self.seenAt + self.patience }

    /// Blind, and not because the loop stood still.
    package func isToBeTold(now: UInt64) -> Bool { self.ticks >= Self.ticksToTell && self.isBlind(now: now) }
}
