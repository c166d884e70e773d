// Looks up the location of an address, once, when a job is created with an address: Mapbox Geocoding v6
// (docs.mapbox.com/api/search/geocoding). The result is stored with the job. Mapbox allows storing only results that
// were requested with `permanent=true`.

package import EnrouteWire
internal import FoundationEssentials

/// How certain a geocoder is. If it is `low`, nobody is sent to the place.
package enum GeocodeConfidence: String, Hashable, Sendable, CaseIterable, Comparable {
    case low, medium, high, exact

    private var rank: Int {
        switch self {
        case .low: 0
        case .medium: 1
        case .high: 2
        case .exact: 3
        }
    }

    package static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }
}

package struct GeocodedPlace: Hashable, Sendable {
    package let place: Coordinate
    package let confidence: GeocodeConfidence

    /// Whether a rider may be sent there.
    package var isResolved: Bool { self.confidence >= .medium }
}

package struct MapboxGeocoding: Sendable {
    /// The maximum length of an address, as documented by Mapbox.
    package static let longestAddress = 256

    private let base: String
    private let key: ProviderKey

    package init(key: ProviderKey, url: String = MapboxDirections.usualURL) throws(InvalidProviderSetting) {
        guard let base = URLText.base(url, mustBeSecure: true) else {
            throw InvalidProviderSetting(
                description: "The URL of Mapbox must begin with https://, because requests contain a key and addresses."
            )
        }
        (self.base, self.key) = (base, key)
    }

    /// - Returns: `nil` for an address that is empty or too long.
    package func request(address: String) -> ProviderRequest? {
        guard !address.allSatisfy(\.isWhitespace), address.count <= Self.longestAddress else { return nil }
        let query = "q=\(URLText.percentEncoded(address))&permanent=true&autocomplete=false&limit=1"
        let key = URLText.percentEncoded(self.key.text)
        return ProviderRequest(url: "\(self.base)/search/geocode/v6/forward?\(query)&access_token=\(key)")
    }

    private struct Answer: Decodable {
        struct Feature: Decodable {
            struct Properties: Decodable {
                struct Coordinates: Decodable {
                    var longitude: Double
                    var latitude: Double
                }
                struct MatchCode: Decodable { var confidence: String? }
                var coordinates: Coordinates
                var match_code: MatchCode?
            }
            var properties: Properties
        }
        var features: [Feature]
    }

    package func answer(_ response: ProviderResponse) throws(ProviderFailure) -> GeocodedPlace {
        try response.checkStatus()
        let answer: Answer
        do {
            answer = try JSONDecoder().decode(Answer.self, from: Data(response.body))
        } catch {
            throw .malformed("it is not Mapbox GeoJSON")
        }
        guard let found = answer.features.first?.properties else { throw .noPlace }
        guard let place = Coordinate(latitude: found.coordinates.latitude, longitude: found.coordinates.longitude)
        else { throw .malformed("its coordinates are invalid") }
        // Only addresses have a match code. A town may be found with certainty but is no address.
        let confidence = found.match_code?.confidence.flatMap(GeocodeConfidence.init) ?? .low
        return GeocodedPlace(place: place, confidence: confidence)
    }
}
