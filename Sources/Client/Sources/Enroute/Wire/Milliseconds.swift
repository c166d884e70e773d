// Conversions between the milliseconds of the protocol and Foundation's types. Numbers out of range are limited to the nearest
// bound.

import Foundation

/// The current time by two clocks.
struct Moment: Sendable {
    /// ms of a monotonic clock.
    var now: Double
    /// ms since the epoch, by this device's clock.
    var wall: Double

    var date: Date { Date(ms: self.wall) }
}

/// The longest time in a message: a hundred years. A longer one would not fit into the standard library's types.
private let mostMilliseconds = 3_155_760_000_000.0

extension Duration {
    init(ms: Double) {
        self = .milliseconds(ms.isFinite ? min(mostMilliseconds, max(-mostMilliseconds, ms)) : 0)
    }

    var inMilliseconds: Double {
        Double(self.components.seconds) * 1000 + Double(self.components.attoseconds) / 1e15
    }
}

extension Date {
    init(ms: Double) { self.init(timeIntervalSince1970: ms / 1000) }

    var inMilliseconds: Double { (self.timeIntervalSince1970 * 1000).rounded() }
}
