import Testing

@testable import Tracking

@Suite struct ClockSkewTests {
    /// A rider at 8 m/s that reports each second, on a network whose delays vary.
    private struct Trip {
        var validator = LocationValidator()
        var shown: [Int64] = []
        var verdicts: [FixVerdict] = []
        var notices: [Int64] = []

        /// - Parameters:
        ///   - behind: how many ms the phone's clock is behind at a given second.
        ///   - delay: ms until the reading of a given second is received.
        mutating func ride(
            _ seconds: Range<Int64>, behind: (Int64) -> Int64, delay: (Int64) -> Int64 = { 80 + $0 * 37 % 300 }
        ) {
            for second in seconds {
                let at = Recordings.start + second * 1000
                let reading = Reading(
                    at: at - behind(second),
                    point: Point(latitude: 41.9 + Double(second) * 8 / 111_195, longitude: 12.5),
                    accuracyMeters: 5)
                let received = at + delay(second)
                self.verdicts.append(
                    self.validator.validate(
                        reading, received: .init(monotonic: UInt64(received) * 1_000_000, wall: received)))
                if case .accepted = self.verdicts[self.verdicts.count - 1], let shown = self.validator.shown {
                    self.shown.append(shown.at)
                }
                if let notice = self.validator.takeClockNotice() { self.notices.append(notice) }
            }
        }
    }

    @Test(arguments: [-600, -75, -60, -31, -25, -6, 6, 25, 60, 61, 75, 598] as [Int64])
    func `a clock that is wrong by up to ten minutes costs at most two readings, and is reported once`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<300, behind: { _ in behind * 1000 })
        #expect(trip.shown.count >= 298)
        #expect(trip.notices.count == 1 && abs((trip.notices.first ?? 0) - behind * 1000) <= 400)
        #expect(trip.validator.counts.refused(.clock) == 1)
        // Corrected times are those of the gateway, and increase.
        #expect(zip(trip.shown, trip.shown.dropFirst()).allSatisfy { $0 < $1 })
        #expect(abs((trip.shown.last ?? 0) - Recordings.start - 299_000) < 1000)
    }

    @Test(arguments: [-4, -1, 0, 1, 4] as [Int64])
    func `a clock that is wrong by less than 5 s is not corrected`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<244, behind: { _ in behind * 1000 })
        #expect(trip.shown.count == 244 && trip.notices.isEmpty && trip.validator.skew.correction == 0)
        #expect(trip.shown.last == Recordings.start + 243_000 - behind * 1000)
    }

    @Test(arguments: [-3600, -700, 700, 3600] as [Int64])
    func `a clock that is wrong by more than ten minutes is refused for this reason`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<60, behind: { _ in behind * 1000 })
        #expect(trip.shown.isEmpty && trip.verdicts.suffix(50).allSatisfy { $0 == .refused(.clock) })
        trip.ride(60..<120, behind: { _ in 0 })
        #expect(trip.shown.count == 60)
    }

    @Test func `messages that waited in a tunnel do not count as a slow clock`() {
        var trip = Trip()
        trip.ride(0..<60, behind: { _ in 0 })
        // 90 s without a network; then everything arrives at the same time.
        trip.ride(60..<150, behind: { _ in 0 }, delay: { (150 - $0) * 1000 })
        trip.ride(150..<240, behind: { _ in 0 })
        #expect(trip.notices.isEmpty && trip.validator.skew.correction == 0)
        #expect(trip.verdicts.suffix(90).allSatisfy { $0 == .accepted(.onward) })
    }

    @Test(arguments: [-120, -60, -40, -20, 20, 60, 120] as [Int64])
    func `a clock that is set wrong during the trip, and then right again, costs few readings`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<600, behind: { (200..<400).contains($0) ? behind * 1000 : 0 })
        #expect(trip.shown.count >= 594, "\(trip.shown.count)")
        #expect(zip(trip.shown, trip.shown.dropFirst()).allSatisfy { $0 < $1 })
        #expect(abs((trip.shown.last ?? 0) - Recordings.start - 599_000) < 1000)
    }

    @Test(arguments: [-25, -20, -10] as [Int64])
    func `after the correction of a clock that is ahead, speeds are too high by a ninth at most`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<120, behind: { $0 < 20 ? 0 : behind * 1000 })
        let steps = zip(trip.shown, trip.shown.dropFirst()).map { $1 - $0 }
        #expect(trip.validator.skew.correction < 0 && steps.count == 119)
        #expect(steps.allSatisfy { $0 >= 900 }, "\(steps)")
    }

    @Test(arguments: [-30, -25, -6] as [Int64])
    func `a clock that is ahead at the start of the trip is corrected before a reading is shown`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<300, behind: { _ in behind * 1000 }, delay: { 300 + $0 * 37 % 300 })
        // Another device with a correct clock could take over at any time.
        #expect(trip.shown.count == 300)
        let ahead = trip.shown.enumerated().map { $1 - (Recordings.start + Int64($0) * 1000) }
        #expect(ahead.allSatisfy { (0...600).contains($0) }, "\(ahead)")
    }

    @Test(arguments: [-30, -25, -6] as [Int64])
    func `a clock that jumps ahead during the trip is corrected before a reading is shown`(behind: Int64) {
        var trip = Trip()
        trip.ride(0..<300, behind: { $0 < 100 ? 0 : behind * 1000 }, delay: { 300 + $0 * 37 % 300 })
        // Another device with a correct clock could take over at any time.
        #expect(trip.shown.count == 300)
        let ahead = trip.shown.enumerated().map { $1 - (Recordings.start + Int64($0) * 1000) }
        #expect(ahead.allSatisfy { (-300...600).contains($0) }, "\(ahead)")
    }

    @Test func `one reading from the future costs at most two others`() {
        var trip = Trip()
        trip.ride(0..<300, behind: { $0 == 100 ? -25_000 : 0 })
        #expect(trip.shown.count >= 298, "\(trip.shown.count)")
        #expect(zip(trip.shown, trip.shown.dropFirst()).allSatisfy { $0 < $1 })
        #expect(trip.validator.skew.correction == 0 && trip.notices.isEmpty)
    }

    @Test func `one reading with an absurd time changes nothing`() {
        var trip = Trip()
        trip.ride(0..<300, behind: { $0 % 50 == 20 ? -400_000 : $0 % 50 == 40 ? .min / 2 : 0 })
        #expect(trip.shown.count == 300 - 12 && trip.notices.isEmpty && trip.validator.skew.correction == 0)
    }

    @Test func `another trip measures the clock again`() {
        var trip = Trip()
        trip.ride(0..<60, behind: { _ in 60_000 })
        trip.validator.reset()
        #expect(trip.validator.skew == ClockSkew() && trip.validator.takeClockNotice() == nil)
    }

    @Test func `the batches of a phone with a slow clock are accepted from the second one on`() {
        var validator = LocationValidator()
        for batch in 0..<5 as Range<Int64> {
            let end = Recordings.start + batch * 30_000
            let readings = (0..<30).map { second in
                Reading(at: end - 60_000 - second * 1000, point: Point(latitude: 41.9, longitude: 12.5))
            }
            let verdicts = validator.validate(
                readings, received: .init(monotonic: UInt64(end) * 1_000_000, wall: end + 200))
            #expect(batch == 0 || verdicts.allSatisfy { $0 == .accepted(.onward) }, "\(batch)")
        }
        #expect(validator.skew.correction == 60_200)
    }
}
