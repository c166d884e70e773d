import EnrouteWire
import TestSupport
import Testing

@testable import Routing

/// The line in the responses of providers: bounded, simplified, and dropped if it is malformed.
@Suite struct RouteGeometryTests {
    private static func osrm(geometry: String) throws -> RouteAnswer {
        let text = #"{"code":"Ok","routes":[{"duration":60,"distance":900\#(geometry)}]}"#
        return try OSRM(url: "http://localhost").answer(ProviderResponse(status: 200, body: Array(text.utf8)))
    }

    private static func azure(geometry: String) throws -> RouteAnswer {
        let text =
            #"{"features":[{"properties":{"type":"RoutePath","distanceInMeters":900,"durationInSeconds":60}"#
            + #","geometry":\#(geometry)}]}"#
        return try AzureMaps(key: ProviderFixtures.key).answer(
            ProviderResponse(status: 200, body: Array(text.utf8)))
    }

    @Test(arguments: [
        "", #","geometry":null"#, #","geometry":7"#, #","geometry":"""#, #","geometry":"_p~iF""#, #","geometry":"é""#,
        #","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}"#, #","geometry":"_p~iF~ps|U""#,
    ])
    func `without a valid polyline a response has a time and no line`(geometry: String) throws {
        let answer = try Self.osrm(geometry: geometry)
        #expect(answer.seconds == 60 && answer.line == nil)
    }

    @Test(arguments: [
        "null", "7", "{}", #"{"type":"Point","coordinates":[1,2]}"#, #"{"type":"MultiLineString","coordinates":7}"#,
        #"{"type":"LineString","coordinates":[[1],[2]]}"#, #"{"type":"LineString","coordinates":[[200,100],[16,48]]}"#,
    ])
    func `without a valid line a response of Azure Maps has a time and no line`(geometry: String) throws {
        let answer = try Self.azure(geometry: geometry)
        #expect(answer.seconds == 60 && answer.line == nil)
    }

    @Test func `the legs of Azure Maps are one line`() throws {
        let answer = try Self.azure(
            geometry: #"{"type":"MultiLineString","coordinates":[[[16.3,48.1],[16.4,48.1]],[[16.4,48.1],[16.4,48.2]]]}"#
        )
        #expect(answer.line?.count == 3)
        #expect(answer.line?.last == Coordinate(latitude: 48.2, longitude: 16.4))
    }

    @Test func `a line of thousands of places keeps at most 200, and differs by at most a few meters`() throws {
        // A winding street with a place every 10 m.
        let way = (0..<4000).map { step in
            Coordinate(
                latitude: 48 + Double(step) * 0.00009, longitude: 16 + Double(step / 40 % 2) * 0.002)!
        }
        let answer = try Self.osrm(geometry: #","geometry":"\#(EncodedPolyline.text(way))""#)
        let line = try #require(answer.line)
        #expect(line.count <= RouteAnswer.maxPlaces && line.first == way.first && line.last == way.last)
    }

    @Test func `a line of more than 20,000 places is dropped`() throws {
        let pair = EncodedPolyline.text([Coordinate(latitude: 48, longitude: 16)!])
        let answer = try Self.osrm(geometry: #","geometry":"\#(pair)\#(String(repeating: "AA", count: 20_001))""#)
        #expect(answer.seconds == 60 && answer.line == nil)
    }

    @Test func `a cached line is not shown for a job that ends elsewhere in the same cell`() async throws {
        try await ProviderServer.running(ProviderFixtures.osrm) { server in
            try await withClient { client in
                let finder = RouteFinder(
                    providers: [(try OSRM(url: server.url), DailyBudget(questions: nil))], client: client,
                    clock: { (1, 1) })
                let here = RouteQuery(places: [ProviderFixtures.station, ProviderFixtures.door])!
                let neighbour = RouteQuery(
                    places: [
                        ProviderFixtures.station,
                        Coordinate(latitude: ProviderFixtures.door.latitude + 0.0005, longitude: 16.4138)!,
                    ])!
                let first = try #require(await finder.find(here))
                let again = try #require(await finder.find(here))
                let other = try #require(await finder.find(neighbour))
                #expect(first.answer.line != nil && again == first)
                #expect(other.answer.line == nil && other.answer.seconds == first.answer.seconds)
                #expect(server.questions.count == 1)
            }
        }
    }
}
