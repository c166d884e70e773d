import Testing

@testable import Tracking

@Suite struct ReportRateTests {
    private static func first(
        followed: Bool = true, toGo: Double? = 5000, speed: Double = 10, battery: Int? = nil
    ) -> Double {
        var rate = ReportRate()
        return rate.observe(
            .init(isFollowed: followed, metersToGo: toGo, speedMetersPerSecond: speed, batteryPercent: battery)) ?? 0
    }

    @Test func `the rate is low without followers and high close to the destination`() {
        #expect(Self.first(followed: false) == 20)
        #expect(Self.first(followed: false, toGo: 50, battery: 5) == 20)
        #expect(Self.first(toGo: 100, speed: 12) == 1)
        #expect(Self.first(toGo: 5000, speed: 12) == 2)
        #expect(Self.first(toGo: nil, speed: 30) == 2)
    }

    @Test func `a standing rider reports rarely, but often enough not to become stale`() {
        #expect(Self.first(speed: 0) == 3)
        #expect(ReportRate.steps.allSatisfy { UInt64.seconds($0) < ViewFacts.freshness })
    }

    @Test(arguments: [0, 1.5, 4.5, 9, 30])
    func `D7: while somebody follows, a position arrives before the marker stops`(speed: Double) {
        let reckonedSeconds = 7.0  // RECKONING in track-movement.js, which grows with the interval
        #expect([nil, 100, 1200, 4000].allSatisfy { Self.first(toGo: $0, speed: speed) <= reckonedSeconds })
    }

    @Test(arguments: [0.5, 1.5, 4.5, 11, 30, 83])
    func `a moving rider reports at least every 2 s, and every second near its destination`(
        speed: Double
    ) {
        #expect([nil, 1200, 40_000].allSatisfy { Self.first(toGo: $0, speed: speed) <= 2 })
        #expect(speed < 8 || Self.first(toGo: 600, speed: speed) == 1)
    }

    @Test func `a rider that rests for two minutes reports less often, and more often as soon as it moves`() {
        var rate = ReportRate()
        func observe(_ speed: Double) -> Double? {
            rate.observe(.init(isFollowed: true, metersToGo: 5000, speedMetersPerSecond: speed))
        }
        #expect(observe(10) == 2)
        for _ in 0..<59 { #expect(observe(0) == nil) }
        #expect(observe(0) == 3)
        #expect(observe(1) == 2)
    }

    @Test func `a low battery halves the rate, and an almost empty one halves it again`() {
        #expect(Self.first(speed: 30) == 2)
        #expect(Self.first(speed: 30, battery: 20) == 3)
        #expect(Self.first(speed: 30, battery: 8) == 8)
        #expect(Self.first(speed: 3, battery: 8) == 8)
        #expect(Self.first(speed: 30, battery: 21) == 2)
    }

    @Test func `an impossible speed or distance still gives a valid interval`() {
        for odd in [Double.nan, .infinity, -.infinity, -1, 0, 1e300] {
            #expect(ReportRate.steps.contains(Self.first(toGo: odd, speed: odd)), "\(odd)")
        }
    }

    @Test func `the rate increases immediately and decreases only after five confirmations`() {
        var rate = ReportRate()
        func observe(_ speed: Double) -> Double? {
            rate.observe(.init(isFollowed: true, metersToGo: 600, speedMetersPerSecond: speed))
        }
        #expect(observe(3) == 2)
        #expect(observe(30) == 1)
        // Traffic: slow and fast in turn.
        for _ in 0..<10 {
            for _ in 0..<4 { #expect(observe(3) == nil) }
            #expect(observe(30) == nil)
        }
        for _ in 0..<4 { #expect(observe(3) == nil) }
        #expect(observe(3) == 2)
        #expect(rate.interval == 2)
    }

    /// A phone that takes a reading each second and sends at the requested interval.
    private static func travel(_ trip: [Reading], followed: Bool) -> (saved: Double, greatestError: Double) {
        var (rate, validator, sent, greatest) = (ReportRate(), LocationValidator(), 0, 0.0)
        let destination = trip[trip.count - 1].point
        var last: Reading?
        for reading in trip {
            if let last, let interval = rate.interval, Double(reading.at - last.at) < interval * 1000 {
                greatest = max(greatest, last.point.meters(to: reading.point))
                continue
            }
            sent += 1
            guard case .accepted = validator.validate(reading) else { continue }
            let seconds = last.map { Double(reading.at - $0.at) / 1000 } ?? 1
            let speed = last.map { $0.point.meters(to: reading.point) / seconds } ?? 0
            last = reading
            _ = rate.observe(
                .init(
                    isFollowed: followed, metersToGo: reading.point.meters(to: destination), speedMetersPerSecond: speed
                )
            )
        }
        return (1 - Double(sent) / Double(trip.count), greatest)
    }

    @Test(
        .enabled(if: Recordings.areThere, "../shared/data is not there"),
        arguments: ["rome-clean-1hz", "kyoto-25s-gap", "moscow-traffic", "petersburg-seven-gaps"])
    func `a recording needs three fifths of its readings to show the rider within 60 m`(name: String) throws {
        let (saved, greatest) = Self.travel(try Recordings.real(name), followed: true)
        #expect(saved >= 0.4 && greatest <= 60, "\(saved) \(greatest)")
        #expect(Self.travel(try Recordings.real(name), followed: false).saved >= 0.9)
    }

    @Test(arguments: 0..<10)
    func `a generated trip needs three quarters of its readings to show the rider within 50 m`(seed: UInt64) {
        let (saved, greatest) = Self.travel(Recordings.generated(seed: seed), followed: true)
        #expect(saved >= 0.22 && greatest <= 50, "\(saved) \(greatest)")
    }
}
