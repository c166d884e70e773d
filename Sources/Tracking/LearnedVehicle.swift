// Learns what an unknown rider travels with. It compares the speed that the rider exceeds for 15 % of the moving time: below
// 2.2 m/s for 98 % of recorded walks, between 2.7 and 5.2 m/s for nearly all bicycle rides, and above 5.7 m/s for 98 % of car
// trips. Cars in slow traffic and bicycles pushed uphill are exceptions, so a change needs evidence: five minutes of walking.
// The readings of a phone that lies still wander, which is no evidence.

package import EnrouteWire

/// The vehicle of one trip: `foot`, `bicycle` or `car`.
package struct LearnedVehicle: Hashable, Sendable {
    /// The shortest and the longest time over which a speed is measured, in seconds.
    static let window = 20.0...60.0
    /// The errors of an inaccurate phone look like speed, so its speed is measured over a longer time: this many
    /// seconds per meter of the accuracy radius, up to a maximum in seconds.
    static let (secondsPerMeter, longest) = (0.5, 50.0)
    /// m/s. A slower rider counts as standing and says nothing about the vehicle.
    static let standing = 0.5
    /// The readings of a phone that lies still also wander. So a rider is measured until it is this many accuracy radii, or at
    /// most this many meters, from where it was. After this many seconds it counts as standing.
    static let (wanderingRadii, farthestWandering, longestWandering) = (2.25, 80.0, 120.0)
    /// m/s. If the phone measures a lower speed and its readings may have wandered, the rider counts as standing.
    static let resting = 0.4
    /// The upper bounds of the speed for `foot` and `bicycle`, m/s.
    static let bounds = (foot: 2.5, bicycle: 6.5)
    /// m/s beyond a bound before a vehicle that was learned changes.
    static let hysteresis = 0.5
    /// The share of the moving time that is spent at lower speeds.
    static let quantile = 0.85
    /// Measurements before the first conclusion: two minutes of movement.
    static let least: UInt8 = 6
    /// With more measurements, each counts half, so that a change of vehicle is noticed.
    static let most: UInt8 = 180
    /// The speeds of walkers over a measurement and at its end, m/s.
    static let (walkingSpeeds, walkingSpeedsAtEnd) = (0.8...bounds.foot, resting...4)
    /// Five minutes of walking. This many measurements of walking, minus the other ones, prove a walker, whatever was
    /// measured before. Cars in traffic jams are as slow but stop in between: those of Sources/ETA/README.md reach 9.
    static let provenWalking: UInt8 = 15

    /// `nil` until enough is known.
    package private(set) var vehicle: Vehicle?
    // In bytes, because each trip stores them twice.
    private var total: UInt8 = 0
    /// Measurements of walking minus the other ones, 0 to `provenWalking`.
    private(set) var walking: UInt8 = 0
    /// The parts of the present measurement.
    private var parts: UInt8 = 1
    private var from: Reading?
    /// The number of measurements by speed, half a meter per second each; the last one also counts all faster ones.
    private var counts = SIMD16<UInt8>()

    package init() {}

    /// - Parameter reading: newer than the one before.
    package mutating func observe(_ reading: Reading) {
        guard let from = self.from else { return self.measure(from: reading) }
        let seconds = Double(reading.at - from.at) / 1000
        let accuracy = max(from.accuracyMeters ?? 0, reading.accuracyMeters ?? 0)
        let part = max(Self.window.lowerBound, min(Self.longest, Self.secondsPerMeter * accuracy))
        let needed = part * Double(self.parts)
        guard seconds >= needed else { return }
        guard seconds <= needed - part + Self.window.upperBound else { return self.measure(from: reading) }
        let meters = from.point.meters(to: reading.point)
        let isMoving = meters > Self.standing * seconds
        let isWandering = meters <= min(Self.farthestWandering, Self.wanderingRadii * accuracy)
        let isAtRest = reading.speedMetersPerSecond.map { $0 < Self.resting } ?? false
        if isMoving, isWandering, !isAtRest, needed + part <= Self.longestWandering { return self.parts += 1 }
        self.measure(from: reading)
        // A longer measurement counts as many times as the usual ones that it replaces.
        let weight = UInt8(needed / Self.window.lowerBound)
        guard isMoving, !isWandering else { return self.walking -= min(self.walking, weight) }
        // In a long measurement a car may have stood, so it counts half.
        self.countWalking(meters / seconds, atEnd: reading.speedMetersPerSecond, (weight + 1) / 2)
        self.count(meters / seconds, weight)
        guard self.total >= Self.least else { return }
        self.conclude(from: self.upperSpeed)
    }

    private mutating func measure(from reading: Reading) { (self.from, self.parts) = (reading, 1) }

    /// The phone's clock was corrected, so the next reading's time cannot be compared with the last one's.
    mutating func clockChanged() { self.from = nil }

    private mutating func count(_ speed: Double, _ weight: UInt8) {
        if self.total >= Self.most {
            self.counts = self.counts &>> 1
            self.recount()
        }
        self.counts[min(self.counts.scalarCount - 1, Int(min(speed, 100) / Self.binWidth))] += weight
        self.total += weight
        if self.walking >= Self.provenWalking { self.forgetFasterSpeeds() }
    }

    private mutating func forgetFasterSpeeds() {
        self.vehicle = .foot
        for index in self.counts.indices where Double(index) * Self.binWidth >= Self.bounds.foot {
            self.counts[index] = 0
        }
        self.recount()
    }

    private mutating func recount() { self.total = self.counts.wrappedSum() }

    private mutating func countWalking(_ speed: Double, atEnd: Double?, _ weight: UInt8) {
        let isWalking =
            Self.walkingSpeeds.contains(speed) && atEnd.map { Self.walkingSpeedsAtEnd.contains($0) } ?? true
        self.walking =
            isWalking ? min(Self.provenWalking, self.walking + weight) : self.walking - min(self.walking, weight)
    }

    private static let binWidth = 0.5

    /// The lower end of the bin with the quantile, plus half a bin.
    private var upperSpeed: Double {
        let above = Double(self.total) * (1 - Self.quantile)
        var seen = 0.0
        for index in self.counts.indices.reversed() {
            seen += Double(self.counts[index])
            if seen > above { return (Double(index) + 0.5) * Self.binWidth }
        }
        return 0
    }

    private mutating func conclude(from speed: Double) {
        // The bounds move away from the current vehicle.
        let (isFoot, isCar) = (self.vehicle == .foot, self.vehicle == .car)
        let isKnown = self.vehicle != nil
        let foot = Self.bounds.foot + (isFoot ? Self.hysteresis : isKnown ? -Self.hysteresis : 0)
        let bicycle = Self.bounds.bicycle + (isCar ? -Self.hysteresis : isKnown ? Self.hysteresis : 0)
        self.vehicle = speed < foot ? .foot : speed < bicycle ? .bicycle : .car
    }
}
