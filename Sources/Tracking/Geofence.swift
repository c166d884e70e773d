// Whether a rider approaches its destination, and whether it seems to have arrived. A circle that is entered and left again
// at the same line would be entered and left by jitter, so the line to leave by is further out; and who drives past a door
// has not arrived at it.

/// What seems to be so; it is for people or for configuration to make it a status.
package enum Proximity: String, Hashable, Sendable, CaseIterable {
    case approaching
    case arrived
    /// It had arrived, or come near, and is away again.
    case left
}

/// One destination, and what a rider's accepted readings say of it.
package struct Geofence: Hashable, Sendable {
    package struct Bounds: Hashable, Sendable {
        /// m to the destination: who comes within the first is near until beyond the second.
        package var nearMeters = 500.0
        package var awayMeters = 700.0
        package var doorMeters = 60.0
        package var outsideMeters = 120.0
        /// ms at the door that are an arrival.
        package var dwellMilliseconds: Int64 = 20_000
        /// m/s: who is faster than this at the door drives past it.
        package var slowMetersPerSecond = 3.0

        package init() {}
    }

    private enum Place: Hashable {
        case away, near
        /// Since when, ms by the phone's clock, and where.
        case door(since: Int64)
        case arrived
    }

    package let destination: Point
    private let bounds: Bounds
    private var place = Place.away
    private var last: Reading?

    package init(destination: Point, bounds: Bounds = Bounds()) {
        (self.destination, self.bounds) = (destination, bounds)
    }

    /// What is so since the last reading that changed it; `nil` while it is away.
    package var current: Proximity? {
        switch self.place {
        case .away: nil
        case .near, .door: .approaching
        case .arrived: .arrived
        }
    }

    /// - Parameter reading: accepted, so newer than the one before.
    /// - Returns: what is so from now on; each once, until it ends.
    package mutating func observe(_ reading: Reading) -> Proximity? {
        let meters = reading.point.meters(to: self.destination)
        let speed = self.speed(reading)
        self.last = reading
        // As exact as the circle, or it can not tell inside from outside.
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

    /// m/s, as the phone says or as the way since the last reading has it.
    private func speed(_ reading: Reading) -> Double {
        if let speed = reading.speedMetersPerSecond { return speed }
        guard let last = self.last, reading.at > last.at else { return 0 }
        return last.point.meters(to: reading.point) / (Double(reading.at - last.at) / 1000)
    }
}
