// Limits the rate of a log message for each of its subjects, such as an origin or a kind of error.

package import NIOCore

/// Remembers which subjects were logged recently. A value.
package struct KeyedLogThrottle<Subject: Hashable & Sendable>: Sendable {
    private var logged: [Subject: (at: NIODeadline, since: Int)] = [:]
    private let maxSubjects: Int

    /// The minimum time between two messages about one subject.
    package static var interval: TimeAmount { .seconds(60) }

    /// - Parameter maxSubjects: the maximum number of subjects to remember.
    package init(maxSubjects: Int) { self.maxSubjects = maxSubjects }

    /// Records one occurrence for a subject.
    ///
    /// - Returns: the number of occurrences that were not logged since the last message, or `nil` if this one must not be
    ///   logged.
    package mutating func record(_ subject: Subject, now: NIODeadline) -> Int? {
        if let known = self.logged[subject], now - known.at < Self.interval {
            self.logged[subject]?.since += 1
            return nil
        }
        let unlogged = self.logged[subject]?.since ?? 0
        if self.logged[subject] == nil, self.logged.count >= self.maxSubjects {
            self.logged = self.logged.filter { now - $0.value.at < Self.interval }
            guard self.logged.count < self.maxSubjects else { return nil }
        }
        self.logged[subject] = (now, 0)
        return unlogged
    }
}
