// The clocks of the client. Tests that run against a real gateway use one that runs faster, and the conformance kit one that also
// shows another time.

public import Foundation

/// The monotonic clock goes on while the device sleeps, so a connection that died meanwhile is noticed at once.
package struct Timebase: Sendable {
    private let start = ContinuousClock.now
    private let speed: Double
    /// What the wall clock showed at the start, in ms since the epoch; `nil` for the system's clock.
    private let wallAtStart: Double?

    /// - Parameters:
    ///   - speed: how many times faster than real the client's clock runs.
    ///   - wall: what a wall clock of the same speed shows now; without it, the wall clock is the system's.
    package init(speed: Double = 1, wall: Date? = nil) {
        self.speed = speed
        self.wallAtStart = wall?.inMilliseconds
    }

    func moment() -> Moment {
        let elapsed = self.start.duration(to: .now).inMilliseconds * self.speed
        return Moment(
            now: elapsed, wall: self.wallAtStart.map { $0 + elapsed } ?? Date().timeIntervalSince1970 * 1000)
    }

    func sleep(_ milliseconds: Double) async throws {
        try await Task.sleep(until: .now + Duration(ms: milliseconds / self.speed), clock: .continuous)
    }
}

extension EnrouteClient {
    /// A client of the conformance kit (Tests/Conformance), for which time passes faster.
    ///
    /// - Parameters:
    ///   - configuration: as usual.
    ///   - speed: how many times faster than real the client's clocks run.
    ///   - wall: what its wall clock shows now.
    @_spi(Conformance) public init(_ configuration: Configuration, speed: Double, wall: Date) {
        self.init(configuration, timebase: Timebase(speed: speed, wall: wall))
    }
}
