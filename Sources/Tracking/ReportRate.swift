// How often a rider's phone is asked to report. What a follower sees between two reports is wrong by the way travelled
// since the first of them, so the interval follows from the error that does not matter: much of it far away, little at the
// door, and any while nobody looks. A report costs battery; standing still, or with an empty battery, there are fewer.

/// The interval one phone was last asked for, and when to ask for another.
package struct ReportRate: Hashable, Sendable {
    /// What the interval is chosen by.
    package struct Circumstances: Hashable, Sendable {
        /// Somebody follows one of the rider's jobs.
        package var isFollowed: Bool
        /// m, straight, to the nearest destination; `nil` when none is known.
        package var metersToGo: Double?
        package var speedMetersPerSecond: Double
        /// 0 to 100; `nil` when not known or charging.
        package var batteryPercent: Int?

        package init(
            isFollowed: Bool, metersToGo: Double?, speedMetersPerSecond: Double, batteryPercent: Int? = nil
        ) {
            self.isFollowed = isFollowed
            self.metersToGo = metersToGo
            self.speedMetersPerSecond = speedMetersPerSecond
            self.batteryPercent = batteryPercent
        }
    }

    /// Seconds, from the shortest interval there is to the longest: with it two in a row may not come before a position
    /// is called old.
    package static let steps = [1.0, 2, 3, 5, 8, 12, 20]
    /// The longest while somebody follows, with a battery that is neither low nor empty, s.
    static let longestFollowed = 8.0
    /// The error that does not matter: so much of the way to go, and within these bounds, m.
    static let errorShare = 0.02
    static let errorMeters = 12.0...60.0
    /// Who stands may set off: reckoned to go at least so fast, m/s.
    static let leastSpeed = 2.0
    /// Percent from which on intervals double, and double again.
    static let lowBattery = 20
    static let emptyBattery = 8
    /// A longer interval is asked for when it has been right so many times in a row; a shorter one at once.
    static let patience = 5

    /// Index into `steps`.
    private var step: Int?
    private var longerInARow = 0

    package init() {}

    /// Seconds; `nil` until the phone was asked.
    package var interval: Double? { self.step.map { Self.steps[$0] } }

    /// - Returns: seconds to ask the phone for; `nil` when it goes by the right interval already.
    package mutating func observe(_ circumstances: Circumstances) -> Double? {
        let wanted = Self.step(for: circumstances)
        guard let step = self.step else {
            self.step = wanted
            return Self.steps[wanted]
        }
        if wanted > step {
            self.longerInARow += 1
            guard self.longerInARow >= Self.patience else { return nil }
        }
        self.longerInARow = 0
        guard wanted != step else { return nil }
        self.step = wanted
        return Self.steps[wanted]
    }

    /// The longest of the steps that is within the error.
    private static func step(for circumstances: Circumstances) -> Int {
        var seconds = Self.steps[Self.steps.count - 1]
        if circumstances.isFollowed {
            let error = Self.within(Self.errorMeters, (circumstances.metersToGo ?? .infinity) * Self.errorShare)
            seconds = min(Self.longestFollowed, error / max(circumstances.speedMetersPerSecond, Self.leastSpeed))
            switch circumstances.batteryPercent {
            case .some(...Self.emptyBattery): seconds *= 4
            case .some(...Self.lowBattery): seconds *= 2
            default: break
            }
        }
        return Self.steps.lastIndex { $0 <= seconds } ?? 0
    }

    private static func within(_ bounds: ClosedRange<Double>, _ value: Double) -> Double {
        min(bounds.upperBound, max(bounds.lowerBound, value))
    }
}
