// The map for pages without tiles: a GeoJSON file with streets and possibly areas, validated so that a page can rely on it.
// Pages receive each feature's class, name and geometry, nothing else.

internal import Foundation

/// GeoJSON street files (RFC 7946).
package enum Streets {
    /// Longest name in characters. Longer ones are not drawn.
    package static let longestName = 60

    private struct Collection: Codable {
        var type: String
        /// The attribution that the data's license requires to be shown.
        var attribution: String?
        var features: [Feature]
    }

    private struct Feature: Codable {
        var type = "Feature"
        var properties: Properties
        var geometry: Geometry

        enum CodingKeys: String, CodingKey { case type, properties, geometry }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            // A feature without a geometry is valid GeoJSON.
            self.geometry = try container.decodeIfPresent(Geometry.self, forKey: .geometry) ?? Geometry()
            let texts = try container.decodeIfPresent([String: Text].self, forKey: .properties)?.compactMapValues(
                \.value)
            self.properties = Properties(texts ?? [:], isArea: self.geometry.isArea)
        }
    }

    /// A property that is a text; other types are ignored.
    private struct Text: Decodable {
        var value: String?

        init(from decoder: any Decoder) throws { self.value = try? decoder.singleValueContainer().decode(String.self) }
    }

    private struct Properties: Encodable {
        var `class`: MapClass?
        var name: String?

        init(_ texts: [String: String], isArea: Bool) {
            self.class = isArea ? MapClass(area: texts) : MapClass(line: texts)
            guard let name = texts["name"]?.trimmingCharacters(in: .whitespaces), !name.isEmpty,
                name.count <= Streets.longestName,
                !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return }
            self.name = name
        }
    }

    private struct Geometry: Codable {
        var type = ""
        /// The lines, or the rings of the areas: coordinates by position.
        var lines: [[[Double]]] = []

        enum CodingKeys: String, CodingKey { case type, coordinates }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            switch try container.decode(String.self, forKey: .type) {
            case "LineString":
                (self.type, self.lines) = ("LineString", [try container.decode([[Double]].self, forKey: .coordinates)])
            case "MultiLineString":
                self.lines = try container.decode([[[Double]]].self, forKey: .coordinates)
                self.type = "MultiLineString"
            case "Polygon":
                (self.type, self.lines) = ("Polygon", try container.decode([[[Double]]].self, forKey: .coordinates))
            case "MultiPolygon":
                // All rings form one area, which a map fills by the even-odd rule.
                self.lines = try container.decode([[[[Double]]]].self, forKey: .coordinates).flatMap(\.self)
                self.type = "Polygon"
            default: break
            }
            self.lines = self.lines.map { line in line.map { $0.prefix(2).map(Self.rounded) } }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.type, forKey: .type)
            if self.type == "LineString" {
                try container.encode(self.lines.first ?? [], forKey: .coordinates)
            } else {
                try container.encode(self.lines, forKey: .coordinates)
            }
        }

        var isArea: Bool { self.type == "Polygon" }

        var isDrawable: Bool {
            !self.lines.isEmpty
                && self.lines.joined().allSatisfy { $0.count == 2 && abs($0[0]) <= 180 && abs($0[1]) <= 90 }
        }

        /// Five decimals are a meter, which is less than a pixel.
        private static func rounded(_ degrees: Double) -> Double { (degrees * 100_000).rounded() / 100_000 }
    }

    /// Reads `path` (also `.gz`), a FeatureCollection. Its lines, its areas of water, parks and buildings, their names and the
    /// member `attribution` are used.
    ///
    /// - Returns: compact GeoJSON. Each feature has a `class`, a `MapClass`; a `MultiPolygon` becomes a `Polygon` of all its
    ///   rings.
    package static func load(path: String) throws(JourneyError) -> [UInt8] {
        let data = try RecordingFile.bytes(path)
        guard var collection = try? JSONDecoder().decode(Collection.self, from: data),
            collection.type == "FeatureCollection"
        else { throw .malformed(line: 1, reason: "\(path) is not a GeoJSON FeatureCollection of streets") }
        collection.features.removeAll { !$0.geometry.isDrawable || $0.properties.class == nil }
        guard collection.features.contains(where: { !$0.geometry.isArea }) else {
            throw .malformed(line: 1, reason: "\(path) contains no LineString with longitudes and latitudes")
        }
        guard let bytes = try? JSONEncoder().encode(collection) else {
            throw .malformed(line: 1, reason: "\(path) contains a coordinate that is not finite")
        }
        return Array(bytes)
    }
}
