import EnrouteWire
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

    /// Validates readings of a rider that drives north, one second apart.
    ///
    /// - Parameter east: by how many m each reading is off to the east; `nil` for a second without a reading.
    /// - Returns: whether each reading was accepted.
    private static func drive(
        _ seconds: Range<Int>, speed: Double = 20, east: (Int) -> Double? = { _ in 0 },
        _ validator: inout LocationValidator
    ) -> [Bool] {
        seconds.compactMap { second in
            guard let east = east(second) else { return nil }
            var reading = self.first.moved(northMeters: Double(second) * speed)
            reading.point.longitude += east / 82_800
            reading.at += Int64(second) * 1000
            if case .accepted = validator.validate(reading) { return true }
            return false
        }
    }

    @Test func `a wrong reading after a silence does not prevent the right ones after it from being shown`() {
        var validator = LocationValidator()
        let accepted = Self.drive(
            0..<180, speed: 10, east: { (60..<150).contains($0) ? nil : $0 == 150 ? 600 : 0 }, &validator)
        #expect(accepted.count { !$0 } <= 3 && accepted.suffix(25).allSatisfy(\.self), "\(accepted.suffix(30))")
    }

    @Test func `a driver who is back on its course after a false place is shown within seconds`() {
        var validator = LocationValidator()
        var accepted = Self.drive(0..<74, east: { $0 >= 60 ? 115 : 0 }, &validator)
        // Afterwards the marker is at the false place.
        #expect(accepted.prefix(60).allSatisfy(\.self) && accepted.suffix(8).allSatisfy(\.self), "\(accepted)")
        accepted = Self.drive(74..<100, &validator)
        // A jump of more than 60 m/s is impossible: the first readings are held.
        #expect(accepted.prefix(2) == [false, false] && accepted.suffix(23).allSatisfy(\.self), "\(accepted)")
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

    /// A validator that has accepted a reading each second for half a minute, from a rider at 8 m/s, and the time of the
    /// last one in ms.
    private static func riding() -> (LocationValidator, Int64) {
        var validator = LocationValidator()
        for second in 0...30 as ClosedRange<Int64> {
            #expect(
                validator.validate(Self.after(second * 1000, north: Double(second) * 8 - 240)) == .accepted(.onward))
        }
        return (validator, 30_000)
    }

    /// Returns for how many seconds agreeing readings are held after they jumped this far in one second; `nil` for more than a
    /// minute.
    private static func heldSeconds(_ meters: Double, every seconds: Int64 = 1) -> Int64? {
        var (validator, last) = Self.riding()
        for second in stride(from: seconds, through: 60, by: Int(seconds)) {
            let reading = Self.after(last + second * 1000, north: meters + Double(second) * 2)
            if case .accepted = validator.validate(reading) { return second - seconds }
        }
        return nil
    }

    @Test func `the further readings jump, the longer they must agree, and at most for 20 s`() {
        #expect(Self.heldSeconds(40) == 0)
        let held = [80.0, 150, 220, 300, 3000, 500_000].compactMap { Self.heldSeconds($0) }
        #expect(held.count == 6 && held == held.sorted() && held[1] >= 4 && held[1] <= 8)
        #expect(held[3] >= 15 && held.last == 20)
    }

    @Test(arguments: [300.0, 1000, 3000, 20_000], [1, 2, 5] as [Int64])
    func `a false place that lasts for 14 s is not shown`(meters: Double, interval: Int64) {
        var (validator, last) = Self.riding()
        for second in stride(from: interval, through: 14, by: Int(interval)) {
            #expect(validator.validate(Self.after(last + second * 1000, north: meters)) == .held)
        }
        #expect(validator.validate(Self.after(last + 15_000, north: 100)) == .accepted(.onward))
    }

    @Test func `a false first reading is replaced as soon as others agree for longer`() {
        var validator = Self.validator
        let verdicts = (1...3 as ClosedRange<Int64>).map { validator.validate(Self.after($0 * 1000, north: 20_000)) }
        #expect(verdicts == [.held, .held, .accepted(.anew)])
    }

    @Test(arguments: [4, 5, 10] as [Int64])
    func `a false place that lasts for 14 s is not shown early in a trip either`(good: Int64) {
        var validator = Self.validator
        for second in 1..<good { #expect(validator.validate(Self.after(second * 1000)) == .accepted(.onward)) }
        for second in good..<(good + 14) {
            #expect(validator.validate(Self.after(second * 1000, north: 3000)) == .held, "second \(second)")
        }
        #expect(validator.validate(Self.after((good + 14) * 1000)) == .accepted(.onward))
    }

    @Test func `a device that takes over moves the marker once its readings agree for 2 s`() {
        var (validator, last) = Self.riding()
        validator.takeOver()
        let verdicts = (1...4 as ClosedRange<Int64>).map {
            validator.validate(Self.after(last + $0 * 1000, north: 5000))
        }
        #expect(verdicts == [.held, .held, .accepted(.anew), .accepted(.onward)])
    }

    @Test func `a train at 300 km per hour is shown after seconds, with and without its speed`() {
        for told in [nil, 83.3] {
            var validator = LocationValidator()
            let accepted = (0..<60 as Range<Int64>).map { second -> Int64? in
                var reading = Self.after(second * 1000, north: Double(second) * 83.3)
                reading.speedMetersPerSecond = told
                if case .accepted = validator.validate(reading) { return second }
                return nil
            }
            #expect(accepted.compactMap { $0 }.count >= 58, "\(accepted)")
        }
    }

    @Test func `a train that leaves a tunnel at 300 km per hour is shown at once`() {
        var validator = LocationValidator()
        var lost = 0
        for second in Array(0..<60) + Array(150..<200) as [Int64] {
            let verdict = validator.validate(Self.after(second * 1000, north: Double(second) * 83.3))
            if case .accepted = verdict { continue }
            lost += 1
        }
        #expect(lost <= 2)
    }

    /// A car at 30 m/s whose logger stalls for 18 s and then catches up, like a recorded one that does so every minute.
    @Test func `after a stall, readings on the rider's course are accepted and other places are not`() {
        func verdicts(east: Double) -> [FixVerdict] {
            var validator = LocationValidator()
            let stalled = [607.0: 30.0, 609: 60, 610: 85, 611: 100, 612: 114]
            let seconds = (0...600).map(Double.init) + stalled.keys.sorted() + (618...640).map(Double.init)
            return seconds.map { second in
                var reading = Recordings.generated()[0].moved(
                    northMeters: stalled[second].map { 18_000 + $0 } ?? second * 30)
                if second >= 618 { reading.point.longitude += east / 70_000 }
                reading.at = Recordings.start + Int64(second * 1000)
                return validator.validate(reading)
            }
        }
        #expect(verdicts(east: 0).allSatisfy { $0 == .accepted(.onward) })
        #expect(verdicts(east: 400).filter { $0 == .held }.count > 10)
    }

    @Test func `there is no course after 20 s, for an inaccurate reading, or before there are two fast readings`() {
        func reading(_ second: Int64, accuracy: Double? = nil) -> Reading {
            var reading = Recordings.generated()[0].moved(northMeters: Double(second) * 30)
            (reading.at, reading.accuracyMeters) = (Recordings.start + second * 1000, accuracy)
            return reading
        }
        var course = SteadyCourse()
        #expect(!course.leads(to: reading(1)))
        course.observe(from: reading(0), to: reading(1))
        #expect(course.leads(to: reading(21)) && !course.leads(to: reading(22)))
        #expect(!course.leads(to: reading(10, accuracy: 60)))
        // A reading off the course does not change it, and after 20 s another course begins.
        var stalled = reading(1)
        for second in 2...25 as ClosedRange<Int64> {
            var next = reading(1)
            next.at = Recordings.start + second * 1000
            course.observe(from: stalled, to: next)
            stalled = next
            #expect(course.leads(to: reading(second + 1)) == (second < 21), "\(second)")
        }
    }

    @Test func `a speed that contradicts the positions is limited`() {
        var (validator, last) = Self.riding()
        for (told, most) in [(340.0, 21.0), (8.0, 8), (12.0, 12), (0, 0)] {
            last += 1000
            var reading = Self.after(last, north: Double(last - 30_000) / 1000 * 8)
            reading.speedMetersPerSecond = told
            #expect(validator.validate(reading) == .accepted(.onward))
            #expect(validator.shown?.speedMetersPerSecond ?? -1 <= most && validator.shown?.point == reading.point)
        }
        var first = Self.first
        first.speedMetersPerSecond = 340
        var other = LocationValidator()
        #expect(other.validate(first) == .accepted(.onward) && other.shown?.speedMetersPerSecond == 100)
    }

    @Test func `readings that contradict each other are never accepted`() {
        var validator = Self.validator
        for second in 1...60 as ClosedRange<Int64> {
            let north = second.isMultiple(of: 2) ? 50_000.0 : -50_000
            #expect(validator.validate(Self.after(second * 1000, north: north)) == .held)
        }
        #expect(validator.shown == Self.first && validator.counts.refused(.implausibleSpeed) == 59)
    }

    @Test func `a reading that an app invented is refused, and counted`() {
        var validator = Self.validator
        var reading = Self.after(1000, north: 5)
        reading.isMocked = true
        #expect(validator.validate(reading) == .refused(.mocked) && validator.shown == Self.first)
        #expect(validator.counts.refused(.mocked) == 1)
    }

    @Test(arguments: [(Vehicle.foot, 70.0, false), (.truck, 50, true), (.car, 59, true), (.foot, 40, true)])
    func `readings are accepted less far away for a rider on foot than for a car`(
        vehicle: Vehicle, meters: Double, isBelieved: Bool
    ) {
        var validator = Self.validator
        validator.setVehicle(vehicle)
        let verdict = validator.validate(Self.after(1000, north: meters, accuracy: 1))
        #expect((verdict == .accepted(.onward)) == isBelieved)
    }

    @Test func `a rider on foot that takes a train is shown after seconds`() {
        var validator = LocationValidator()
        validator.setVehicle(.foot)
        var lost = 0
        for second in 0..<300 as Range<Int64> {
            let meters = second < 60 ? Double(second) : 60 + Double(second - 60) * 40
            if case .accepted = validator.validate(Self.after(second * 1000, north: meters)) { continue }
            lost += 1
        }
        #expect(lost <= 5)
    }

    @Test func `readings with an accuracy of 150 m are accepted 300 m apart`() {
        var validator = LocationValidator()
        #expect(validator.validate(Self.after(0, accuracy: 150)) == .accepted(.onward))
        #expect(validator.validate(Self.after(1000, north: 300, accuracy: 150)) == .accepted(.onward))
        #expect(validator.validate(Self.after(2000, north: 700, accuracy: 5)) == .held)
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

    @Test func `every refusal has a unique name`() {
        let names = FixRefusal.allCases.map { FixVerdict.refused($0).name } + [FixVerdict.held.name, "accepted"]
        #expect(Set(names).count == 14 && FixVerdict.accepted(.anew).name == "accepted")
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
            #expect(validator.shown?.point == reading.point && validator.shownAt ?? 0 >= beforeAt)
            guard let before, let shown = validator.shown else { continue }
            let seconds = Double(shown.at - before.at) / 1000
            #expect(seconds > 0)
            let inaccuracy = (before.accuracyMeters ?? 0) + (reading.accuracyMeters ?? 0)
            let most = max(max(1, seconds) * 100, inaccuracy * 1.5)
            #expect(acceptance == .anew || before.point.meters(to: reading.point) <= most)
        }
        #expect(validator.counts.accepted > 100 && validator.counts.refused > 100)
    }
}
