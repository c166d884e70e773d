// What a reported accuracy means for one reading. Small errors change from reading to reading. The large errors of
// phones that locate themselves by cell towers and wireless networks last for several readings.

/// How inaccurate a reading is.
struct ReadingNoise {
    /// Radius of 68 % confidence in m: assumed for a phone that reports none, and the smallest that is accepted.
    static let usualAccuracy = 5.0
    static let leastAccuracy = 3.0
    /// The ratio of the radius of 68 % confidence to the standard deviation of each axis, for a normal distribution.
    static let radiusByDeviation = 1.51
    /// m. Errors of this accuracy radius last so long that a reading counts half.
    static let lastingAccuracy = 100.0
    /// m. A phone with a smaller accuracy radius is accurate. At twice this radius and above, vagueness is 1.
    static let sharpAccuracy = 25.0

    /// Radius of 68 % confidence, in m.
    let accuracy: Double
    /// Standard deviation of each axis, in m.
    let deviation: Double
    /// 0 for an accurate phone, up to 1.
    let vagueness: Double

    /// - Parameter meters: the accuracy radius that the phone reports; `nil` if none.
    init(accuracy meters: Double?) {
        self.accuracy = max(Self.leastAccuracy, meters ?? Self.usualAccuracy)
        self.deviation =
            self.accuracy / Self.radiusByDeviation * (1 + min(1, self.accuracy / Self.lastingAccuracy))
        self.vagueness = min(1, max(0, self.accuracy / Self.sharpAccuracy - 1))
    }
}
