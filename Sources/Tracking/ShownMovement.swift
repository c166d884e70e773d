// The movement that followers see, derived from the fixes that the validator accepted: the filtered place, on its
// street if streets are loaded, with its speed, and with a heading if the phone measured none. Validation always uses
// the fixes themselves.

package import EnrouteWire

/// The movement of one rider as its followers see it.
package struct ShownMovement: Sendable {
    private var filter: PositionFilter
    private var learned = LearnedVehicle()
    private var matcher = StreetMatcher()
    private let streets: (any StreetSource)?
    /// Bounds for every rider, instead of those of its vehicle.
    private let bounds: VehicleBounds?
    private var declared: Vehicle?

    /// - Parameters:
    ///   - bounds: for every rider; `nil` for those of its vehicle.
    ///   - streets: `nil` if none are loaded.
    package init(bounds: VehicleBounds? = nil, streets: (any StreetSource)? = nil) {
        (self.bounds, self.streets) = (bounds, streets)
        self.filter = PositionFilter(bounds ?? .of(nil))
    }

    /// The declared vehicle, or else the one that was learned; `nil` while both are unknown.
    package var vehicle: Vehicle? { self.declared ?? self.learned.vehicle }

    /// - Parameter vehicle: as the service declared it; `nil` if unknown.
    package mutating func setVehicle(_ vehicle: Vehicle?) {
        self.declared = vehicle
        self.filter.setBounds(self.bounds ?? .of(self.vehicle))
    }

    /// Forgets the movement: the next fix is shown where it is.
    package mutating func reset() {
        self.filter.reset()
        self.matcher.reset()
    }

    /// Of many fixes that are shown at once, only this number of the newest is matched to streets: each match costs far
    /// more than the filter, and followers see only the last one. They suffice to tell one street from another.
    package static let mostMatched = 5

    /// - Parameters:
    ///   - fix: accepted, with the time and the speed that the validator corrected.
    ///   - isAnew: the marker jumps to the fix.
    ///   - isMatched: whether it is matched to a street (`mostMatched`).
    /// - Returns: the fix that followers see.
    package mutating func show(_ fix: Fix, isAnew: Bool, isMatched: Bool = true) -> Fix {
        if isAnew { self.matcher.reset() }
        let estimate = self.filter.observe(Reading(fix), heading: fix.headingDegrees, isAnew: isAnew)
        self.learn(
            from: Reading(
                at: fix.at, point: estimate.point, accuracyMeters: fix.accuracyMeters,
                speedMetersPerSecond: estimate.speedMetersPerSecond))
        var (point, isSnapped) = (estimate.point, false)
        if isMatched, let streets, let match = self.matcher.match(estimate, at: fix.at, by: self.vehicle, on: streets) {
            (point, isSnapped) = (match, true)
        }
        var shown = fix
        if let place = Coordinate(latitude: point.latitude, longitude: point.longitude) {
            (shown.place, shown.isSnapped) = (place, isSnapped)
        }
        shown.isMocked = false
        if let speed = estimate.speedMetersPerSecond { shown.speedMetersPerSecond = min(speed, Self.fastest) }
        // The heading that a phone reports while it hardly moves is noise.
        let told = fix.speedMetersPerSecond ?? .infinity
        if shown.headingDegrees == nil || told < PositionFilter.headingSpeed {
            shown.headingDegrees = estimate.headingDegrees
        }
        return shown
    }

    private mutating func learn(from shown: Reading) {
        let before = self.learned.vehicle
        self.learned.observe(shown)
        if self.learned.vehicle != before { self.setVehicle(self.declared) }
    }

    /// m/s: the fastest speed that a message contains.
    private static let fastest = 340.0
}
