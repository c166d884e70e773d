// What the accuracy that a phone tells means for one reading. Small errors change from reading to reading. Large ones, of
// phones that locate themselves by cells and wireless networks, last for several.

/// How inaccurate a reading is.
struct ReadingNoise {
    /// Radius of 68 % confidence of a phone that does not say how accurate it is, and the smallest that is believed, in m.
    static let usualAccuracy = 5.0
    static let leastAccuracy = 3.0
    /// The radius of 68 % confidence by the standard deviation of each axis of a normal distribution.
    static let radiusByDeviation = 1.51
    /// m. Errors of this accuracy radius last so long that a reading counts half.
    static let lastingAccuracy = 100.0
    /// m. A phone with a smaller accuracy radius is accurate. One with twice this radius is as vague as any.
    static let sharpAccuracy = 25.0

    /// Radius of 68 % confidence, in m.
    let accuracy: Double
    /// Standard deviation of each axis, in m.
    let deviation: Double
    /// 0 for an accurate phone, up to 1.
    let vagueness: Double

    /// - Parameter meters: the radius that the phone tells.
    init(accuracy meters: Double?) {
        self.accuracy = max(Self.leastAccuracy, meters ?? Self.usualAccuracy)
        self.deviation =
            self.accuracy / Self.radiusByDeviation * (1 + min(1, self.accuracy / Self.lastingAccuracy))
        self.vagueness = min(1, max(0, self.accuracy / Self.sharpAccuracy - 1))
    }
}
