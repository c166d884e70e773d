// The class of a line or an area in a street file, for a map without tiles. Files from different sources use different
// properties: OpenStreetMap's own tags, or the `class` and `kind` of the schemas that vector tiles use.

/// How a map draws a feature.
package enum MapClass: String, Codable, Sendable, CaseIterable {
    // Lines.
    case motorway, major, medium, minor, path, rail, river
    // Areas.
    case water, park, building

    /// The class of a line; a line without a known class is a minor street.
    ///
    /// - Parameter properties: the properties of the feature that are texts.
    package init(line properties: [String: String]) {
        self = Self.lineKeys.lazy.compactMap { key in properties[key].flatMap { Self.lines[$0] } }.first ?? .minor
    }

    /// - Returns: `nil` for an area that is not drawn, such as a residential one.
    package init?(area properties: [String: String]) {
        if let building = properties["building"], building != "no" {
            self = .building
            return
        }
        guard let known = Self.areaKeys.lazy.compactMap({ key in properties[key].flatMap { Self.areas[$0] } }).first
        else { return nil }
        self = known
    }

    private static let lineKeys = ["highway", "railway", "waterway", "class", "kind"]
    private static let areaKeys = ["natural", "water", "waterway", "leisure", "landuse", "class", "kind"]

    private static let lines = Self.table([
        .motorway: ["motorway", "motorway_link", "trunk", "trunk_link", "highway"],
        .major: ["major", "primary", "primary_link", "major_road"],
        .medium: ["medium", "medium_road", "secondary", "secondary_link", "tertiary", "tertiary_link"],
        .minor: [
            "minor", "minor_road", "residential", "living_street", "unclassified", "pedestrian", "street", "road",
        ],
        .path: ["path", "service", "footway", "cycleway", "steps", "track", "bridleway", "corridor"],
        .rail: ["rail", "light_rail", "narrow_gauge", "subway", "tram", "transit"],
        .river: ["river", "canal", "stream", "ditch"],
    ])

    private static let areas = Self.table([
        .water: ["water", "bay", "riverbank", "dock", "basin", "reservoir", "lake", "pond", "river", "canal", "ocean"],
        .park: [
            "park", "garden", "golf_course", "nature_reserve", "playground", "pitch", "wood", "scrub", "grassland",
            "heath",
            "grass", "forest", "meadow", "recreation_ground", "village_green", "cemetery", "allotments", "orchard",
        ],
        .building: ["building", "buildings"],
    ])

    private static func table(_ names: [MapClass: [String]]) -> [String: MapClass] {
        Dictionary(uniqueKeysWithValues: names.flatMap { known, names in names.map { ($0, known) } })
    }
}
