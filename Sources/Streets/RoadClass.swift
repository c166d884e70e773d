// What a street is: OpenStreetMap's `highway`, or the `class` and `kind` of the schemas that vector tiles use.

/// The class of a street, which decides its usual speeds and who may use it. The raw value is stored in compiled files.
enum RoadClass: UInt8, Sendable, CaseIterable {
    /// A line whose class is not known.
    case street = 0
    case motorway, trunk, primary, secondary, tertiary, unclassified, residential, livingStreet, service
    case pedestrian, track, cycleway, footway, path, steps

    /// - Returns: `nil` for a value that is not a street to travel on, such as `construction` or `platform`.
    init?(highway: String) {
        guard let known = Self.highways[highway] else { return nil }
        self = known
    }

    /// The class of a GeoJSON line.
    ///
    /// - Parameter tags: the properties of the feature that are texts.
    /// - Returns: `nil` for lines that are not streets: railways, rivers, other features such as power lines and walls, and
    ///   `highway` values such as `construction`.
    init?(line tags: [String: String]) {
        if let highway = tags["highway"] {
            self.init(highway: highway)
            return
        }
        guard tags["railway"] == nil, tags["waterway"] == nil else { return nil }
        for key in ["class", "kind"] {
            guard let value = tags[key] else { continue }
            if Self.noStreets.contains(value) { return nil }
            if let known = Self.kinds[value] ?? Self.highways[value] {
                self = known
                return
            }
        }
        guard !Self.otherFeatures.contains(where: { tags[$0] ?? "no" != "no" }) else { return nil }
        self = .street
    }

    /// The class that a map draws: one of `motorway`, `major`, `medium`, `minor` and `path`.
    var mapClass: String {
        switch self {
        case .motorway, .trunk: "motorway"
        case .primary: "major"
        case .secondary, .tertiary: "medium"
        case .street, .unclassified, .residential, .livingStreet, .pedestrian: "minor"
        case .service, .track, .cycleway, .footway, .path, .steps: "path"
        }
    }

    private static let highways: [String: RoadClass] = [
        "motorway": .motorway, "motorway_link": .motorway, "trunk": .trunk, "trunk_link": .trunk,
        "primary": .primary, "primary_link": .primary, "secondary": .secondary, "secondary_link": .secondary,
        "tertiary": .tertiary, "tertiary_link": .tertiary, "unclassified": .unclassified,
        "residential": .residential, "living_street": .livingStreet, "service": .service, "road": .street,
        "pedestrian": .pedestrian, "track": .track, "cycleway": .cycleway, "footway": .footway, "path": .path,
        "bridleway": .path, "steps": .steps,
    ]
    private static let kinds: [String: RoadClass] = [
        "highway": .motorway, "major": .primary, "major_road": .primary, "medium": .tertiary,
        "medium_road": .tertiary, "minor": .residential, "minor_road": .residential, "street": .street,
    ]
    /// Keys of lines that are something other than a street, unless they also have the class of a street:
    /// https://wiki.openstreetmap.org/wiki/Map_features. `emergency` is missing here, because it is also an access key.
    private static let otherFeatures = [
        "aerialway", "aeroway", "amenity", "barrier", "boundary", "building", "craft", "geological", "healthcare",
        "historic", "landuse", "leisure", "man_made", "military", "natural", "office", "place", "power",
        "public_transport", "route", "shop", "telecom", "tourism", "water",
    ]
    private static let noStreets: Set = [
        "rail", "light_rail", "narrow_gauge", "subway", "tram", "transit", "river", "canal", "stream", "ditch", "ferry",
        "construction", "proposed",
    ]
}
