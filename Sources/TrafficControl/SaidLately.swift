// What was logged lately is not logged again at once, whatever happens how often.

package import NIOCore

/// What was said, so that the same is not said again at once. A value.
package struct SaidLately<Subject: Hashable & Sendable>: Sendable {
    private var said: [Subject: (at: NIODeadline, since: Int)] = [:]
    private let most: Int

    /// The same is not said again for so long.
    package static var silence: TimeAmount { .seconds(60) }

    /// - Parameter most: subjects that are remembered.
    package init(most: Int) { self.most = most }

    /// Something happened.
    ///
    /// - Returns: how often it happened since it was said last, if it is to be said now; `nil`: not now.
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
