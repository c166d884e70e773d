// Decides how often a rider's phone should report. Between two reports, the marker lags by the distance that the rider
// travels. The interval follows from the acceptable lag: large far away, small close to the destination, unlimited
// while nobody follows. Reports use battery, so the interval is longer for a rider who stands still and for a low
// battery.

/// The interval that one phone was asked to use, and when to change it.
package struct ReportRate: Hashable, Sendable {
    /// The inputs for choosing the interval.
    package struct Circumstances: Hashable, Sendable {
        /// Whether somebody follows one of the rider's jobs.
        package var isFollowed: Bool
        /// The straight-line distance to the nearest destination, in m; `nil` if none is known.
        package var metersToGo: Double?
        package var speedMetersPerSecond: Double
        /// 0 to 100; `nil` if unknown or charging.
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

    /// The possible intervals in seconds. With the longest, a position becomes stale when two reports in a row are
    /// lost.
    package static let steps = [1.0, 2, 3, 5, 8, 12, 20]
    /// The longest intervals in seconds while somebody follows and the battery is not low: for a rider who moves, and for one
    /// that rests. A marker is wrong until the report after a rider sets off, turns or stops. With 2 s it stands still for
    /// less than 2 % of the time that the rider moves, with 5 s for more than 5 % (benchmarks/results/tracking.md).
    static let longestMoving = 2.0
    static let longestResting = 3.0
    /// m/s: a slower rider rests.
    static let restingSpeed = 0.4
    /// The acceptable lag: a share of the remaining distance, within these bounds in m.
    static let errorShare = 0.02
    static let errorMeters = 12.0...60.0
    /// A standing rider may start at any time, so at least this speed is assumed, in m/s.
    static let leastSpeed = 2.0
    /// Battery percentages at which the interval is doubled, and doubled again.
    static let lowBattery = 20
    static let emptyBattery = 8
    /// A longer interval is requested only after it was right this many times in a row; a shorter one immediately.
    static let patience = 5
    /// The same for the interval of a rider who rests: about two minutes. Traffic lights are shorter.
    static let restingPatience = 60

    /// Index into `steps`.
    private var step: Int?
    private var longerInARow = 0

    package init() {}

    /// The requested interval in seconds; `nil` before the first request.
    package var interval: Double? { self.step.map { Self.steps[$0] } }

    /// - Returns: the new interval to request, in seconds; `nil` if the current one is right.
    package mutating func observe(_ circumstances: Circumstances) -> Double? {
        let wanted = Self.step(for: circumstances)
        guard let step = self.step else {
            self.step = wanted
            return Self.steps[wanted]
        }
        if wanted > step {
            self.longerInARow += 1
            let isForRest = circumstances.isFollowed && circumstances.speedMetersPerSecond < Self.restingSpeed
            guard self.longerInARow >= (isForRest ? Self.restingPatience : Self.patience) else { return nil }
        }
        self.longerInARow = 0
        guard wanted != step else { return nil }
        self.step = wanted
        return Self.steps[wanted]
    }

    /// The longest interval within the acceptable lag.
    private static func step(for circumstances: Circumstances) -> Int {
        var seconds = Self.steps[Self.steps.count - 1]
        if circumstances.isFollowed {
            let error = Self.within(Self.errorMeters, (circumstances.metersToGo ?? .infinity) * Self.errorShare)
            let rests = circumstances.speedMetersPerSecond < Self.restingSpeed
            seconds = min(
                rests ? Self.longestResting : Self.longestMoving,
                error / max(circumstances.speedMetersPerSecond, Self.leastSpeed))
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
