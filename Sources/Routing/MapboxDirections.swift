// Mapbox Directions v5: `GET /directions/v5/mapbox/driving-traffic/{lon},{lat};…`, or `cycling` or `walking`
// (docs.mapbox.com/api/navigation/directions).

package struct MapboxDirections: RouteProvider {
    package static let usualURL = "https://api.mapbox.com"

    package let source = ArrivalSource.mapbox
    private let base: String
    private let key: ProviderKey

    package init(key: ProviderKey, url: String = Self.usualURL) throws(InvalidProviderSetting) {
        guard let base = URLText.base(url, mustBeSecure: true) else {
            throw InvalidProviderSetting(
                description: "The URL of Mapbox must begin with https://, because requests contain a key and positions."
            )
        }
        (self.base, self.key) = (base, key)
    }

    package func request(_ question: RouteQuery) -> ProviderRequest {
        let places = question.places.map(URLText.longitudeFirst).joined(separator: ";")
        let profile =
            switch question.mode {
            case .driving: "driving-traffic"
            case .cycling: "cycling"
            case .walking: "walking"
            }
        // Mapbox accepts the key only as a query parameter.
        let key = URLText.percentEncoded(self.key.text)
        return ProviderRequest(
            url: "\(self.base)/directions/v5/mapbox/\(profile)/\(places)"
                + "?overview=full&geometries=polyline&access_token=\(key)")
    }

    package func answer(_ response: ProviderResponse) throws(ProviderFailure) -> RouteAnswer {
        try response.checkStatus(parsing: [422])
        return try DirectionsAnswer(response).route(knowsTraffic: true)
    }
}
