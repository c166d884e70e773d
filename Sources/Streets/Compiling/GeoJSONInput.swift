// GeoJSON files (RFC 7946) as streets. Lines that share a coordinate meet there.

internal import Foundation

enum GeoJSONInput {
    private struct Collection: Decodable {
        var type: String
        var attribution: String?
        var features: [Feature]
    }

    private struct Feature: Decodable {
        var geometry: Geometry?
        var properties: [String: Text]?
    }

    private struct Text: Decodable {
        var value: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self.value = text
            } else if let flag = try? container.decode(Bool.self) {
                self.value = flag ? "yes" : "no"
            } else if let number = try? container.decode(Double.self), let whole = Int(exactly: number) {
                self.value = String(whole)
            }
        }
    }

    private struct Geometry: Decodable {
        var lines: [[[Double]]] = []

        enum CodingKeys: String, CodingKey { case type, coordinates }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            switch try container.decode(String.self, forKey: .type) {
            case "LineString": self.lines = [try container.decode([[Double]].self, forKey: .coordinates)]
            case "MultiLineString": self.lines = try container.decode([[[Double]]].self, forKey: .coordinates)
            default: break
            }
        }
    }

    /// Coordinates are joined if they are equal after rounding to this precision: 11 cm.
    private static let perDegree = 1e6

    /// Adds the lines of a file.
    ///
    /// - Parameter path: for errors.
    /// - Returns: the number of positions of streets that were ignored because they are not a longitude and latitude in
    ///   degrees.
    static func read(_ data: Data, path: String, into ways: inout StreetWays) throws(StreetInputError) -> Int {
        let collection: Collection
        do {
            collection = try JSONDecoder().decode(Collection.self, from: data)
        } catch {
            throw .malformed(path: path, offset: nil, reason: self.reason(error))
        }
        guard collection.type == "FeatureCollection" else {
            throw .malformed(path: path, offset: nil, reason: self.notACollection)
        }
        if let attribution = collection.attribution { ways.add(attribution: attribution) }
        var ignored = 0
        for feature in collection.features {
            let tags = (feature.properties ?? [:]).compactMapValues(\.value)
            guard let geometry = feature.geometry, let rule = StreetRule(tags: tags) else { continue }
            for line in geometry.lines {
                // An invalid coordinate ends the line; its rest becomes another line.
                let keys = line.map(Self.key)
                ignored += keys.count { $0 == nil }
                for part in keys.split(separator: nil) {
                    try ways.add(id: nil, rule: rule, name: tags["name"], keys: part.compactMap(\.self))
                }
            }
        }
        return ignored
    }

    private static let notACollection = "it is not a GeoJSON FeatureCollection"

    /// Returns which feature is malformed, counted from 1, and which member of it.
    private static func reason(_ error: any Error) -> String {
        let path: [any CodingKey] =
            switch error as? DecodingError {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            case .keyNotFound(let key, let context): context.codingPath + [key]
            default: []
            }
        guard path.count > 1, let feature = path[1].intValue else { return self.notACollection }
        let place = path[2...].map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined().dropFirst()
        return "feature \(feature + 1)" + (place.isEmpty ? "" : ": \(place) is missing or has the wrong type")
    }

    /// A key that contains the coordinate. It is negative, unlike OpenStreetMap's ids.
    private static func key(_ position: [Double]) -> Int64? {
        guard position.count >= 2, (-180...180).contains(position[0]), (-90...90).contains(position[1]) else {
            return nil
        }
        let latitude = Int64(((position[1] + 90) * self.perDegree).rounded())
        let longitude = Int64(((position[0] + 180) * self.perDegree).rounded())
        return .min | latitude << 32 | longitude
    }

    /// The coordinate in a key; `nil` for the id of a node.
    static func point(_ key: Int64) -> StreetPoint? {
        guard key < 0 else { return nil }
        let (latitude, longitude) = ((key & .max) >> 32, key & 0xFFFF_FFFF)
        return StreetPoint(
            latitude: Double(latitude) / self.perDegree - 90, longitude: Double(longitude) / self.perDegree - 180)
    }
}
