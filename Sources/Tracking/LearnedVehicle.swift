// Learns what an unknown rider travels with. Walkers, cyclists and drivers differ in the speed that they exceed for 15 % of
// the time they move: it was below 2.2 m/s for 98 % of recorded walks, between 2.7 and 5.2 m/s for nearly all bicycle rides,
// and above 5.7 m/s for 98 % of car trips. Slow traffic and a push up the hill are exceptions, so a change needs evidence.

package import EnrouteWire

/// The vehicle of one trip: `foot`, `bicycle` or `car`.
package struct LearnedVehicle: Hashable, Sendable {
    /// Seconds over which a speed is measured: at least, and at most.
    static let window = 20.0...60.0
    /// The errors of an inaccurate phone look like speed, so its speed is measured over longer: over so many s per m of the
    /// accuracy radius, and at most over so many s.
    static let (secondsPerMeter, longest) = (0.5, 50.0)
    /// m/s. A slower rider stands and says nothing about the vehicle.
    static let standing = 0.5
    /// The upper bounds of the speed for `foot` and `bicycle`, m/s.
    static let bounds = (foot: 2.5, bicycle: 6.5)
    /// m/s beyond a bound before a vehicle that was learned changes.
    static let hysteresis = 0.5
    /// The share of the moving time with lower speeds.
    static let quantile = 0.85
    /// Measurements before the first conclusion: two minutes of movement.
    static let least = 6
    /// With more measurements, all count half, so that a rider who changes the vehicle is noticed.
    static let most = 180

    /// `nil` until enough is known.
    package private(set) var vehicle: Vehicle?
    private var from: Reading?
    /// The number of measurements by speed, half a metre per second each; the last one also counts all faster ones.
    private var counts = SIMD16<UInt8>()
    private var total = 0

    package init() {}

    /// - Parameter reading: newer than the one before.
    package mutating func observe(_ reading: Reading) {
        guard let from = self.from else { return self.from = reading }
        let seconds = Double(reading.at - from.at) / 1000
        let accuracy = max(from.accuracyMeters ?? 0, reading.accuracyMeters ?? 0)
        let needed = max(Self.window.lowerBound, min(Self.longest, Self.secondsPerMeter * accuracy))
        guard seconds >= needed else { return }
        self.from = reading
        let speed = from.point.meters(to: reading.point) / seconds
        guard seconds <= Self.window.upperBound, speed > Self.standing else { return }
        if self.total >= Self.most {
            self.counts = self.counts &>> 1
            self.total = self.counts.indices.reduce(0) { $0 + Int(self.counts[$1]) }
        }
        // A longer measurement counts for those that it replaces.
        let weight = UInt8(needed / Self.window.lowerBound)
        self.counts[min(self.counts.scalarCount - 1, Int(min(speed, 100) / Self.binWidth))] += weight
        self.total += Int(weight)
        guard self.total >= Self.least else { return }
        self.conclude(from: self.upperSpeed)
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
