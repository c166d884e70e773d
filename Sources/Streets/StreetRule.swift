// The rule of an edge: its class, speed limit and who may use it in which direction, in 32 bits. A search reads it once
// per edge.

/// The kinds of travel that streets distinguish. Components and landmarks are calculated for each.
enum TravelKind: Int, Sendable, CaseIterable {
    case foot = 0
    case bicycle, motor
}

/// Bits 0-3: `RoadClass`. 4-11: speed limit in km/h, 0 for none. 12-17: permitted forward and backward, by kind. 18-20: in a
/// component that is large enough, by kind. 21-23: for local traffic only, by kind. 24: trucks for local traffic only. 25: no
/// mopeds. 26-27: traffic lights at the start, at the end. 28-29: a crossing at the start, at the end. 30-31: a turn
/// restriction at the end in the forward direction, in the backward direction: motor vehicles use a copy of the edge instead.
struct StreetRule: Hashable, Sendable {
    var bits: UInt32

    /// The bits that decide the speed.
    static let speedMask: UInt32 = 0xFFF
    static let noTrucks: UInt32 = 1 << 24
    static let noMopeds: UInt32 = 1 << 25
    static let speedCount = Int(Self.speedMask) + 1

    init(bits: UInt32) { self.bits = bits }

    init(_ road: RoadClass, limit: UInt8 = 0) { self.bits = UInt32(road.rawValue) | UInt32(limit) << 4 }

    var road: RoadClass { RoadClass(rawValue: UInt8(self.bits & 0xF)) ?? .street }
    var limit: UInt8 { UInt8(truncatingIfNeeded: self.bits >> 4) }

    static func access(_ kind: TravelKind, backward: Bool) -> UInt32 {
        1 << UInt32(12 + kind.rawValue * 2 + (backward ? 1 : 0))
    }
    static func connected(_ kind: TravelKind) -> UInt32 { 1 << UInt32(18 + kind.rawValue) }
    static func local(_ kind: TravelKind) -> UInt32 { 1 << UInt32(21 + kind.rawValue) }
    static func lights(atStart: Bool) -> UInt32 { 1 << (atStart ? 26 : 27) }
    static func crossing(atStart: Bool) -> UInt32 { 1 << (atStart ? 28 : 29) }
    static func restricted(backward: Bool) -> UInt32 { 1 << (backward ? 31 : 30) }

    /// The rule of the same street in the other direction, before its ends are marked.
    var reversed: StreetRule {
        let forward = TravelKind.allCases.reduce(0) { $0 | Self.access($1, backward: false) }
        let others = self.bits & ~(forward | forward << 1)
        return StreetRule(bits: others | (self.bits & forward) << 1 | (self.bits >> 1) & forward)
    }

    /// Whether somebody may use the street in some direction.
    var isUsable: Bool { self.bits & (0x3F << 12) != 0 }

    /// Whether the street may be travelled to its end in a direction.
    func allows(_ kind: TravelKind, backward: Bool) -> Bool {
        self.bits & Self.access(kind, backward: backward) != 0
            && (kind != .motor || self.bits & Self.restricted(backward: backward) == 0)
    }

    mutating func set(_ mask: UInt32, _ isSet: Bool = true) {
        if isSet { self.bits |= mask } else { self.bits &= ~mask }
    }
}
