import EnrouteWire
import TestSupport
import Testing

@testable import Routing

/// Each provider with a server that behaves as its documentation says.
@Suite struct ProviderTests {
    private static func ask(
        _ behaviour: @escaping ProviderServer.Behaviour, _ question: RouteQuery = ProviderFixtures.question,
        _ provider: (String) throws -> any RouteProvider
    ) async throws -> Result<RouteAnswer, ProviderFailure> {
        try await ProviderServer.running(behaviour) { server in
            let provider = try provider(server.url)
            return try await withClient { client in
                do throws(ProviderFailure) {
                    return .success(try provider.answer(try await client.ask(provider.request(question))))
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    @Test func `a query to OSRM has longitude first, and its response ignores traffic`() async throws {
        let answer = try await Self.ask(ProviderFixtures.osrm) { try OSRM(url: $0) }.get()
        #expect(answer.seconds == 731.5 && answer.meters == 8104.2 && !answer.knowsTraffic)
    }

    @Test func `a query to Mapbox has longitude first and the key, and its response includes traffic`() async throws {
        let answer = try await Self.ask(ProviderFixtures.mapbox) {
            try MapboxDirections(key: ProviderFixtures.key, url: $0)
        }.get()
        #expect(answer.seconds == 905.25 && answer.meters == 8200.75 && answer.knowsTraffic)
    }

    @Test func `a query to Azure Maps is GeoJSON with longitude first, traffic and the key in a header`()
        async throws
    {
        let answer = try await Self.ask(ProviderFixtures.azureMaps) {
            try AzureMaps(key: ProviderFixtures.key, url: $0)
        }.get()
        #expect(answer.seconds == 1020 && answer.meters == 8125 && answer.knowsTraffic)
    }

    @Test func `the responses of all three providers contain the line along streets`() async throws {
        let way = ProviderFixtures.way.map { Coordinate(latitude: $0.0, longitude: $0.1)! }
        let osrm = try await Self.ask(ProviderFixtures.osrm) { try OSRM(url: $0) }.get()
        let mapbox = try await Self.ask(ProviderFixtures.mapbox) {
            try MapboxDirections(key: ProviderFixtures.key, url: $0)
        }.get()
        let azure = try await Self.ask(ProviderFixtures.azureMaps) {
            try AzureMaps(key: ProviderFixtures.key, url: $0)
        }.get()
        #expect(osrm.line == way && mapbox.line == way && azure.line == way)
    }

    @Test func `with longitude and latitude swapped no provider finds a route, so the tests above detect it`()
        async throws
    {
        let places = ProviderFixtures.question.places.map {
            Coordinate(latitude: $0.longitude, longitude: $0.latitude)!
        }
        let swapped = try #require(RouteQuery(places: places))
        let osrm = try await Self.ask(ProviderFixtures.osrm, swapped) { try OSRM(url: $0) }
        #expect(osrm == .failure(.noRoute))
        let mapbox = try await Self.ask(ProviderFixtures.mapbox, swapped) {
            try MapboxDirections(key: ProviderFixtures.key, url: $0)
        }
        #expect(mapbox == .failure(.noRoute))
        let azure = try await Self.ask(ProviderFixtures.azureMaps, swapped) {
            try AzureMaps(key: ProviderFixtures.key, url: $0)
        }
        #expect(azure == .failure(.status(400)))
    }

    @Test func `a wrong key is refused`() async throws {
        let key = try #require(ProviderKey("another"))
        let mapbox = try await Self.ask(ProviderFixtures.mapbox) { try MapboxDirections(key: key, url: $0) }
        let azure = try await Self.ask(ProviderFixtures.azureMaps) { try AzureMaps(key: key, url: $0) }
        #expect(mapbox == .failure(.keyRefused) && azure == .failure(.keyRefused))
    }

    @Test func `an address is looked up with permanent storage, or not found`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
            let geocoding = try MapboxGeocoding(key: ProviderFixtures.key, url: server.url)
            try await withClient { client in
                let known = try #require(geocoding.request(address: "Café Größe 1&2, Wien"))
                let found = try geocoding.answer(try await client.ask(known))
                #expect(found.place == ProviderFixtures.door && found.confidence == .high && found.isResolved)
                let unknown = try await client.ask(try #require(geocoding.request(address: "Nowhere 1")))
                #expect(throws: ProviderFailure.noPlace) { try geocoding.answer(unknown) }
            }
        }
    }

    // MARK: responses

    private static func response(_ text: String, _ status: Int = 200) -> ProviderResponse {
        ProviderResponse(status: status, body: Array(text.utf8))
    }

    private static func geocoded(_ matchCode: String, latitude: String = "48.2") throws -> GeocodedPlace {
        try MapboxGeocoding(key: ProviderFixtures.key).answer(
            self.response(
                #"{"features":[{"properties":{"coordinates":{"longitude":16.4,"latitude":\#(latitude)}\#(matchCode)}}]}"#
            ))
    }

    @Test func `an uncertain result of a geocoder is not resolved`() throws {
        for (confidence, isResolved) in [
            ("exact", true), ("high", true), ("medium", true), ("low", false), ("odd", false),
        ] {
            let place = try Self.geocoded(#","match_code":{"confidence":"\#(confidence)"}"#)
            #expect(place.isResolved == isResolved, "\(confidence)")
        }
        let town = try Self.geocoded("")
        #expect(town.confidence == .low && !town.isResolved)
        #expect(throws: ProviderFailure.malformed("its coordinates are invalid")) {
            try Self.geocoded("", latitude: "98.2")
        }
    }

    @Test(arguments: [
        (#"{"code":"Ok","routes":[]}"#, 200, ProviderFailure.noRoute), (#"{"code":"NoRoute"}"#, 200, .noRoute),
        (#"{"code":"NoRoute"}"#, 400, .noRoute), (#"{"code":"InvalidQuery"}"#, 400, .status(400)),
        (#"{"code":"TooBig"}"#, 400, .noRoute), (#"{"code":"NoSegment"}"#, 400, .noRoute),
        ("<html>", 400, .status(400)), ("<html>", 200, .malformed("it is not the JSON of directions")),
        ("", 200, .malformed("it is not the JSON of directions")),
        ("{}", 200, .malformed("unknown code")),
        (
            #"{"code":"Ok","routes":[{"duration":"1","distance":1}]}"#, 200,
            .malformed("it is not the JSON of directions")
        ),
        (
            #"{"code":"Ok","routes":[{"duration":-1,"distance":1}]}"#, 200,
            .malformed("the time is impossible on this route")
        ),
        (
            #"{"code":"Ok","routes":[{"duration":10,"distance":9000}]}"#, 200,
            .malformed("the time is impossible on this route")
        ),
        (
            #"{"code":"Ok","routes":[{"duration":1e9,"distance":1}]}"#, 200,
            .malformed("the time is impossible on this route")
        ), ("", 500, .status(500)), ("", 429, .throttled(retryAfterSeconds: nil)), ("", 302, .redirected),
    ])
    func `an invalid response is refused with the reason`(text: String, status: Int, failure: ProviderFailure) throws {
        let osrm = try OSRM(url: "http://localhost")
        #expect(throws: failure) { try osrm.answer(Self.response(text, status)) }
    }

    @Test(arguments: [
        (
            #"{"code":"InvalidInput","message":"Route exceeds maximum distance limitation"}"#, 422,
            ProviderFailure.noRoute
        ),
        (#"{"code":"NoSegment"}"#, 200, .noRoute), (#"{"code":"ProfileNotFound"}"#, 404, .status(404)),
        ("", 422, .status(422)), (#"{"code":"InvalidInput"}"#, 403, .keyRefused),
    ])
    func `a response of Mapbox without a route shows whether the places are the reason`(
        text: String, status: Int, failure: ProviderFailure
    ) throws {
        let mapbox = try MapboxDirections(key: ProviderFixtures.key)
        #expect(throws: failure) { try mapbox.answer(Self.response(text, status)) }
    }

    @Test(arguments: [
        (#"{"error":{"code":"400 BadRequest","message":"NO_ROUTE_FOUND"}}"#, 400, ProviderFailure.noRoute),
        (
            #"{"error":{"code":"400 BadRequest","message":"Engine error: MAP_MATCHING_FAILURE: Origin (1, 2)"}}"#, 400,
            .noRoute
        ), (#"{"error":{"code":"NoRouteFound"}}"#, 400, .noRoute),
        (#"{"error":{"code":"400 BadRequest","message":"Invalid travelMode"}}"#, 400, .status(400)),
        ("NO_ROUTE_FOUND", 400, .status(400)), (#"{"error":{"code":"NO_ROUTE_FOUND"}}"#, 403, .keyRefused),
        (#"{"error":{"code":"NO_ROUTE_FOUND"}}"#, 500, .status(500)),
    ])
    func `a status 400 of Azure Maps shows whether the places are the reason`(
        text: String, status: Int, failure: ProviderFailure
    ) throws {
        let azure = try AzureMaps(key: ProviderFixtures.key)
        #expect(throws: failure) { try azure.answer(Self.response(text, status)) }
    }

    @Test(arguments: [
        (#"{"features":[]}"#, ProviderFailure.noRoute), ("{}", .malformed("it has no features")),
        ("[]", .malformed("it is not Azure Maps GeoJSON")),
        (
            #"{"features":[{"properties":{"type":"RoutePath"}}]}"#,
            .malformed("its route has no distance or no duration")
        ),
    ])
    func `an invalid response of Azure Maps is refused with the reason`(text: String, failure: ProviderFailure) throws {
        let azure = try AzureMaps(key: ProviderFixtures.key)
        #expect(throws: failure) { try azure.answer(Self.response(text)) }
    }

    @Test func `a response of Azure Maps without traffic is marked as such`() throws {
        let answer = try AzureMaps(key: ProviderFixtures.key).answer(
            Self.response(
                #"{"features":[{"properties":{"type":"RoutePath","distanceInMeters":9,"durationInSeconds":8}}]}"#))
        #expect(answer.seconds == 8 && !answer.knowsTraffic)
    }

    // MARK: requests

    @Test func `degrees are written with a point and six decimals, whatever their size`() {
        for (value, text) in [
            (16.377, "16.377000"), (-0.0000004, "0.000000"), (-0.000001, "-0.000001"), (-179.9999999, "-180.000000"),
            (5, "5.000000"), (-0.5, "-0.500000"),
        ] { #expect(URLText.degrees(value) == text) }
    }

    @Test func `keys are sent only over TLS, and never to a URL with a user`() {
        for url in [
            "http://api.example", "ftp://a", "", "https://", "https:///x", "https://a@b", "https://a?b", "https://a b",
        ] {
            #expect(throws: InvalidProviderSetting.self, "\(url)") {
                try AzureMaps(key: ProviderFixtures.key, url: url)
            }
            #expect(throws: InvalidProviderSetting.self, "\(url)") {
                try MapboxDirections(key: ProviderFixtures.key, url: url)
            }
            #expect(throws: InvalidProviderSetting.self, "\(url)") {
                try MapboxGeocoding(key: ProviderFixtures.key, url: url)
            }
        }
        for url in ["ftp://a", "", "http://", "http://a@b"] {
            #expect(throws: InvalidProviderSetting.self, "\(url)") { try OSRM(url: url) }
        }
        for url in ["http://127.0.0.1.evil.example", "http://localhost.evil.example"] {
            #expect(throws: InvalidProviderSetting.self, "\(url)") {
                try AzureMaps(key: ProviderFixtures.key, url: url)
            }
        }
        #expect(throws: Never.self) { try OSRM(url: "http://osrm:5000/") }
    }

    @Test func `descriptions contain neither a key nor a position`() throws {
        let mapbox = try MapboxDirections(key: ProviderFixtures.key)
        for text in [
            "\(mapbox)", "\(mapbox.request(ProviderFixtures.question))", String(reflecting: ProviderFixtures.key),
        ] {
            #expect(!text.contains("a-key") && !text.contains("48.") && !text.contains("access_token="))
        }
        var dumped = ""
        dump(mapbox.request(ProviderFixtures.question), to: &dumped)
        dump(try AzureMaps(key: ProviderFixtures.key), to: &dumped)
        #expect(!dumped.contains("a-key") && !dumped.contains("48."))
    }

    @Test func `invalid queries and keys are refused`() throws {
        #expect(RouteQuery(places: [ProviderFixtures.door]) == nil)
        #expect(RouteQuery(places: Array(repeating: ProviderFixtures.door, count: 11)) == nil)
        #expect(ProviderKey("") == nil && ProviderKey("a\r\nb") == nil && ProviderKey("ä") == nil)
        let geocoding = try MapboxGeocoding(key: ProviderFixtures.key)
        #expect(geocoding.request(address: "  ") == nil)
        #expect(geocoding.request(address: String(repeating: "x", count: 257)) == nil)
    }
}
