// Routing providers as documented, with a map of only Vienna: a client that swaps longitude and latitude requests a place in
// the sea south of Arabia and gets an error.

internal import Foundation
internal import NIOHTTP1

package enum ProviderFixtures {
    /// The key that Azure Maps and Mapbox expect.
    package static let keyText = "a-key/of+ours="

    /// Whether [longitude, latitude] is in Vienna.
    private static func isKnown(_ pair: [Double]) -> Bool {
        pair.count == 2 && (16.18...16.58).contains(pair[0]) && (48.11...48.33).contains(pair[1])
    }

    private static func pairs(_ path: Substring) -> [[Double]] {
        path.split(separator: ";").map { $0.split(separator: ",").compactMap { Double($0) } }
    }

    /// The path after the prefix, and the query parameters.
    private static func parts(_ uri: String, _ prefix: String) -> (path: Substring, query: [String: String])? {
        guard uri.hasPrefix(prefix) else { return nil }
        let parts = uri.dropFirst(prefix.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let members = parts.count > 1 ? parts[1].split(separator: "&") : []
        let query = members.reduce(into: [String: String]()) { query, member in
            let pair = member.split(separator: "=", maxSplits: 1)
            query[String(pair[0])] = pair.count > 1 ? String(pair[1]).removingPercentEncoding : ""
        }
        return parts.first.map { ($0, query) }
    }

    /// The line of every response, from the station around two corners to the door, as providers write it.
    package static let polyline = "gcbeHgs}bBg^??gpA_|B?{{CwsC"
    package static let way = [
        (48.185, 16.377), (48.19, 16.377), (48.19, 16.39), (48.21, 16.39), (48.2351, 16.4138),
    ]
    private static let geometry = #","geometry":"\#(polyline)""#

    package static let osrm: ProviderServer.Behaviour = { question in
        guard question.method == "GET", let (path, query) = parts(question.uri, "/route/v1/driving/"),
            query["overview"] == "full", query["geometries"] == "polyline"
        else { return .json(#"{"code":"InvalidUrl","message":"URL string malformed"}"#, status: 400) }
        guard pairs(path).allSatisfy(isKnown) else {
            return .json(#"{"code":"NoSegment","message":"Could not find a matching segment"}"#, status: 400)
        }
        return .json(
            #"{"code":"Ok","routes":[{"legs":[{"steps":[],"distance":8104.2,"duration":731.5,"summary":"","weight":731.5}],"#
                + #""distance":8104.2,"duration":731.5,"weight_name":"routability","weight":731.5\#(geometry)}],"#
                + #""waypoints":[{"hint":"x","distance":1.2,"name":"","location":[16.377,48.185]}]}"#)
    }

    package static let mapbox: ProviderServer.Behaviour = { question in
        guard let (path, query) = parts(question.uri, "/directions/v5/mapbox/driving-traffic/") else {
            return geocoding(question)
        }
        guard query["access_token"] == keyText else { return .json(#"{"message":"Not Authorized"}"#, status: 401) }
        guard query["overview"] == "full", query["geometries"] == "polyline" else {
            return .json(#"{"code":"InvalidInput","message":"x"}"#, status: 422)
        }
        guard pairs(path).count <= 25 else { return .json(#"{"code":"InvalidInput","message":"x"}"#, status: 422) }
        guard pairs(path).allSatisfy(isKnown) else { return .json(#"{"code":"NoSegment","message":"x"}"#) }
        return .json(
            #"{"routes":[{"weight_typical":900.1,"duration_typical":800.2,"weight_name":"auto","weight":1001.6,"#
                + #""duration":905.25,"distance":8200.75,"legs":[]\#(geometry)}],"waypoints":[],"code":"Ok","uuid":"u"}"#
        )
    }

    private static let geocoding: ProviderServer.Behaviour = { question in
        guard let (_, query) = parts(question.uri, "/search/geocode/v6/forward"), query["permanent"] == "true" else {
            return .json(#"{"message":"Not Found"}"#, status: 404)
        }
        guard query["q"] == "Café Größe 1&2, Wien" else {
            return .json(#"{"type":"FeatureCollection","features":[],"attribution":"x"}"#)
        }
        return .json(
            #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"x","geometry":{"type":"Point","#
                + #""coordinates":[16.4138,48.2351]},"properties":{"mapbox_id":"x","feature_type":"address","name":"x","#
                + #""coordinates":{"longitude":16.4138,"latitude":48.2351,"accuracy":"rooftop","routable_points":[]},"#
                + #""match_code":{"address_number":"matched","street":"matched","confidence":"high"},"context":{}}}]}"#)
    }

    private struct AzureRequest: Decodable {
        struct Feature: Decodable {
            struct Geometry: Decodable { var type: String; var coordinates: [Double] }
            struct Properties: Decodable { var pointIndex: Int; var pointType: String }
            var type: String
            var geometry: Geometry
            var properties: Properties
        }
        var type: String
        var features: [Feature]
        var optimizeRoute: String?
        var travelMode: String?
        var routeOutputOptions: [String]?
    }

    package static let azureMaps: ProviderServer.Behaviour = { question in
        guard question.method == "POST", question.uri == "/route/directions?api-version=2025-01-01" else {
            return .json(#"{"error":{"code":"404","message":"x"}}"#, status: 404)
        }
        guard question.headers.first(name: "subscription-key") == keyText else {
            return .json(#"{"error":{"code":"401","message":"x"}}"#, status: 401)
        }
        guard question.headers.first(name: "content-type") == "application/geo+json",
            let asked = try? JSONDecoder().decode(AzureRequest.self, from: Data(question.body)),
            asked.type == "FeatureCollection", asked.travelMode == "driving",
            asked.routeOutputOptions == ["routeSummary", "routePath"],
            asked.features.map(\.properties.pointIndex) == Array(asked.features.indices),
            asked.features.allSatisfy({ $0.type == "Feature" && $0.geometry.type == "Point" }),
            asked.features.allSatisfy({ $0.properties.pointType == "waypoint" && isKnown($0.geometry.coordinates) })
        else { return .json(#"{"error":{"code":"400","message":"x"}}"#, status: 400) }
        let pairs = Self.way.map { "[\($0.1),\($0.0)]" }.joined(separator: ",")
        // The duration with traffic is returned only when requested.
        let traffic = asked.optimizeRoute == "fastestWithTraffic" ? #","durationTrafficInSeconds":1020"# : ""
        return .json(
            #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","#
                + #""coordinates":[16.377,48.185]},"properties":{"type":"Waypoint","order":{"inputIndex":0}}},"#
                + #"{"type":"Feature","geometry":{"type":"MultiLineString","coordinates":[[\#(pairs)]]},"properties":{"type":"RoutePath","distanceInMeters":8125,"#
                + #""durationInSeconds":901\#(traffic),"trafficCongestion":"Medium","legs":[]}}],"alternativeRoutes":[]}"#
        )
    }
}
