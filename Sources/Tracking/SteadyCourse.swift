// Predicts where a rider would be if they had kept their course and speed. Some loggers stall for up to 20 s and then catch
// up with a jump that looks impossible. Such a jump ends where the course leads; a wrong place hardly ever does.

/// The course of a rider, from the readings that were accepted.
struct SteadyCourse: Hashable, Sendable {
    private var from = Point(latitude: 0, longitude: 0)
    /// ms; `nil` without a course.
    private var at: Int64?
    /// m/s, east and north.
    private var velocity = SIMD2<Double>()

    /// ms. An older course proves nothing.
    private static let longest: Int64 = 20_000
    /// ms. Two readings that are further apart define no course.
    private static let longestStep: Int64 = 5_000
    /// m/s. Slower riders do not need a course to be accepted, and no rider is faster.
    private static let speeds = 8.0...100.0
    /// m. A less accurate reading says nothing about the course.
    private static let widestAccuracy = 50.0
    /// The accepted deviation from the course: meters, plus a share of the distance.
    private static let (leeway, share) = (50.0, 0.2)
    /// m. The same deviation for a reading that confirms the course. A stuck logger does not confirm it.
    private static let confirming = 10.0
    /// The weight of the newest step in the velocity.
    private static let newest = 0.5

    /// Whether a reading is where the course leads.
    func leads(to reading: Reading) -> Bool { self.leads(to: reading, leeway: Self.leeway) }

    private func leads(to reading: Reading, leeway: Double) -> Bool {
        guard let at, case let milliseconds = reading.at - at, milliseconds <= Self.longest, Self.isAccurate(reading)
        else { return false }
        let way = self.velocity * (Double(milliseconds) / 1000)
        let off = LocalPlane(self.from).offset(of: reading.point) - way
        let allowed = leeway + Self.share * (way * way).sum().squareRoot()
        return (off * off).sum() <= allowed * allowed
    }

    /// - Parameter before: the reading that was accepted before.
    mutating func observe(from before: Reading, to reading: Reading) {
        let isOnCourse = self.leads(to: reading, leeway: Self.confirming)
        // A stalled logger leaves the course for a while, so readings off the course neither confirm nor replace it.
        if let at, !isOnCourse, reading.at - at <= Self.longest { return }
        let (point, start) = isOnCourse ? (self.from, self.at ?? before.at) : (before.point, before.at)
        let milliseconds = reading.at - start
        guard milliseconds > 0, isOnCourse || milliseconds <= Self.longestStep, Self.isAccurate(before),
            Self.isAccurate(reading)
        else { return self.at = nil }
        let step = LocalPlane(point).offset(of: reading.point) / (Double(milliseconds) / 1000)
        let velocity = isOnCourse ? self.velocity + (step - self.velocity) * Self.newest : step
        let isCourse = Self.speeds.contains((velocity * velocity).sum().squareRoot())
        (self.from, self.at, self.velocity) = (reading.point, isCourse ? reading.at : nil, velocity)
    }

    private static func isAccurate(_ reading: Reading) -> Bool { reading.accuracyMeters ?? 0 <= self.widestAccuracy }
}
