// Readings that contradict the place where a rider is expected. A single one moves the marker little, because receivers err.
// Several in a row on the same side prove that the expected place is wrong.

/// The outliers since the last reading that agreed with the expected place.
struct Outliers: Hashable, Sendable {
    /// The expected place is wrong after this many outliers in a row, if the last reading that agreed is this many ms old.
    static let proving = 2
    static let provingMilliseconds: Int64 = 3_000

    private var count = 0
    /// ms. When the last reading before the outliers agreed.
    private var since: Int64 = 0
    /// The newest outlier, m on the plane.
    var last = SIMD2<Double>()

    var isEmpty: Bool { self.count == 0 }

    /// A reading agreed with the expected place.
    mutating func clear() { self.count = 0 }

    /// Counts an outlier. `last` is still the one before it.
    ///
    /// - Parameters:
    ///   - place: where the rider was expected, m on the plane.
    ///   - away: from there to the outlier.
    ///   - now: the time of the outlier, ms.
    ///   - seconds: since the reading before.
    /// - Returns: whether the outliers prove that the rider is not at the expected place.
    mutating func refute(_ place: SIMD2<Double>, by away: SIMD2<Double>, at now: Int64, seconds: Double) -> Bool {
        let side = self.last - place
        if self.count == 0 || (side * away).sum() <= 0 {
            (self.count, self.since) = (1, now - Int64(seconds * 1000))
            return false
        }
        self.count += 1
        return self.count >= Self.proving && now - self.since >= Self.provingMilliseconds
    }
}
