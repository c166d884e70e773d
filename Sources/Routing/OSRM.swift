// A self-hosted OSRM: `GET /route/v1/driving/{lon},{lat};…` (Project-OSRM/osrm-backend, docs/http.md). It does not know
// traffic. For other modes the path contains `cycling` or `walking` instead of `driving`. osrm-routed ignores this part of the
// path and always uses the profile that its data were prepared with. To use several profiles, let a proxy choose the server by
// the path.

internal import EnrouteWire
internal import FoundationEssentials

package struct OSRM: RouteProvider {
    package let source = ArrivalSource.osrm
    private let base: String

    /// - Parameter url: such as `http://osrm:5000`. Use http only in a network that may see positions.
    package init(url: String) throws(InvalidProviderSetting) {
        guard let base = URLText.base(url, mustBeSecure: false) else {
            throw InvalidProviderSetting(
                description: "Invalid OSRM URL. Use a URL like http://osrm:5000, without user or query.")
        }
        self.base = base
    }

    package func request(_ question: RouteQuery) -> ProviderRequest {
        let places = question.places.map(URLText.longitudeFirst).joined(separator: ";")
        let profile =
            switch question.mode {
            case .driving: "driving"
            case .cycling: "cycling"
            case .walking: "walking"
            }
        return ProviderRequest(
            url: "\(self.base)/route/v1/\(profile)/\(places)?overview=full&geometries=polyline&steps=false")
    }

    package func answer(_ response: ProviderResponse) throws(ProviderFailure) -> RouteAnswer {
        // A 400 contains a code with the reason.
        try response.checkStatus(parsing: [400])
        return try DirectionsAnswer(response).route(knowsTraffic: false)
    }
}

/// The body of a response in the format of OSRM, which Mapbox Directions uses too, together with its HTTP status. An
/// error has a `code` and no routes.
struct DirectionsAnswer: Decodable {
    struct Route: Decodable {
        /// s
        var duration: Double
        /// m
        var distance: Double
        /// The line of the route as an encoded polyline with 5 decimals. Anything else is ignored, because the time is useful
        /// without a line.
        var geometry: String?

        private enum CodingKeys: String, CodingKey { case duration, distance, geometry }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            self.duration = try values.decode(Double.self, forKey: .duration)
            self.distance = try values.decode(Double.self, forKey: .distance)
            self.geometry = try? values.decode(String.self, forKey: .geometry)
        }
    }

    /// `Ok`, or the reason why there is no route.
    var code: String?
    var routes: [Route]?
    /// The HTTP status. It is reported if `code` is missing or unknown.
    private let status: Int

    private enum CodingKeys: String, CodingKey { case code, routes }

    /// Decodes the body, which does not contain the status. Use `init(_:)`, which adds it.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.code = try values.decodeIfPresent(String.self, forKey: .code)
        self.routes = try values.decodeIfPresent([Route].self, forKey: .routes)
        self.status = 200
    }

    /// - Throws: `malformed` if the body is not this JSON, or `status` if the status is not 200 either.
    init(_ response: ProviderResponse) throws(ProviderFailure) {
        let answer: DirectionsAnswer
        do {
            answer = try JSONDecoder().decode(Self.self, from: Data(response.body))
        } catch {
            guard response.status == 200 else { throw .status(response.status) }
            throw .malformed("it is not the JSON of directions")
        }
        (self.code, self.routes, self.status) = (answer.code, answer.routes, response.status)
    }

    /// - Throws: `noRoute`; `status` or `malformed` for an unknown code.
    func route(knowsTraffic: Bool) throws(ProviderFailure) -> RouteAnswer {
        switch self.code {
        case "Ok": break
        // TooBig is OSRM's limit for the length of a route. With Mapbox, InvalidInput can only concern the places, because
        // everything else is the same in each request.
        case "NoRoute", "NoSegment", "TooBig", "InvalidInput": throw .noRoute
        default:
            guard self.status == 200 else { throw .status(self.status) }
            throw .malformed("unknown code")
        }
        // The first route is the recommended one.
        guard let route = self.routes?.first else { throw .noRoute }
        return try RouteAnswer(
            seconds: route.duration, meters: route.distance, knowsTraffic: knowsTraffic,
            line: route.geometry.flatMap { EncodedPolyline.line($0, most: RouteAnswer.maxProviderPlaces) })
    }
}
