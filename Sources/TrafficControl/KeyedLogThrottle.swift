// Limits the rate of a log message for each of its subjects, such as an origin or a kind of error.

package import NIOCore

/// Remembers which subjects were logged recently. A value.
package struct KeyedLogThrottle<Subject: Hashable & Sendable>: Sendable {
    private var said: [Subject: (at: NIODeadline, since: Int)] = [:]
    private let most: Int

    /// The minimum time between two messages about one subject.
    package static var silence: TimeAmount { .seconds(60) }

    /// - Parameter most: the maximum number of subjects to remember.
    package init(most: Int) { self.most = most }

    /// Records one occurrence for a subject.
    ///
    /// - Returns: the number of occurrences that were not logged since the last message, or `nil` if this one must not be
    ///   logged.
    package mutating func say(_ subject: Subject, now: NIODeadline) -> Int? {
        if let known = self.said[subject], now - known.at < Self.silence {
            self.said[subject]?.since += 1
            return nil
        }
        let missed = self.said[subject]?.since ?? 0
        if self.said[subject] == nil, self.said.count >= self.most {
            self.said = self.said.filter { now - $0.value.at < Self.silence }
            guard self.said.count < self.most else { return nil }
        }
        self.said[subject] = (now, 0)
        return missed
    }
}
