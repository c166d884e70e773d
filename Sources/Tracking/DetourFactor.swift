// How much longer the way is than the straight line. Streets of one town bend alike, so it is learned from the way riders
// take over a kilometre at a time, beginning with what is usual; a rider that wanders about says little about streets,
// so no stretch counts with more than twice its line.

/// Way over straight line, learned. One for a rider's trip, or one for a town: they add up.
package struct DetourFactor: Hashable, Sendable {
    /// What is usual where nothing is known, as if so many metres had been travelled.
    static let usual = 1.4
    static let usualMeters = 20_000.0
    /// m of way that are compared with their line.
    static let stretch = 1000.0
    /// A stretch counts with no more than this.
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

    /// What is not known of the way between is not learned from: after a silence.
    package mutating func interrupt() { (self.from, self.last, self.covered) = (nil, nil, 0) }

    /// What another trip has learned counts here too.
    package mutating func add(_ other: DetourFactor) {
        self.wayMeters += other.wayMeters
        self.straightMeters += other.straightMeters
    }
}
