// How far the gateway's clock is ahead of this device's, measured with a connection's fastest answers.

import Foundation

/// Times are in ms.
struct ServerClock {
    /// By how much an answer may be slower than the fastest one to be used for the clock.
    static let slower = 200.0

    /// By how much the local clock has to be corrected before the gateway's is requested again.
    static let jump = 2_000.0
    /// A gateway's time from here on is implausible, and would later not fit into an integer.
    static let end = 1e14

    /// The gateway's clock minus the local wall clock.
    private(set) var offset = 0.0
    private var roundTrip = Double.infinity
    private var asked: Moment?
    /// The local wall clock minus the monotonic one at the request whose answer set `offset`.
    private var skew: Double?

    /// Starts to measure again, on a new connection or because the local clock was corrected.
    mutating func restarted() { self.roundTrip = .infinity }

    /// Whether the local clock was corrected since `offset` was measured.
    func isOutdated(at moment: Moment) -> Bool {
        self.skew.map { abs(moment.wall - moment.now - $0) > Self.jump } ?? false
    }

    mutating func asked(at moment: Moment) { self.asked = moment }

    mutating func answered(serverTime: Double, at wall: Double) {
        guard let asked else { return }
        self.asked = nil
        let roundTrip = wall - asked.wall
        guard roundTrip >= 0, roundTrip <= self.roundTrip + Self.slower, abs(serverTime) < Self.end else { return }
        self.roundTrip = min(roundTrip, self.roundTrip)
        self.set(serverTime - (wall - roundTrip / 2), asked)
    }

    /// Corrects the offset with the time in a REST response. The request may have waited for its credential and its
    /// connection, so the response counts only if the offset cannot be right.
    ///
    /// - Returns: whether the offset changed.
    mutating func corrected(serverTime: Double, asked: Moment, at moment: Moment) -> Bool {
        let roundTrip = moment.now - asked.now
        let offset = serverTime - (moment.wall - roundTrip / 2)
        guard abs(serverTime) < Self.end, abs(offset - self.offset) > roundTrip / 2 + Self.jump else { return false }
        self.set(offset, asked)
        return true
    }

    private mutating func set(_ offset: Double, _ asked: Moment) {
        self.offset = offset
        self.skew = asked.wall - asked.now
    }

    /// Returns when a reading was taken, by the local clock. Some receivers have their own clock, which is correct even
    /// if the phone's clock is wrong. The time therefore has two possible meanings; the later one that is not in the
    /// future is used.
    ///
    /// - Parameter wall: when the reading arrived.
    func localTime(of measuredAt: Date, at wall: Double) -> Date {
        guard abs(self.offset) > FixQueue.clockTolerance else { return measuredAt }
        let times = [measuredAt, measuredAt.addingTimeInterval(-self.offset / 1000)]
        let latest = Date(ms: wall + FixQueue.clockTolerance)
        return times.filter { $0 <= latest }.max() ?? measuredAt
    }
}
