// Measures deliveries: from the time at which the first gateway received a location or status until it was written to
// the socket of a follower.
//
// The start time comes from the clock of the gateway that received the message, and the end time possibly from another
// machine's. The clocks must therefore be synchronized (NTP) to a few milliseconds. If this clock is behind the other
// one, the difference is negative and counts as zero.

internal import HTTPValues
internal import Telemetry

extension LoopDurations {
    /// Records the delivery of a message that has just been written to sockets. Reads the clock once for all of them.
    ///
    /// - Parameters:
    ///   - receivedAt: when a gateway received the message, ms since the epoch; 0 if the delivery is not measured.
    ///   - count: the number of sockets.
    func delivered(receivedAt: Int64, count: Int = 1) {
        guard count > 0, receivedAt > 0 else { return }
        self.delivered(receivedAt: receivedAt, at: WallClock.nowMilliseconds, count: count)
    }

    /// - Parameter now: the current time, ms since the epoch.
    func delivered(receivedAt: Int64, at now: Int64, count: Int = 1) {
        guard count > 0, receivedAt > 0 else { return }
        let milliseconds = min(max(0, now - receivedAt), DurationHistogram.maxMicroseconds / 1_000)
        self.delivery.record(microseconds: milliseconds * 1_000, count: count)
    }
}
