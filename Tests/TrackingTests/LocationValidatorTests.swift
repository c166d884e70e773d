import Testing

@testable import Tracking

@Suite struct FixJudgeTests {
    private static let first = Reading(
        at: Recordings.start, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 5)

    private static func after(_ milliseconds: Int64, north: Double = 0, accuracy: Double? = 5) -> Reading {
        var reading = self.first.moved(northMeters: north)
        reading.at += milliseconds
        reading.accuracyMeters = accuracy
        return reading
    }

    private static func at(_ latitude: Double, _ longitude: Double) -> Reading {
        Reading(at: self.first.at + 1000, point: Point(latitude: latitude, longitude: longitude))
    }

    /// A validator that has accepted the first reading.
    private static var validator: LocationValidator {
        var validator = LocationValidator()
        #expect(validator.validate(self.first) == .accepted(.onward))
        return validator
    }

    @Test(arguments: [
        (Self.at(91, 0), FixRefusal.outOfRange), (Self.at(0, 180.1), .outOfRange), (Self.at(.nan, 1), .outOfRange),
        (Self.at(1, .infinity), .outOfRange), (Self.at(0, 0), .zeroZero), (Self.at(1e-8, -1e-8), .zeroZero),
        (Self.after(0), .duplicate), (Self.after(0, north: 100), .duplicate), (Self.after(-1), .outOfOrder),
        (Self.after(1000, accuracy: 3000), .inaccurate), (Self.after(1000, accuracy: -1), .inaccurate),
        (Self.after(1000, accuracy: .nan), .inaccurate),
    ])
    func `an invalid reading is refused with the reason, and the marker stays`(
        reading: Reading, reason: FixRefusal
    ) {
        var validator = Self.validator
        #expect(validator.validate(reading) == .refused(reason))
        #expect(validator.shown == Self.first)
        #expect(
            validator.counts.refused(reason) == 1 && validator.counts.refused == 1 && validator.counts.accepted == 1)
    }

    @Test func `a reading from the future and one from over a minute ago are refused, to the millisecond`() {
        for (late, verdict) in [
            (-30_000, FixVerdict.accepted(.onward)), (-30_001, .refused(.future)), (60_000, .accepted(.onward)),
            (60_001, .refused(.stale)),
        ] as [(Int64, FixVerdict)] {
            var validator = LocationValidator()
            let receipt = LocationValidator.Receipt(Self.first, lateMilliseconds: late)
            #expect(validator.validate(Self.first, received: receipt) == verdict, "\(late)")
        }
        for at in [Int64.min, .max] {
            var validator = LocationValidator()
            var reading = Self.first
            reading.at = at
            guard case .refused = validator.validate(reading, received: .init(Self.first)) else {
                Issue.record("\(at) was accepted")
                continue
            }
        }
    }

    @Test func `with travel mode off no reading is accepted`() {
        var validator = LocationValidator()
        let verdict = validator.validate(Self.first, isTravelling: false, received: .init(Self.first))
        #expect(verdict == .refused(.travelModeOff) && validator.shown == nil)
    }

    @Test func `one implausible reading is held, and refused when the next one contradicts it`() {
        var validator = Self.validator
        #expect(validator.validate(Self.after(1000, north: 900)) == .held)
        #expect(validator.validate(Self.after(2000, north: 15)) == .accepted(.onward))
        #expect(validator.counts.held == 1 && validator.counts.refused(.implausibleSpeed) == 1)
    }

    @Test func `agreeing readings move the marker as soon as the speed is plausible`() {
        var validator = Self.validator
        // 180 m in a second, then on from there.
        #expect(validator.validate(Self.after(1000, north: 180)) == .held)
        #expect(validator.validate(Self.after(2000, north: 185)) == .held)
        #expect(validator.validate(Self.after(3000, north: 190)) == .held)
        #expect(validator.validate(Self.after(4000, north: 195)) == .accepted(.onward))
        #expect(validator.counts.held == 3 && validator.counts.refused == 0)
    }

    @Test func `readings that agree for ten seconds replace the one that is shown`() {
        var validator = Self.validator
        for second in 1...10 as ClosedRange<Int64> {
            #expect(validator.validate(Self.after(second * 1000, north: 20_000 + Double(second) * 10)) == .held)
        }
        #expect(validator.validate(Self.after(11_000, north: 20_110)) == .accepted(.anew))
        #expect(validator.validate(Self.after(12_000, north: 20_120)) == .accepted(.onward))
    }

    @Test func `readings that contradict each other are never accepted`() {
        var validator = Self.validator
        for second in 1...60 as ClosedRange<Int64> {
            let north = second.isMultiple(of: 2) ? 50_000.0 : -50_000
            #expect(validator.validate(Self.after(second * 1000, north: north)) == .held)
        }
        #expect(validator.shown == Self.first && validator.counts.refused(.implausibleSpeed) == 59)
    }

    @Test func `a late batch never moves the marker back`() {
        var validator = Self.validator
        let newest = Self.after(40_000, north: 400)
        #expect(validator.validate(newest) == .accepted(.onward))
        let batch = (1...9).map { Self.after($0 * 4000, north: Double($0) * 40) }.reversed()
        #expect(validator.validate(Array(batch), received: .init(newest)).allSatisfy { $0 == .refused(.outOfOrder) })
        #expect(validator.shown == newest)
    }

    @Test func `a batch is validated in the order it was captured, however it arrives`() {
        var validator = Self.validator
        let batch = [3, 1, 2].map { Self.after($0 * 1000, north: Double($0) * 50) }
        let verdicts = validator.validate(batch, received: .init(batch[0]))
        #expect(verdicts == [.accepted(.onward), .accepted(.onward), .accepted(.onward)])
        #expect(validator.shown == batch[0])
    }

    @Test func `after another rider took over, the first reading is accepted`() {
        var validator = Self.validator
        validator.reset()
        #expect(validator.shown == nil && validator.shownAt == nil)
        #expect(validator.validate(Self.after(1000, north: 90_000)) == .accepted(.onward))
    }

    @Test func `the skew of the phone's clock is measured separately from the time of receipt`() {
        var validator = LocationValidator()
        // The phone's clock is 20 s behind, and messages take at least 80 ms.
        for (second, delay) in [(0, 400), (1, 80), (2, 2000), (3, 90)] as [(Int64, Int64)] {
            let reading = Self.after(second * 1000, north: Double(second))
            _ = validator.validate(reading, received: .init(reading, lateMilliseconds: 20_000 + delay))
        }
        #expect(validator.skew.milliseconds == 20_080)
        #expect(validator.shown?.at == Self.first.at + 3000)
        #expect(validator.shownAt == LocationValidator.Receipt(Self.after(3000), lateMilliseconds: 20_090).monotonic)
    }

    @Test func `a corrected clock is recognized within ten minutes`() {
        var skew = ClockSkew()
        #expect(skew.milliseconds == nil)
        skew.observe(lateMilliseconds: -5000, now: 0)
        for second in 1...600 { skew.observe(lateMilliseconds: 100, now: .seconds(Double(second))) }
        #expect(skew.milliseconds == 100)
    }

    @Test func `every refusal has a unique name`() {
        let names = FixRefusal.allCases.map { FixVerdict.refused($0).name } + [FixVerdict.held.name, "accepted"]
        #expect(Set(names).count == 11 && FixVerdict.accepted(.anew).name == "accepted")
    }

    @Test func `the description of a reading contains no position`() {
        #expect(!"\(Self.first)".contains("41.") && !String(reflecting: Self.first).contains("12.5"))
    }

    /// Knuth's MMIX generator: the same readings in every run.
    private struct Random {
        var state: UInt64
        mutating func next(below bound: Int64) -> Int64 {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(self.state >> 33) % bound
        }
    }

    @Test(arguments: 0..<50)
    func `for any readings the marker never goes back and never moves too fast`(seed: UInt64) {
        var (random, validator, clock) = (Random(state: seed), LocationValidator(), Int64(0))
        for _ in 0..<2000 {
            clock += random.next(below: 3000)
            let taken = clock - random.next(below: 10) * random.next(below: 10) * 1000 + random.next(below: 500)
            let north = Double(random.next(below: 3) == 0 ? random.next(below: 5000) : random.next(below: 50))
            let reading = Self.after(taken, north: north, accuracy: Double(random.next(below: 250)))
            let (before, beforeAt) = (validator.shown, validator.shownAt ?? 0)
            let receipt = LocationValidator.Receipt(Self.after(clock))
            let verdict = validator.validate(reading, received: receipt)
            guard case .accepted(let acceptance) = verdict else {
                #expect(validator.shown == before)
                continue
            }
            #expect(validator.shown == reading && validator.shownAt ?? 0 >= beforeAt)
            guard let before else { continue }
            let seconds = Double(reading.at - before.at) / 1000
            #expect(seconds > 0)
            #expect(acceptance == .anew || before.point.meters(to: reading.point) <= max(1, seconds) * 60)
        }
        #expect(validator.counts.accepted > 100 && validator.counts.refused > 100)
    }
}
