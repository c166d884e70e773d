// Detects that a phone lies still. Its readings then wander around it, and a marker that follows them would wander
// through houses. A short and a long average of the readings differ by the distance that the rider moves between them,
// while noise mostly cancels out. A speed that the phone measured is better evidence, once it has proven reliable.

/// Whether a rider rests, from all its readings.
struct Stillness: Hashable, Sendable {
    /// Seconds over which the readings are averaged.
    static let (short, long) = (2.0, 10.0)
    /// m/s. A slower rider rests, after `patience`.
    static let restingSpeed = 0.2
    /// The same per meter of the accuracy radius, because noise looks like movement, and the maximum in m/s.
    static let noiseSpeed = 0.03
    static let fastestRest = 0.7
    /// Seconds for which a rider must be that slow, and fewer if the phone measures that it rests.
    static let (patience, shortPatience) = (6.0, 2.0)
    /// m/s. A phone that measures less rests, and one that measures more moves.
    static let told = (resting: 0.4, moving: 0.8)
    /// The rider moves again when the short average is far enough from the marker: a share of the accuracy radius less some
    /// meters, at least a minimum in m, and farther if the phone measures that it rests.
    static let leaving = (share: 0.8, less: 1.5, meters: 2.0, suspicious: 4.0, factorIfResting: 1.5)

    private(set) var isStill = false
    /// Both averages begin with the first reading, which is the center of the plane.
    private var quick = SIMD2<Double>()
    private var slow = SIMD2<Double>()
    /// Seconds that were observed, up to `long`: the averages are over fewer readings at first.
    private var seconds = 0.0
    /// Whether the previous reading was away from the pinned marker.
    private var wasAway = false
    /// Seconds for which the rider has been slow.
    private var resting = 0.0

    /// - Parameters:
    ///   - read: m on the plane.
    ///   - seconds: since the reading before.
    ///   - accuracy: radius of 68 % confidence, in m.
    ///   - told: the phone's speed if it has proven right.
    ///   - pin: the place that is shown.
    mutating func observe(
        _ read: SIMD2<Double>, seconds: Double, accuracy: Double, told: Double?, pin: SIMD2<Double>
    ) {
        self.seconds = min(Self.long, self.seconds + seconds)
        self.quick += (read - self.quick) * Self.share(seconds, min(Self.short, self.seconds))
        self.slow += (read - self.slow) * Self.share(seconds, self.seconds)
        if self.isStill {
            if self.leaves(read, accuracy, told, pin, seconds) { (self.isStill, self.resting) = (false, 0) }
            return
        }
        let drift = Self.length(self.quick - self.slow) / (Self.long - Self.short)
        let limit = min(Self.fastestRest, Self.restingSpeed + Self.noiseSpeed * accuracy)
        let isSlow =
            told.map { $0 < Self.told.resting && drift < 2 * limit } ?? (drift < limit)
        guard isSlow else { return self.resting = 0 }
        self.wasAway = false
        self.resting += seconds
        let patience = told == nil ? Self.patience : Self.shortPatience
        self.isStill = self.resting >= patience && self.seconds >= Self.long
    }

    private mutating func leaves(
        _ read: SIMD2<Double>, _ accuracy: Double, _ told: Double?, _ pin: SIMD2<Double>, _ seconds: Double
    ) -> Bool {
        if let told, told > Self.told.moving { return true }
        let needed =
            max(Self.leaving.meters, Self.leaving.share * accuracy - Self.leaving.less)
            * (told == nil ? 1 : Self.leaving.factorIfResting)
        let (isAway, before) = (Self.length(self.quick - pin) > needed, self.wasAway)
        self.wasAway = isAway
        let distance = Self.length(read - pin)
        // A single distant reading may be wrong, so the previous one has to agree, unless it is old.
        let isCredible =
            before || seconds >= PositionFilter.sparseSeconds || distance < Self.leaving.suspicious * needed
        return isAway && distance > needed && isCredible
    }

    mutating func shift(by offset: SIMD2<Double>) {
        self.quick -= offset
        self.slow -= offset
    }

    private static func share(_ seconds: Double, _ over: Double) -> Double { seconds / (over + seconds) }

    private static func length(_ vector: SIMD2<Double>) -> Double { (vector * vector).sum().squareRoot() }
}

/// The speed and heading that a phone measured, usually by the Doppler shift. They are better than those derived from places,
/// if the phone measures them at all: some phones send 0, or values of another moment. So they are not used before they have
/// proven reliable.
struct ToldMotion: Hashable, Sendable {
    struct Motion {
        var velocity: SIMD2<Double>
        /// m²/s² of each axis.
        var variance: Double
    }

    /// Increases when speeds agree with the places, decreases when they do not.
    private var trust: Int8 = 0
    private var from: SIMD2<Double>?
    private var seconds = 0.0
    /// The integral of the reported speed over time since `from`, in m.
    private var meters = 0.0

    static let trusted: Int8 = 2
    static let most: Int8 = 6
    /// The minimum distance over which reported and actual distance are compared: meters, and a multiple of the deviation.
    static let stretch = (meters: 20.0, deviations: 4.0)
    /// s. A longer comparison says nothing.
    static let longest = 60.0
    /// The reported distance may differ from the straight line by this share.
    static let leeway = 0.35

    var isTrusted: Bool { self.trust >= Self.trusted }

    /// - Parameter from: where the reading is, m on the plane.
    mutating func observe(
        _ speed: Double?, _ heading: Double?, from read: SIMD2<Double>, seconds: Double, deviation: Double
    ) -> Motion? {
        guard let speed else {
            self.restart()
            return nil
        }
        self.compare(speed, read, seconds, deviation)
        guard self.isTrusted else { return nil }
        if speed < Stillness.told.resting { return Motion(velocity: SIMD2(), variance: 0.25) }
        guard let heading, speed > 1 else { return nil }
        let deviation = 0.5 + 0.1 * speed
        return Motion(velocity: LocalPlane.direction(heading) * speed, variance: deviation * deviation)
    }

    private mutating func compare(_ speed: Double, _ read: SIMD2<Double>, _ seconds: Double, _ deviation: Double) {
        guard let from = self.from else { return self.begin(read) }
        self.seconds += seconds
        self.meters += speed * seconds
        let away = read - from
        let distance = (away * away).sum().squareRoot()
        let stretch = max(Self.stretch.meters, Self.stretch.deviations * deviation)
        if max(distance, self.meters) >= stretch {
            let allowed = Self.leeway * max(distance, self.meters) + 2 * deviation
            // Bends make the straight line shorter, so a longer reported distance is no contradiction unless it is much
            // longer.
            let isRight = distance <= self.meters + allowed && self.meters <= 2 * distance + allowed
            self.trust = isRight ? min(Self.most, self.trust + 1) : max(0, self.trust - 2)
            self.begin(read)
        } else if self.seconds > Self.longest {
            self.begin(read)
        }
    }

    private mutating func begin(_ read: SIMD2<Double>) { (self.from, self.seconds, self.meters) = (read, 0, 0) }

    mutating func restart() { self.from = nil }

    mutating func shift(by offset: SIMD2<Double>) { if let from = self.from { self.from = from - offset } }
}
