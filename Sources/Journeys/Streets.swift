// Streets for maps without tiles: a GeoJSON file, validated so that a page can rely on it.

internal import Foundation

/// GeoJSON street files (RFC 7946).
package enum Streets {
    private struct Collection: Codable {
        var type: String
        /// The attribution that the data's licence requires to be shown.
        var attribution: String?
        var features: [Feature]
    }

    private struct Feature: Codable {
        var type = "Feature"
        var properties: [String: String] = [:]
        var geometry: Geometry

        enum CodingKeys: String, CodingKey { case type, properties, geometry }

        init(from decoder: any Decoder) throws {
            // The names and classes of streets are not drawn, so customers do not download them.
            self.geometry = try decoder.container(keyedBy: CodingKeys.self).decode(Geometry.self, forKey: .geometry)
        }
    }

    private struct Geometry: Codable {
        var type: String
        var line: [[Double]]?
        var lines: [[[Double]]]?

        enum CodingKeys: String, CodingKey { case type, coordinates }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.type = try container.decode(String.self, forKey: .type)
            switch self.type {
            case "LineString": self.line = try container.decode([[Double]].self, forKey: .coordinates)
            case "MultiLineString": self.lines = try container.decode([[[Double]]].self, forKey: .coordinates)
            default: break
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.type, forKey: .type)
            if let line { try container.encode(line, forKey: .coordinates) }
            if let lines { try container.encode(lines, forKey: .coordinates) }
        }

        var isDrawable: Bool {
            let all = (self.lines ?? []) + (self.line.map { [$0] } ?? [])
            return !all.isEmpty
                && all.joined().allSatisfy { $0.count >= 2 && abs($0[0]) <= 180 && abs($0[1]) <= 90 }
        }
    }

    /// Reads `path` (also `.gz`): a FeatureCollection, of which only the lines and `attribution` are kept.
    ///
    /// - Returns: compact GeoJSON.
    package static func load(path: String) throws(JourneyError) -> [UInt8] {
        let data = try RecordingFile.bytes(path)
        guard var collection = try? JSONDecoder().decode(Collection.self, from: data),
            collection.type == "FeatureCollection"
        else { throw .malformed(line: 1, reason: "\(path) is not a GeoJSON FeatureCollection of streets") }
        collection.features.removeAll { !$0.geometry.isDrawable }
        guard !collection.features.isEmpty else {
            throw .malformed(line: 1, reason: "\(path) contains no LineString with longitudes and latitudes")
        }
        guard let bytes = try? JSONEncoder().encode(collection) else {
            throw .malformed(line: 1, reason: "\(path) contains a coordinate that is not finite")
        }
        return Array(bytes)
    }
}
