// Detects when a rider approaches the destination and when it seems to have arrived. The radius for leaving is larger
// than the one for entering, so jitter does not enter and leave repeatedly. A rider who drives past the door has not
// arrived.

/// The proximity that the location suggests. It changes no status.
package enum Proximity: String, Hashable, Sendable, CaseIterable {
    case approaching
    case arrived
    /// Away again, after it was approaching or had arrived.
    case left
}

/// The geofence of one destination.
package struct Geofence: Hashable, Sendable {
    package struct Bounds: Hashable, Sendable {
        /// Meters to the destination. A rider is near from the first distance until beyond the second.
        package var nearMeters = 500.0
        package var awayMeters = 700.0
        package var doorMeters = 60.0
        package var outsideMeters = 120.0
        /// Milliseconds at the door that count as an arrival.
        package var dwellMilliseconds: Int64 = 20_000
        /// m/s. A faster rider at the door is driving past.
        package var slowMetersPerSecond = 3.0

        package init() {}
    }

    private enum Place: Hashable {
        case away, near
        /// Since when, ms by the phone's clock.
        case door(since: Int64)
        case arrived
    }

    package let destination: Point
    private let bounds: Bounds
    private var place: Place
    private var last: Reading?

    /// - Parameter proximity: the last one that was reported, by whichever geofence; `nil` for none.
    package init(destination: Point, proximity: Proximity? = nil, bounds: Bounds = Bounds()) {
        (self.destination, self.bounds) = (destination, bounds)
        self.place =
            switch proximity {
            case .approaching: .near
            case .arrived: .arrived
            case .left, nil: .away
            }
    }

    /// The current proximity; `nil` while the rider is away.
    package var current: Proximity? {
        switch self.place {
        case .away: nil
        case .near, .door: .approaching
        case .arrived: .arrived
        }
    }

    /// Observes an accepted reading, which is newer than the one before.
    ///
    /// - Returns: the new proximity when it changed, otherwise `nil`.
    package mutating func observe(_ reading: Reading) -> Proximity? {
        let meters = reading.point.meters(to: self.destination)
        let speed = self.speed(reading)
        self.last = reading
        // A reading less accurate than the radius cannot distinguish inside from outside.
        let isAtDoor = meters <= self.bounds.doorMeters && (reading.accuracyMeters ?? 0) <= self.bounds.doorMeters
        switch self.place {
        case .away:
            guard meters <= self.bounds.nearMeters else { return nil }
            self.place = isAtDoor && speed <= self.bounds.slowMetersPerSecond ? .door(since: reading.at) : .near
            return .approaching
        case .near:
            if meters > self.bounds.awayMeters {
                self.place = .away
                return .left
            }
            if isAtDoor, speed <= self.bounds.slowMetersPerSecond { self.place = .door(since: reading.at) }
            return nil
        case .door(let since):
            guard meters <= self.bounds.outsideMeters else {
                self.place = .near
                return nil
            }
            guard reading.at - since >= self.bounds.dwellMilliseconds else { return nil }
            self.place = .arrived
            return .arrived
        case .arrived:
            guard meters > self.bounds.awayMeters else { return nil }
            self.place = .away
            return .left
        }
    }

    /// The speed in m/s, as reported by the phone or computed from the last reading.
    private func speed(_ reading: Reading) -> Double {
        if let speed = reading.speedMetersPerSecond { return speed }
        guard let last = self.last, reading.at > last.at else { return 0 }
        return last.point.meters(to: reading.point) / (Double(reading.at - last.at) / 1000)
    }
}
