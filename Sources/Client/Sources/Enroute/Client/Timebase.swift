// The clocks of the client. Tests with a real gateway use clocks that run faster, and the conformance kit uses ones that also
// show another time.

public import Foundation

/// The monotonic clock continues while the device sleeps, so a connection that was lost meanwhile is noticed immediately.
package struct Timebase: Sendable {
    private let start = ContinuousClock.now
    private let speed: Double
    /// The wall clock at the start, in ms since the epoch; `nil` for the system's clock.
    private let wallAtStart: Double?

    /// - Parameters:
    ///   - speed: how many times faster than real time the client's clocks run.
    ///   - wall: the current time of a wall clock with the same speed; `nil` for the system's clock.
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

    /// Waits for an operation until the time limit, or until the task is cancelled. An operation that ignores its
    /// cancellation continues, but nobody waits for it.
    ///
    /// - Throws: what the operation throws, `CancellationError`, or `late` after the time.
    func wait<Value: Sendable>(
        atMost milliseconds: Double, late: TransportError, for operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let (results, continuation) = AsyncThrowingStream.makeStream(of: Value.self, throwing: (any Error).self)
        let work = Task {
            do {
                continuation.yield(try await operation())
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        let limit = Task {
            try await self.sleep(milliseconds)
            continuation.finish(throwing: late)
        }
        defer {
            work.cancel()
            limit.cancel()
        }
        for try await value in results { return value }
        throw CancellationError()
    }
}

extension EnrouteClient {
    /// A client of the conformance kit (Tests/Conformance), for which time passes faster.
    ///
    /// - Parameters:
    ///   - configuration: as usual.
    ///   - speed: how many times faster than real time the client's clocks run.
    ///   - wall: the current time of its wall clock.
    @_spi(Conformance) public init(_ configuration: Configuration, speed: Double, wall: Date) {
        self.init(configuration, timebase: Timebase(speed: speed, wall: wall))
    }
}
