// When an event is sent again to an endpoint that did not accept it.

/// The delays before the attempts after the first. A value.
package struct RetrySchedule: Sendable, Hashable {
    package let delays: [Duration]

    /// 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h: eight attempts in 31 hours and 35 minutes.
    package static let usual = RetrySchedule([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400].map { .seconds($0) })

    package init(_ delays: [Duration]) { self.delays = delays }

    /// The delay before the next attempt; `nil` if there are no more attempts.
    ///
    /// - Parameter failures: number of attempts that have failed, at least 1.
    package func delay(afterFailures failures: Int) -> Duration? {
        self.delays.indices.contains(failures - 1) ? self.delays[failures - 1] : nil
    }
}
