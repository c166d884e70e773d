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

/// What motor vehicles may not do, or must do, when they come from one way to a node. Ids are those of OpenStreetMap.
struct TurnRestriction: Hashable {
    /// Of the relation.
    var id: Int64
    var from: Int64
    var via: Int64
    var to: Int64
    /// Whether `to` is the only way that may follow; otherwise it is the one that must not.
    var isOnly: Bool

    /// The restrictions of a relation: several if it has several ways of one role.
    ///
    /// - Returns: `nil` if the relation forbids a turn that this reader does not know: by way of another way, or without
    ///   all members. An empty array if it forbids nothing, or not to cars, or only at times.
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

    /// Tags of restrictions that apply at times.
    private static let times = ["day_on", "day_off", "hour_on", "hour_off"]
    /// The turns of one relation. No crossing has more.
    private static let maxTurns = 100

    /// - Returns: `nil` if nothing is forbidden to motor vehicles.
    private static func isOnly(_ tags: [String: String]) -> Bool? {
        let value = tags["restriction:motorcar"] ?? tags["restriction:motor_vehicle"] ?? tags["restriction"] ?? ""
        guard !value.contains("@") else { return nil }
        return value.hasPrefix("no_") ? false : value.hasPrefix("only_") ? true : nil
    }
}
