// The clocks of the client. Tests that run against a real gateway use one that runs faster.

import Foundation

/// The monotonic clock goes on while the device sleeps, so a connection that died meanwhile is noticed at once.
package struct Timebase: Sendable {
    private let start = ContinuousClock.now
    private let speed: Double

    /// - Parameter speed: how many times faster than real the client's clock runs.
    package init(speed: Double = 1) { self.speed = speed }

    func moment() -> Moment {
        let elapsed = self.start.duration(to: .now).inMilliseconds * self.speed
        return Moment(now: elapsed, wall: Date().timeIntervalSince1970 * 1000)
    }

    func sleep(_ milliseconds: Double) async throws {
        try await Task.sleep(until: .now + Duration(ms: milliseconds / self.speed), clock: .continuous)
    }
}
