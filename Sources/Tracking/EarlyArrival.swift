// The arrival at a delivery before its rider is on the way: while the order is prepared, picked up and carried to the
// customer. There is no position to calculate from. The estimate is based on the status, on how long the steps usually take,
// and on the distance from the shop. Every reader of the job calculates the same result, so nothing is stored. The rider's
// position is not used, so the estimate cannot reveal it.

package import EnrouteWire

/// The known facts about a delivery before its rider sends positions.
package struct EarlyArrival: Hashable, Sendable {
    package struct Settings: Hashable, Sendable {
        /// Whether there is an estimate at all.
        package var isOn = true
        /// Seconds from the acceptance until the order is ready.
        package var preparationSeconds = 900.0
        /// Seconds from then until the rider leaves with it.
        package var pickupSeconds = 300.0

        package init() {}

        /// No estimate.
        package static var off: Settings {
            var settings = Settings()
            settings.isOn = false
            return settings
        }
    }

    /// While a step takes longer than usual, the arrival is postponed by this many seconds at a time.
    static let postponement = 300.0
    /// ms by which the time of a status may be ahead of this clock. An estimate never starts in the future.
    static let furthestAhead: Int64 = 30_000
    /// Seconds. After a longer delay, a step says nothing about the arrival.
    static let longestDelay = 10_800.0
    /// Seconds. No later arrival is estimated.
    static let longest = 43_200.0
    /// The duration of the remaining steps, as multiples of the usual one, that the range covers. This is an assumption; it
    /// was not measured.
    static let stepRange = 0.5...2.0

    package private(set) var status: JobStatus
    /// ms since the epoch
    package private(set) var statusAt: Int64
    /// ms since the epoch; `nil` if it is unknown. Preparation counts from then.
    private var acceptedAt: Int64?
    private let vendor: Point
    private let destination: Point
    package var vehicle: Vehicle?
    /// ms since the epoch. The order is not delivered before the promised time.
    private let promisedFrom: Int64?
    private let settings: Settings

    package init(
        status: JobStatus, since statusAt: Int64, acceptedAt: Int64? = nil, from vendor: Coordinate,
        to destination: Coordinate,
        vehicle: Vehicle?, promisedFrom: Int64?, settings: Settings
    ) {
        (self.status, self.statusAt, self.vehicle) = (status, statusAt, vehicle)
        self.acceptedAt = status == .accepted ? statusAt : acceptedAt
        (self.vendor, self.destination) = (Point(vendor), Point(destination))
        (self.promisedFrom, self.settings) = (promisedFrom, settings)
    }

    package mutating func move(to status: JobStatus, at time: Int64) {
        (self.status, self.statusAt) = (status, time)
        if status == .accepted { self.acceptedAt = time }
    }

    /// When the current step started, ms since the epoch. If the acceptance no longer says anything, for example because the
    /// order was accepted for the evening, the start of its preparation counts.
    private func stepBegan(seconds steps: Double, wall: Int64) -> Int64 {
        guard self.status == .preparing, let acceptedAt, (0...self.statusAt).contains(acceptedAt),
            Double(wall - acceptedAt) / 1000 - steps <= Self.longestDelay
        else { return self.statusAt }
        return acceptedAt
    }

    /// Usual seconds from the start of the status until the rider leaves; `nil` when that cannot be known.
    private var stepSeconds: Double? {
        switch self.status {
        case .accepted, .preparing: self.settings.preparationSeconds + self.settings.pickupSeconds
        case .readyForPickup: self.settings.pickupSeconds
        case .inTransit: 0
        default: nil
        }
    }

    /// The estimate at a time. It changes only when the status does, and every `postponement` while the order is late.
    ///
    /// - Parameter wall: ms since the epoch.
    /// - Returns: `nil` if nothing is known about the arrival.
    package func estimate(wall: Int64) -> ArrivalEstimate? {
        guard self.settings.isOn, let steps = self.stepSeconds, Fix.times.contains(self.statusAt),
            Fix.times.contains(wall)
        else { return nil }
        let estimator = TravelEstimator(vehicle: self.vehicle)
        let travel = estimator.seconds(from: self.vendor, to: self.destination)
        // The next event: the rider leaves, or arrives.
        let next = steps > 0 ? steps : travel
        guard next <= Self.longest else { return nil }
        let began = self.stepBegan(seconds: steps, wall: wall)
        let late = Double(wall - began) / 1000 - next
        guard late <= Self.longestDelay else { return nil }
        let postponements = late < 0 ? 0 : (late / Self.postponement).rounded(.down) + 1
        // From `since`, the next event is expected in `rest` seconds.
        let since = postponements == 0 ? 0 : next + (postponements - 1) * Self.postponement
        let rest = next + postponements * Self.postponement - since
        let (step, way) = steps > 0 ? (rest, travel) : (0, rest)
        let range = estimator.range(ofSeconds: way)
        return self.estimate(
            since: began + Int64(since * 1000), wall: wall, seconds: step + way,
            range: step * Self.stepRange.lowerBound + range.lowerBound...step * Self.stepRange.upperBound
                + range.upperBound)
    }

    private func estimate(
        since at: Int64, wall: Int64, seconds: Double, range: ClosedRange<Double>
    ) -> ArrivalEstimate? {
        let early = self.promisedFrom.map { (Double($0) - Double(at)) / 1000 - seconds } ?? 0
        let shift = max(0, early)
        // The order is for another day.
        guard range.upperBound + shift <= Self.longest else { return nil }
        func time(_ seconds: Double) -> Int64 { at + Int64((seconds + shift).rounded()) * 1000 }
        let arrivesAt = time(seconds)
        let calculatedAt = at <= wall ? at : max(0, at - Self.furthestAhead)
        return ArrivalEstimate(
            state: .ok, arrivesAt: arrivesAt, seconds: (arrivesAt - calculatedAt) / 1000, source: Self.source,
            confidence: .low, at: calculatedAt, earliestAt: time(min(range.lowerBound, seconds)),
            latestAt: time(max(range.upperBound, seconds)))
    }

    /// The built-in estimator.
    private static let source = "built_in"
}
