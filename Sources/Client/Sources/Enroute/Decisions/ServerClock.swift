// How far the gateway's clock is ahead of this device's, measured with the fastest answers of a connection.

import Foundation

/// Times are in ms.
struct ServerClock {
    /// How much slower than the fastest answer an answer may be to be used for the clock.
    static let slower = 200.0

    /// The gateway's clock minus the local wall clock.
    private(set) var offset = 0.0
    private var roundTrip = Double.infinity
    private var askedAt: Double?

    /// Starts to measure again on a new connection, because the local clock may have been corrected.
    mutating func connected() { self.roundTrip = .infinity }

    mutating func asked(at wall: Double) { self.askedAt = wall }

    mutating func answered(serverTime: Double, at wall: Double) {
        guard let askedAt else { return }
        self.askedAt = nil
        let roundTrip = wall - askedAt
        // A time far outside of this era would not fit into an integer later.
        guard roundTrip >= 0, roundTrip <= self.roundTrip + Self.slower, abs(serverTime) < 1e14 else { return }
        self.roundTrip = min(roundTrip, self.roundTrip)
        self.offset = serverTime - (wall - roundTrip / 2)
    }

    /// Returns when a reading was taken, by the local clock. Some receivers have their own clock, which is right while the
    /// phone's clock is wrong. So the time has two possible meanings; the later one that is not in the future is used.
    ///
    /// - Parameter wall: when the reading arrived.
    func localTime(of measuredAt: Date, at wall: Double) -> Date {
        guard abs(self.offset) > FixQueue.clockTolerance else { return measuredAt }
        let times = [measuredAt, measuredAt.addingTimeInterval(-self.offset / 1000)]
        let latest = Date(ms: wall + FixQueue.clockTolerance)
        return times.filter { $0 <= latest }.max() ?? measuredAt
    }
}
