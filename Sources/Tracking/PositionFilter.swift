// Estimates where a rider is from inaccurate readings: a Kalman filter with constant velocity on a plane around the rider. The
// validator decides first whether a reading is accepted; the filter decides how far the marker follows it. Accurate readings
// move the marker nearly all the way, inaccurate ones a little, and those of a phone that lies still not at all. Every reading
// is shown at once: the filter adds no delay. Both axes have the same noise, so they share one covariance. The marker of an
// inaccurate phone follows the estimate over several readings, because each reading moves the estimate by more than the rider
// moves.

/// The movement of one rider, from the readings that its validator accepted.
package struct PositionFilter: Hashable, Sendable {
    /// What followers see after a reading.
    package struct Estimate: Hashable, Sendable {
        package var point: Point
        /// Standard deviation of each axis, in m.
        package var deviationMeters: Double
        /// m/s; `nil` until two readings prove it.
        package var speedMetersPerSecond: Double?
        /// Clockwise from north in degrees, 0 to 360; `nil` while the rider is slow, or the heading uncertain.
        package var headingDegrees: Double?
        /// The phone lies still, so the marker is pinned.
        package var isStill: Bool
    }

    /// ms. After a longer pause the filter starts again, because the rider may have gone anywhere.
    static let longestPause: Int64 = 60_000
    /// A reading that is more standard deviations away from the expected place is an outlier. The farther away it is, the
    /// less it counts.
    static let outlierDeviations = 3.0
    /// m/s². With this process noise, every reading is shown where it is.
    static let boundless = 1e6
    /// s. After a longer pause one outlier is enough, because the expected place is a guess by then, and the validator has
    /// found the reading plausible.
    static let sparseSeconds = 4.0

    private var plane = LocalPlane(Point(latitude: 0, longitude: 0))
    private var bounds: VehicleBounds
    private var at: Int64?
    /// m and m/s on the plane, east and north.
    private var place = SIMD2<Double>()
    private var velocity = SIMD2<Double>()
    /// What followers see, m on the plane. The same as `place` while the phone is accurate.
    private var marker = SIMD2<Double>()
    /// Variance of the place in m², of the velocity in m²/s², and their covariance.
    private var (placeVariance, covariance, velocityVariance) = (0.0, 0.0, 0.0)
    private var stillness = Stillness()
    private var told = ToldMotion()
    private var outliers = Outliers()
    /// The number of readings since the start, up to `provenBy`.
    private var count: UInt8 = 0

    package init(_ bounds: VehicleBounds = .of(nil)) { self.bounds = bounds }

    /// The vehicle became known.
    package mutating func setBounds(_ bounds: VehicleBounds) { self.bounds = bounds }

    /// Forgets the movement: the next reading is shown as it is.
    package mutating func reset() { self.at = nil }

    /// - Parameters:
    ///   - reading: valid, and newer than the one before.
    ///   - heading: the phone's, in degrees.
    ///   - isAnew: the marker jumps to the reading, wherever it was.
    package mutating func observe(_ reading: Reading, heading: Double? = nil, isAnew: Bool = false) -> Estimate {
        let noise = ReadingNoise(accuracy: reading.accuracyMeters)
        let deviation = noise.deviation
        // With unbounded acceleration, every reading is right.
        if self.bounds.unrest >= Self.boundless { return self.start(at: reading, deviation, heading) }
        guard let at = self.at, !isAnew, reading.at > at, reading.at - at <= Self.longestPause else {
            return self.start(at: reading, deviation, heading)
        }
        let seconds = Double(reading.at - at) / 1000
        if !self.plane.reaches(self.place) { self.recenter() }
        let read = self.plane.offset(of: reading.point)
        self.at = reading.at
        self.count = min(Self.provenBy, self.count + 1)
        let motion = self.told.observe(
            reading.speedMetersPerSecond, heading, from: read, seconds: seconds, deviation: deviation)
        let wasStill = self.stillness.isStill
        self.stillness.observe(
            read, seconds: seconds, accuracy: noise.accuracy,
            told: self.told.isTrusted ? reading.speedMetersPerSecond : nil, pin: self.marker)
        if self.stillness.isStill { return self.rest(deviation) }
        if wasStill { self.leave(deviation) }
        let gain = self.move(to: read, noise, seconds)
        if let motion { self.correctVelocity(by: motion) }
        self.follow(gain, noise.vagueness, seconds)
        return self.estimate(reading)
    }

    // MARK: steps

    private mutating func start(at reading: Reading, _ deviation: Double, _ heading: Double?) -> Estimate {
        self.plane = LocalPlane(reading.point)
        (self.at, self.place, self.velocity, self.marker) = (reading.at, SIMD2(), SIMD2(), SIMD2())
        self.restart(deviation)
        if let told = reading.speedMetersPerSecond { self.velocityVariance = max(self.velocityVariance, told * told) }
        (self.stillness, self.count) = (Stillness(), 1)
        self.told.restart()
        return Estimate(
            point: reading.point, deviationMeters: deviation, speedMetersPerSecond: nil, headingDegrees: nil,
            isStill: false)
    }

    /// The place is as accurate as one reading, and nothing is known about the velocity.
    private mutating func restart(_ deviation: Double) {
        (self.placeVariance, self.covariance) = (deviation * deviation, 0)
        let speed = self.bounds.usualMetersPerSecond * Self.startingShare
        self.velocityVariance = speed * speed
        self.outliers = Outliers()
    }

    /// The rider set off: the marker continues from where it was pinned.
    private mutating func leave(_ deviation: Double) {
        self.velocity = SIMD2()
        self.restart(deviation)
        let speed = min(Self.leavingSpeed, self.bounds.unrest * Self.leavingSeconds)
        self.velocityVariance = speed * speed
    }

    private mutating func rest(_ deviation: Double) -> Estimate {
        (self.velocity, self.covariance, self.outliers) = (SIMD2(), 0, Outliers())
        self.place = self.marker
        return Estimate(
            point: self.plane.point(at: self.marker), deviationMeters: self.placeVariance.squareRoot(),
            speedMetersPerSecond: 0, headingDegrees: nil, isStill: true)
    }

    /// Returns the share of the distance to the reading by which the estimate moved.
    private mutating func move(to read: SIMD2<Double>, _ noise: ReadingNoise, _ seconds: Double) -> Double {
        let before = self.place
        self.predict(seconds, noise.vagueness)
        let away = read - self.place
        let square = (away * away).sum()
        let variance = noise.deviation * noise.deviation
        let allowed = (self.placeVariance + variance) * Self.outlierDeviations * Self.outlierDeviations
        guard square > allowed else {
            self.outliers.clear()
            return self.correct(by: away, variance, seconds)
        }
        guard seconds < Self.sparseSeconds,
            !self.outliers.refute(self.place, by: away, at: self.at ?? 0, seconds: seconds)
        else {
            // The readings are right, so the place was wrong.
            let moved = read - (self.outliers.isEmpty ? before : self.outliers.last)
            (self.place, self.velocity) = (read, seconds > 0 ? moved / seconds : SIMD2())
            self.restart(noise.deviation)
            return 1
        }
        self.outliers.last = read
        // The weight of a reading falls with the fourth power of its distance, so a single one moves the marker little.
        return self.correct(by: away, variance * square / allowed * (square / allowed), seconds)
    }

    /// Constant velocity, disturbed by white acceleration. Accurate readings show at once when a rider stops or turns. Vague
    /// ones do not show how long it keeps its velocity, so the filter gradually forgets the velocity.
    private mutating func predict(_ seconds: Double, _ vagueness: Double) {
        self.place += self.velocity * seconds
        let unrest = self.unrest(vagueness)
        let noise = unrest * unrest
        let (p, c, q) = (self.placeVariance, self.covariance, self.velocityVariance)
        self.placeVariance = p + seconds * (2 * c + seconds * (q + noise * seconds / 3))
        self.covariance = c + seconds * (q + noise * seconds / 2)
        self.velocityVariance = q + noise * seconds
        guard vagueness > 0 else { return }
        let rate = self.bounds.unrest / (self.bounds.usualMetersPerSecond * Self.spreadShare)
        let kept = 1 / (1 + vagueness * seconds * rate * rate / 2)
        self.velocity *= kept
        self.covariance *= kept
        self.velocityVariance *= kept * kept
    }

    private func unrest(_ vagueness: Double) -> Double {
        guard vagueness > 0 else { return self.bounds.unrest }
        let speed = (self.velocity * self.velocity).sum().squareRoot()
        let calm = min(self.bounds.unrest, self.bounds.calmUnrest + speed * Self.unrestBySpeed)
        return self.bounds.unrest + (calm - self.bounds.unrest) * vagueness
    }

    private mutating func correct(by away: SIMD2<Double>, _ variance: Double, _ seconds: Double) -> Double {
        let total = self.placeVariance + variance
        var (gain, velocityGain) = (self.placeVariance / total, self.covariance / total)
        let distance = (away * away).sum().squareRoot() * gain
        // The velocity is this uncertain only if the phone reports its speed.
        let most = max(Self.fastestCorrection, self.velocityVariance.squareRoot()) * max(1, seconds)
        if distance > most { (gain, velocityGain) = (gain * most / distance, velocityGain * most / distance) }
        self.place += away * gain
        self.velocity += away * velocityGain
        self.velocityVariance -= velocityGain * self.covariance
        self.placeVariance *= 1 - gain
        self.covariance *= 1 - gain
        return gain
    }

    /// The marker moves with the rider's velocity and covers a share of its distance to the estimate: all of it if the phone
    /// is accurate, or if the reading was better than what was known.
    private mutating func follow(_ gain: Double, _ vagueness: Double, _ seconds: Double) {
        let share = 1 - vagueness + vagueness * Self.followingGains * gain
        guard share < 1 else { return self.marker = self.place }
        self.marker += self.velocity * seconds
        self.marker += (self.place - self.marker) * share
    }

    private mutating func correctVelocity(by motion: ToldMotion.Motion) {
        let away = motion.velocity - self.velocity
        let total = self.velocityVariance + motion.variance
        guard (away * away).sum() <= total * Self.outlierDeviations * Self.outlierDeviations else { return }
        let (gain, placeGain) = (self.velocityVariance / total, self.covariance / total)
        self.velocity += away * gain
        self.place += away * placeGain
        self.placeVariance -= placeGain * self.covariance
        self.covariance *= 1 - gain
        self.velocityVariance *= 1 - gain
    }

    private mutating func recenter() {
        let center = self.plane.point(at: self.place)
        let moved = self.place
        self.plane = LocalPlane(center)
        self.place -= moved
        self.marker -= moved
        self.outliers.last -= moved
        self.stillness.shift(by: moved)
        self.told.shift(by: moved)
    }

    private func estimate(_ reading: Reading) -> Estimate {
        let speed = (self.velocity * self.velocity).sum().squareRoot()
        let uncertainty = self.velocityVariance.squareRoot()
        let isProven = self.count >= Self.provenBy && uncertainty <= max(Self.certainSpeed, speed / 2)
        var heading = Double?.none
        if isProven, speed > max(Self.headingSpeed, 2 * uncertainty) { heading = LocalPlane.heading(of: self.velocity) }
        return Estimate(
            point: self.plane.point(at: self.marker), deviationMeters: self.placeVariance.squareRoot(),
            speedMetersPerSecond: isProven ? speed : nil, headingDegrees: heading, isStill: false)
    }

    /// m/s. The marker is corrected no faster, so that two inaccurate readings do not make it jump.
    private static let fastestCorrection = 50.0
    /// The speed assumed when the filter starts, as a share of the usual bound.
    private static let startingShare = 0.25
    /// The speed assumed when the rider sets off: what it reaches with its unrest in this many seconds, at most this many m/s.
    private static let leavingSeconds = 3.0
    private static let leavingSpeed = 3.0
    /// The assumed velocity of a rider whose phone is vague: the standard deviation of each axis, as a share of the usual
    /// bound. With it, a walker's velocity is forgotten over 40 s, and a car's over 70 s.
    private static let spreadShare = 0.2
    /// m/s² per m/s, for a rider whose phone is vague: the faster the rider, the more its velocity changes.
    private static let unrestBySpeed = 0.2
    /// The share of its distance to the estimate that the marker covers, as a multiple of the share of its distance to the
    /// reading that the estimate covers.
    private static let followingGains = 4.0
    /// The number of readings that a speed needs before it is shown.
    private static let provenBy: UInt8 = 3
    /// m/s. A speed with a smaller deviation is shown.
    private static let certainSpeed = 2.0
    /// m/s. A slower rider has no heading.
    static let headingSpeed = 0.8
}
