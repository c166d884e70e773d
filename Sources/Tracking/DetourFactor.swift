// The ratio of the travelled distance to the straight line. It is learned from what riders travel, one kilometre at a
// time, starting from a usual value. A rider who wanders around says little about streets, so no stretch counts with
// more than twice its straight line.

/// The learned ratio for one trip or one town. Ratios can be added up.
package struct DetourFactor: Hashable, Sendable {
    /// The usual ratio, with the weight of this many travelled metres.
    static let usual = 1.4
    static let usualMeters = 20_000.0
    /// Metres travelled before they are compared with the straight line.
    static let stretch = 1000.0
    /// The maximum ratio of one stretch.
    static let largest = 2.0

    private var wayMeters = 0.0
    private var straightMeters = 0.0
    private var from: Point?
    private var last: Point?
    private var covered = 0.0

    package init() {}

    package var factor: Double {
        (self.wayMeters + Self.usual * Self.usualMeters) / (self.straightMeters + Self.usualMeters)
    }

    package mutating func observe(_ point: Point) {
        guard let from = self.from, let last = self.last else {
            (self.from, self.last) = (point, point)
            return
        }
        self.covered += last.meters(to: point)
        self.last = point
        guard self.covered >= Self.stretch else { return }
        self.straightMeters += max(from.meters(to: point), self.covered / Self.largest)
        self.wayMeters += self.covered
        (self.from, self.covered) = (point, 0)
    }

    /// After a silence, the distance in between is unknown and is not learned from.
    package mutating func interrupt() { (self.from, self.last, self.covered) = (nil, nil, 0) }

    /// Adds what another trip has learned.
    package mutating func add(_ other: DetourFactor) {
        self.wayMeters += other.wayMeters
        self.straightMeters += other.straightMeters
    }
}
