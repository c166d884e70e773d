// Compares this machine's clock with that of a Redis instance.

internal import FoundationEssentials
package import NIOCore
package import Redis

/// What one reply to TIME shows about the two clocks.
package struct ClockReading: Hashable, Sendable {
    package let roundTrip: TimeAmount
    /// How far this machine's clock is ahead of that of Redis, µs; negative when it is behind. Assumes that the command
    /// arrives after half of the round trip.
    package let aheadMicroseconds: Int64

    /// Redis times beyond this are malformed, s since the epoch.
    private static let maxSeconds: Int64 = 1 << 40

    package init(roundTrip: TimeAmount, aheadMicroseconds: Int64) {
        (self.roundTrip, self.aheadMicroseconds) = (roundTrip, aheadMicroseconds)
    }

    /// How far this machine's clock is certainly ahead, s; negative when it is behind. A delay in one direction may
    /// explain half of the round trip, so that half is subtracted.
    package var certainSeconds: Double {
        let explained = self.roundTrip.nanoseconds / 2_000
        let certain = max(0, Int64(clamping: self.aheadMicroseconds.magnitude) - explained)
        return Double(self.aheadMicroseconds < 0 ? -certain : certain) / 1_000_000
    }

    /// This machine's clock, µs since the epoch.
    package static var machineMicroseconds: Int64 { Int64(Date.now.timeIntervalSince1970 * 1_000_000) }

    /// Reads the clock of Redis; `nil` if it does not answer.
    package static func attempt(at client: RedisClient) -> EventLoopFuture<ClockReading?> {
        self.take(from: client).map { reading -> ClockReading? in reading }.flatMapErrorThrowing { _ in nil }
    }

    /// Reads the clock of Redis.
    ///
    /// - Parameter microseconds: this machine's clock, µs since the epoch.
    /// - Throws: (in the future) `RedisError`.
    package static func take(
        from client: RedisClient, microseconds: @escaping @Sendable () -> Int64 = { Self.machineMicroseconds }
    ) -> EventLoopFuture<ClockReading> {
        let sent = NIODeadline.now()
        return client.send(["TIME"]).flatMapThrowing { answer in
            let (received, roundTrip) = (microseconds(), NIODeadline.now() - sent)
            let parts = answer.array?.compactMap(\.text).compactMap { Int64($0) } ?? []
            guard parts.count == 2, (0..<Self.maxSeconds).contains(parts[0]), (0..<1_000_000).contains(parts[1]) else {
                throw RedisError.unexpectedAnswer(command: "TIME")
            }
            let middle = received - roundTrip.nanoseconds / 2_000
            return ClockReading(
                roundTrip: roundTrip, aheadMicroseconds: middle - (parts[0] * 1_000_000 + parts[1]))
        }
    }
}
