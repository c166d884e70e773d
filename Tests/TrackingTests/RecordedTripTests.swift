import Testing

@testable import Tracking

/// Recordings, and generated trips with the same faults, replayed as a gateway would receive them.
@Suite struct RecordedTripTests {
    /// The number of times that a trip becomes stale, and live again, between its first and last reading.
    private static func changes(_ readings: [Reading]) -> (stale: Int, back: Int) {
        var (validator, stale, back, state) = (LocationValidator(), 0, 0, ViewState.waiting)
        func look(_ now: UInt64) {
            let next = ViewFacts(isTravelling: true, shownAt: validator.shownAt).state(now: now)
            if next == .stale, state == .live { stale += 1 }
            if next == .live, state == .stale { back += 1 }
            state = next
        }
        for reading in readings {
            let receipt = LocationValidator.Receipt(reading)
            // The state that the timer finds just before the reading arrives.
            look(receipt.monotonic - 1)
            _ = validator.validate(reading, received: receipt)
            look(receipt.monotonic)
        }
        return (stale, back)
    }

    /// The trip without the readings of some seconds.
    private static func silent(_ readings: [Reading], _ gaps: [Range<Int64>]) -> [Reading] {
        readings.filter { reading in !gaps.contains { $0.contains((reading.at - readings[0].at) / 1000) } }
    }

    private static func isFaultless(_ readings: [Reading]) -> Bool {
        var validator = LocationValidator()
        return readings.allSatisfy { validator.validate($0) == .accepted(.onward) }
    }

    /// The maximum speed between accepted readings in m/s, and the number of accepted readings.
    private static func fastest(_ readings: [Reading]) -> (metersPerSecond: Double, accepted: Int) {
        var (validator, last, most) = (LocationValidator(), Reading?.none, 0.0)
        for reading in readings {
            guard case .accepted = validator.validate(reading) else { continue }
            if let last {
                most = max(most, last.point.meters(to: reading.point) / (Double(reading.at - last.at) / 1000))
            }
            last = reading
        }
        return (most, validator.counts.accepted)
    }

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `US-072 AC-005: the recording with seven gaps becomes stale and live again seven times`() throws {
        #expect(Self.changes(try Recordings.real("petersburg-seven-gaps")) == (7, 7))
    }

    @Test func `US-072 AC-005: seven silences of over 30 s become stale, those of 30 s do not`() {
        let trip = Recordings.generated(seed: 5)
        let starts = (0..<7).map { Int64(10 + $0 * 40) }
        #expect(trip.count > 300)
        // The readings before and after the gap are one second further apart than the gap.
        #expect(Self.changes(Self.silent(trip, starts.map { $0..<$0 + 30 })) == (7, 7))
        #expect(Self.changes(Self.silent(trip, starts.map { $0..<$0 + 29 })) == (0, 0))
    }

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `US-072 AC-005: the recording with a gap of 25 s is never stale`() throws {
        #expect(Self.changes(try Recordings.real("kyoto-25s-gap")) == (0, 0))
    }

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `in the recording that jumps, no accepted reading implies over 60 m per second`() throws {
        let trip = try Recordings.real("moscow-jumps")
        let (fastest, accepted) = Self.fastest(trip)
        #expect(fastest <= 60 && accepted > trip.count - 10)
    }

    @Test(arguments: 0..<20)
    func `in a generated trip with jumps, no jump is accepted and every other reading is`(seed: UInt64) {
        var trip = Recordings.generated(seed: seed)
        let jumps = [20, 55, 56, 120, 200]
        for index in jumps { trip[index] = trip[index].moved(northMeters: 180 + Double(seed) * 100) }
        let (fastest, accepted) = Self.fastest(trip)
        #expect(fastest <= 60 && accepted >= trip.count - jumps.count - 1)
    }

    @Test(
        .enabled(if: Recordings.areThere, "../shared/data is not there"),
        arguments: ["rome-clean-1hz", "moscow-traffic", "kyoto-25s-gap"])
    func `a clean recording loses no reading`(name: String) throws {
        #expect(Self.isFaultless(try Recordings.real(name)))
    }

    @Test(arguments: 0..<20)
    func `a clean generated trip loses no reading`(seed: UInt64) {
        #expect(Self.isFaultless(Recordings.generated(seed: seed)))
    }

    /// For a trip with the sharing limit of four hours: the number of readings accepted after it, and the state at its end.
    private static func capped(_ readings: [Reading]) -> (lateAccepted: Int, end: ViewState, refused: Int) {
        let cap: Int64 = 4 * 3600 * 1000
        var (validator, lateAccepted) = (LocationValidator(), 0)
        for reading in readings {
            let isOver = reading.at - readings[0].at >= cap
            let verdict = validator.validate(reading, isTravelling: !isOver, received: .init(reading))
            if isOver, case .accepted = verdict { lateAccepted += 1 }
        }
        let end = ViewFacts(end: .timeLimit, isTravelling: false, shownAt: validator.shownAt)
        return (lateAccepted, end.state(now: .max), validator.counts.refused(.travelModeOff))
    }

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `US-072 BR-002: the recording of over four hours ends at the sharing limit`() throws {
        let (late, end, refused) = Self.capped(try Recordings.real("amsterdam-over-four-hours"))
        #expect(late == 0 && end == .ended(.timeLimit) && refused > 4000)
    }

    @Test func `US-072 BR-002: a generated trip of five hours ends at the sharing limit`() {
        let trip = (0..<5 * 360).map { second in
            var reading = Recordings.generated()[0].moved(northMeters: Double(second))
            reading.at += Int64(second) * 10_000
            return reading
        }
        let (late, end, refused) = Self.capped(trip)
        #expect(late == 0 && end == .ended(.timeLimit) && refused == 360)
    }
}
