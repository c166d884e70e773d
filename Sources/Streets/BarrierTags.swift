// The kinds of travel that cannot pass a node of a street: OpenStreetMap's barriers as bits of a rule.
// https://wiki.openstreetmap.org/wiki/Key:barrier.

/// A node that stops some kinds of travel.
struct Barrier: Hashable, Sendable {
    /// Bits of `StreetRule`: the directions that end here.
    private(set) var closed: UInt32 = 0
    /// Trucks may only deliver here.
    private(set) var slowsTrucks = false

    /// - Parameter tags: of a node.
    /// - Returns: `nil` if the node stops nobody.
    init?(tags: [String: String]) {
        // Without another tag, `access` describes who may pass only if it forbids passing. On a crossing it describes who may
        // cross the street.
        let isForbidden = tags["highway"] == nil && ["no", "private"].contains(tags["access"])
        guard tags["barrier"] != nil || isForbidden else { return nil }
        let stopped = Self.stopped(by: tags)
        for kind in TravelKind.allCases {
            var isOpen = !stopped.contains(kind)
            for key in Access.keys(kind) {
                guard let value = tags[key] else { continue }
                // A bicycle can be pushed through.
                if let access = value == "dismount" ? .yes : Access(value: value) { isOpen = access != .no }
            }
            if isOpen { continue }
            self.closed |= StreetRule.access(kind, backward: false) | StreetRule.access(kind, backward: true)
        }
        self.slowsTrucks = StreetRule.isClosedToTrucks(tags)
        guard self.closed != 0 || self.slowsTrucks else { return nil }
    }

    /// The kinds of travel that cannot pass, unless the node's own tags say so. Gates, kerbs, cattle grids and unknown barriers
    /// stop nobody.
    private static func stopped(by tags: [String: String]) -> Set<TravelKind> {
        switch tags["barrier"] {
        case "bollard", "block", "cycle_barrier", "motorcycle_barrier", "jersey_barrier", "chain", "rope", "planter",
            "log",
            "debris", "barrier_board", "bus_trap", "sump_buster", "yes":
            [.motor]
        case "kerb" where tags["kerb"] == "raised": [.motor]
        case "stile", "horse_stile", "kissing_gate", "turnstile", "full-height_turnstile": [.motor, .bicycle]
        case "wall", "fence", "hedge", "city_wall", "retaining_wall", "guard_rail": [.motor, .bicycle, .foot]
        default: []
        }
    }

    /// Whether somebody who may use a street cannot pass the node.
    func affects(_ rule: StreetRule) -> Bool { self.passing(rule) != rule || self.slowing(rule) != rule }

    /// The rule of the part of a street that is at the node.
    func passing(_ rule: StreetRule) -> StreetRule { StreetRule(bits: rule.bits & ~self.closed) }

    /// The rule of a street that leads to the node.
    func slowing(_ rule: StreetRule) -> StreetRule {
        let isForCars = rule.allows(.motor, backward: false) || rule.allows(.motor, backward: true)
        return StreetRule(bits: rule.bits | (self.slowsTrucks && isForCars ? StreetRule.noTrucks : 0))
    }
}
