// Who may use a street, in which direction and how fast: OpenStreetMap's tags as a rule.
// https://wiki.openstreetmap.org/wiki/Key:access and Key:oneway.

extension StreetRule {
    /// - Parameter tags: of a way, or the properties of a GeoJSON line.
    /// - Returns: `nil` if the line is not a street, or if nobody may use it.
    init?(tags: [String: String]) {
        guard tags["area"] != "yes", let road = RoadClass(line: tags) else { return nil }
        self.init(road, limit: Self.limit(tags, road))
        let direction = Direction(tags, road)
        for kind in TravelKind.allCases {
            let access = Access(tags, kind, road)
            guard access != .no else { continue }
            let direction = direction.of(kind, tags)
            self.set(Self.access(kind, backward: false), direction != .backward)
            self.set(Self.access(kind, backward: true), direction != .forward)
            self.set(Self.local(kind), access == .local)
        }
        self.set(Self.noMopeds, road == .motorway || tags["motorroad"] == "yes" || tags["moped"] == "no")
        // A truck may have to deliver on a street that is closed to trucks in general.
        self.set(Self.noTrucks, Self.isClosedToTrucks(tags))
        guard self.isUsable else { return nil }
    }

    static func isClosedToTrucks(_ tags: [String: String]) -> Bool {
        tags["hgv"].flatMap(Access.init(value:)).map { $0 != .yes } ?? false
    }

    /// The speed limit in km/h, 0 if no tag contains one.
    private static func limit(_ tags: [String: String], _ road: RoadClass) -> UInt8 {
        if let text = tags["maxspeed"] {
            if text == "walk" || text.hasSuffix(":living_street") || text.hasSuffix(":walk") { return 7 }
            if text.hasSuffix(":urban") { return 50 }
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            if digits.count <= 3, let value = Int(digits), value > 0 {
                return UInt8(min(254, text.hasSuffix("mph") ? value * 1609 / 1000 : value))
            }
        }
        // Motorway links are curved, so traffic is slow there.
        return road == .motorway && tags["highway"]?.hasSuffix("_link") == true ? 60 : 0
    }
}

/// Whether a kind of travel may use a street.
enum Access {
    case yes, local, no

    init(_ tags: [String: String], _ kind: TravelKind, _ road: RoadClass) {
        let isUsual = Self.usual(kind, road) && !(kind != .motor && tags["motorroad"] == "yes")
        self = isUsual ? .yes : .no
        for key in Self.keys(kind) {
            guard let access = tags[key].flatMap(Self.init(value:)) else { continue }
            // A general permission does not open a street to a kind of travel that the street is not built for.
            guard access == .no || isUsual || (key != "access" && key != "vehicle") else { continue }
            self = access
        }
    }

    /// The access keys that apply to a kind of travel, the most general first.
    static func keys(_ kind: TravelKind) -> [String] {
        switch kind {
        case .foot: ["access", "foot"]
        case .bicycle: ["access", "vehicle", "bicycle"]
        case .motor: ["access", "vehicle", "motor_vehicle", "motorcar"]
        }
    }

    /// Parses a value. Several values are separated by semicolons: members of any of these groups may use the street.
    ///
    /// - Returns: `nil` for an unknown value, which has no effect.
    init?(value: String) {
        let groups = value.split(separator: ";").map { $0.drop { $0 == " " } }
        if groups.contains(where: { Self.open.contains(String($0)) }) {
            self = .yes
        } else if groups.contains(where: { Self.localTraffic.contains(String($0)) }) {
            self = .local
        } else if groups.contains(where: { Self.closed.contains(String($0)) }) {
            self = .no
        } else {
            return nil
        }
    }

    private static let open: Set = ["yes", "designated", "permissive", "official"]
    private static let localTraffic: Set = ["destination", "customers", "delivery", "residents"]
    /// Values that forbid access, and groups that riders do not belong to.
    private static let closed: Set = [
        "no", "private", "restricted", "use_sidepath", "dismount", "permit", "agricultural", "forestry", "military",
        "emergency", "psv", "bus", "school_bus", "tourist_bus", "coach", "taxi", "share_taxi", "hov", "carpool",
        "employees", "staff", "members", "authorized", "license", "tram", "maintenance",
    ]

    private static func usual(_ kind: TravelKind, _ road: RoadClass) -> Bool {
        switch (kind, road) {
        case (.foot, .motorway), (.bicycle, .motorway), (.bicycle, .steps), (.bicycle, .footway): false
        case (.foot, _), (.bicycle, _): true
        case (.motor, .pedestrian), (.motor, .track), (.motor, .cycleway), (.motor, .footway), (.motor, .path),
            (.motor, .steps):
            false
        case (.motor, _): true
        }
    }
}

private enum Direction {
    case both, forward, backward

    init(_ tags: [String: String], _ road: RoadClass) {
        switch tags["oneway"] {
        case "yes", "true", "1": self = .forward
        case "-1", "reverse": self = .backward
        case .some: self = .both
        case nil:
            let isImplied = road == .motorway || ["roundabout", "circular"].contains(tags["junction"])
            self = isImplied ? .forward : .both
        }
    }

    func of(_ kind: TravelKind, _ tags: [String: String]) -> Direction {
        switch kind {
        case .motor: return self
        // One-way rules apply to vehicles only.
        case .foot: return tags["oneway:foot"] == "yes" ? self : .both
        case .bicycle:
            let isOpposite = ["cycleway", "cycleway:left", "cycleway:right", "cycleway:both"].contains {
                tags[$0]?.hasPrefix("opposite") == true
            }
            switch tags["oneway:bicycle"] {
            case "no": return .both
            case "yes": return self == .both ? .forward : self
            case "-1": return .backward
            default: return isOpposite ? .both : self
            }
        }
    }
}
