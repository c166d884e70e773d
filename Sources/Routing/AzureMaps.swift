// Azure Maps Route 2025-01-01: `POST /route/directions` with GeoJSON (Azure/azure-rest-api-specs,
// specification/maps/data-plane/Route). Without `fastestWithTraffic` it ignores traffic. Version 1, which retires in
// 2028, expects latitude first; this version expects longitude first.

internal import EnrouteWire
internal import FoundationEssentials
internal import OutboundHTTP

package struct AzureMaps: RouteProvider {
    package static let usualURL = "https://atlas.microsoft.com"
    static let version = "2025-01-01"

    package let source = ArrivalSource.azureMaps
    private let base: String
    private let key: ProviderKey

    package init(key: ProviderKey, url: String = Self.usualURL) throws(InvalidProviderSetting) {
        guard let base = URLText.base(url, mustBeSecure: true) else {
            throw InvalidProviderSetting(
                description:
                    "The URL of Azure Maps must begin with https://, because requests contain a key and positions.")
        }
        (self.base, self.key) = (base, key)
    }

    private struct Question: Encodable {
        struct Feature: Encodable {
            struct Geometry: Encodable {
                var type = "Point"
                /// Longitude, latitude.
                var coordinates: [Double]
            }
            struct Properties: Encodable {
                var pointIndex: Int
                var pointType = "waypoint"
            }
            var type = "Feature"
            var geometry: Geometry
            var properties: Properties
        }
        var type = "FeatureCollection"
        var features: [Feature]
        var optimizeRoute = "fastestWithTraffic"
        var routeOutputOptions = ["routeSummary", "routePath"]
        var travelMode: String
    }

    /// Azure Maps has no routes for bicycles.
    package func knows(_ mode: TravelMode) -> Bool { mode != .cycling }

    package func request(_ question: RouteQuery) -> ProviderRequest {
        let features = question.places.enumerated().map { index, place in
            Question.Feature(
                geometry: .init(coordinates: [place.longitude, place.latitude]), properties: .init(pointIndex: index))
        }
        guard
            let body = try? JSONEncoder().encode(
                Question(features: features, travelMode: question.mode == .walking ? "walking" : "driving"))
        else {
            preconditionFailure("a Coordinate contains finite numbers, which JSON can represent")
        }
        return ProviderRequest(
            method: .post, url: "\(self.base)/route/directions?api-version=\(Self.version)",
            headers: ["content-type": "application/geo+json", "subscription-key": self.key.text], body: Array(body))
    }

    private struct Answer: Decodable {
        struct Feature: Decodable {
            struct Properties: Decodable {
                var type: String?
                var distanceInMeters: Double?
                var durationInSeconds: Double?
                var durationTrafficInSeconds: Double?
            }
            /// The line of the route, for a `RoutePath`.
            struct Geometry: Decodable {
                var type: String?
                /// Longitude, latitude; a list for each leg.
                var coordinates: [[[Double]]]?

                private enum CodingKeys: String, CodingKey { case type, coordinates }

                /// Anything but a (Multi)LineString is ignored, because the time is useful without a line.
                init(from decoder: any Decoder) throws {
                    guard let values = try? decoder.container(keyedBy: CodingKeys.self) else { return }
                    self.type = try? values.decode(String.self, forKey: .type)
                    self.coordinates =
                        switch self.type {
                        case "MultiLineString": try? values.decode([[[Double]]].self, forKey: .coordinates)
                        case "LineString":
                            (try? values.decode([[Double]].self, forKey: .coordinates)).map { [$0] }
                        default: nil
                        }
                }

                /// - Returns: `nil` if a place is invalid.
                var line: [Coordinate]? {
                    guard let pairs = self.coordinates?.joined() else { return nil }
                    let places = pairs.prefix(RouteAnswer.maxProviderPlaces + 1).map { pair in
                        pair.count >= 2 ? Coordinate(latitude: pair[1], longitude: pair[0]) : nil
                    }
                    let valid = places.compactMap { $0 }
                    return valid.count == places.count ? valid : nil
                }
            }
            var properties: Properties?
            var geometry: Geometry?
        }
        var features: [Feature]?
    }

    /// The body of a 400.
    private struct Refusal: Decodable {
        struct Reason: Decodable {
            var code: String?
            var message: String?
        }
        var error: Reason

        /// Reasons that concern these places, reduced to letters: there is no route, or no street near one of them.
        private static let noRoute = ["noroutefound", "mapmatchingfailure"]

        var isNoRoute: Bool {
            [self.error.code, self.error.message].compactMap { $0 }.contains { text in
                let letters = text.lowercased().filter(\.isLetter)
                return Self.noRoute.contains { letters.contains($0) }
            }
        }
    }

    package func answer(_ response: ProviderResponse) throws(ProviderFailure) -> RouteAnswer {
        try response.checkStatus(parsing: [400])
        guard response.status == 200 else {
            let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
            throw refusal?.isNoRoute == true ? .noRoute : .status(response.status)
        }
        let answer: Answer
        do {
            answer = try JSONDecoder().decode(Answer.self, from: Data(response.body))
        } catch {
            throw .malformed("it is not Azure Maps GeoJSON")
        }
        guard let features = answer.features else { throw .malformed("it has no features") }
        guard let path = features.first(where: { $0.properties?.type == "RoutePath" }), let route = path.properties
        else {
            throw .noRoute
        }
        guard let meters = route.distanceInMeters,
            let seconds = route.durationTrafficInSeconds ?? route.durationInSeconds
        else { throw .malformed("its route has no distance or no duration") }
        return try RouteAnswer(
            seconds: seconds, meters: meters, knowsTraffic: route.durationTrafficInSeconds != nil,
            line: path.geometry?.line)
    }
}
