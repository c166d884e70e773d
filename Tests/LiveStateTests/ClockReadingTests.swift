import LiveState
import NIOCore
import TestSupport
import Testing

struct ClockReadingTests {
    /// Differences and their certain parts, ms, with a round trip of 100 ms.
    @Test(arguments: [(Int64(300_000), 299.95), (-300_000, -299.95), (50, 0), (-50, 0), (0, 0)])
    func `a difference that a delay in one direction may explain does not count`(ahead: Int64, certain: Double) {
        let reading = ClockReading(roundTrip: .milliseconds(100), aheadMicroseconds: ahead * 1000)
        #expect(reading.certainSeconds == certain)
    }

    @Test(arguments: [Int64(-300), 0, 300])
    func `a wrong clock of this machine is measured in both directions`(offsetSeconds: Int64) async throws {
        try await withRedis { client, _ in
            let reading = try await ClockReading.take(from: client) {
                ClockReading.machineMicroseconds + offsetSeconds * 1_000_000
            }.get()
            // Redis runs on this machine, so nothing but the wrong clock and the round trip makes a difference.
            let explained = Double(reading.roundTrip.nanoseconds) / 1e9 + 0.001
            #expect(abs(Double(offsetSeconds) - Double(reading.aheadMicroseconds) / 1e6) <= explained)
        }
    }
}
