// Turns that signs forbid, as OpenStreetMap's relations describe them:
// https://wiki.openstreetmap.org/wiki/Relation:restriction.

/// A relation of an extract.
struct OSMRelation {
    enum MemberKind: UInt64 {
        case node = 0
        case way, relation
    }

    struct Member {
        var role: String
        var kind: MemberKind
        var id: Int64
    }

    var id: Int64
    var tags: [String: String]
    var members: [Member]
}

/// A turn that motor vehicles must not make, or the only one they may make, from one way at a node. Ids are those of
/// OpenStreetMap.
struct TurnRestriction: Hashable {
    /// Of the relation.
    var id: Int64
    var from: Int64
    var via: Int64
    var to: Int64
    /// Whether `to` is the only way that may follow. Otherwise it is the way that must not follow.
    var isOnly: Bool

    /// The restrictions of a relation: several if it has several ways of one role.
    ///
    /// - Returns: `nil` if this reader does not support the restriction: it passes along other ways, or members are missing.
    ///   An empty array if it forbids nothing, does not apply to cars, or applies only at certain times.
    static func all(in relation: OSMRelation) -> [TurnRestriction]? {
        let tags = relation.tags
        guard tags["type"] == "restriction", let isOnly = self.isOnly(tags),
            !self.times.contains(where: { tags[$0] != nil })
        else { return [] }
        let exceptions = tags["except"]?.split(separator: ";").map { $0.filter { $0 != " " } } ?? []
        guard !exceptions.contains("motorcar"), !exceptions.contains("motor_vehicle") else { return [] }
        func ids(_ role: String, _ kind: OSMRelation.MemberKind) -> [Int64] {
            relation.members.filter { $0.role == role && $0.kind == kind }.map(\.id)
        }
        let (from, via, to) = (ids("from", .way), ids("via", .node), ids("to", .way))
        guard !from.isEmpty, !to.isEmpty, via.count == 1, ids("via", .way).isEmpty,
            from.count * to.count <= self.maxTurns
        else { return nil }
        return from.flatMap { from in
            to.map { TurnRestriction(id: relation.id, from: from, via: via[0], to: $0, isOnly: isOnly) }
        }
    }

    /// Tags of restrictions that apply only at certain times.
    private static let times = ["day_on", "day_off", "hour_on", "hour_off"]
    /// The maximum number of turns in one relation. No crossing has more.
    private static let maxTurns = 100

    /// - Returns: `nil` if nothing is forbidden to motor vehicles.
    private static func isOnly(_ tags: [String: String]) -> Bool? {
        let value = tags["restriction:motorcar"] ?? tags["restriction:motor_vehicle"] ?? tags["restriction"] ?? ""
        guard !value.contains("@") else { return nil }
        return value.hasPrefix("no_") ? false : value.hasPrefix("only_") ? true : nil
    }
}
