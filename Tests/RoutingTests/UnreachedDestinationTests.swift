import EnrouteWire
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Routing

/// Responses of providers that are not routes between the places of the query.
@Suite struct UnreachedDestinationTests {
    private static let question = RouteQuery(places: [ProviderFixtures.station, ProviderFixtures.door])!
    /// Length of the straight line in m: 6.2 km.
    private static let straight = RouteLine(question.places)!.meters

    private static func isRoute(
        seconds: Double = 700, meters: Double, line: [Coordinate]? = nil, for question: RouteQuery = Self.question
    ) throws -> Bool {
        let answer = try RouteAnswer(seconds: seconds, meters: meters, knowsTraffic: false, line: line)
        do {
            return try answer.checked(for: question) == answer
        } catch {
            #expect(error == .noRoute)
            return false
        }
    }

    @Test func `a route is not clearly shorter than the straight line`() throws {
        #expect(try Self.isRoute(meters: Self.straight * 1.3))
        // A provider moves both ends to streets.
        #expect(try Self.isRoute(meters: Self.straight - 400))
        #expect(try !Self.isRoute(meters: Self.straight - 600))
        #expect(try !Self.isRoute(seconds: 0, meters: 0))
        // On a long trip too, both ends are moved by at most 500 m.
        let far = RouteQuery(places: [ProviderFixtures.station, Coordinate(latitude: 48.6, longitude: 16.377)!])!
        let meters = RouteLine(far.places)!.meters
        #expect(try Self.isRoute(seconds: 3600, meters: meters - 900, for: far))
        #expect(try !Self.isRoute(seconds: 3600, meters: meters - 1_100, for: far))
        // Stops count: the straight line leads through them.
        let round = RouteQuery(places: [ProviderFixtures.door, ProviderFixtures.station, ProviderFixtures.door])!
        #expect(try !Self.isRoute(meters: Self.straight, for: round))
    }

    @Test func `a short trip may be a few meters along a street`() throws {
        let near = Coordinate(
            latitude: ProviderFixtures.door.latitude + 0.001, longitude: ProviderFixtures.door.longitude)!
        #expect(try Self.isRoute(seconds: 5, meters: 10, for: RouteQuery(places: [near, ProviderFixtures.door])!))
    }

    @Test func `a route ends within 500 m of the destination`() throws {
        for (degrees, isRoute) in [(0.004, true), (0.005, false)] {
            let end = Coordinate(
                latitude: ProviderFixtures.door.latitude + degrees, longitude: ProviderFixtures.door.longitude)!
            #expect(try Self.isRoute(meters: 7_000, line: [ProviderFixtures.station, end]) == isRoute, "\(degrees)")
        }
    }

    @Test func `a route that takes implausibly long is refused`() throws {
        #expect(try !Self.isRoute(seconds: 86_400, meters: 8_000))
        // On foot against the wind, with a ferry.
        #expect(try Self.isRoute(seconds: 20_000, meters: 8_000))
        #expect(try Self.isRoute(seconds: 86_400, meters: 700_000))
    }

    @Test(arguments: [(0.0, 0.0), (200, 2_000), (86_400, 8_100)])
    func `a response that does not reach the destination is not a route, and the next source answers`(
        seconds: Double, meters: Double
    ) async throws {
        let events = NIOLockedValueBox<[RouteFinder.Event]>([])
        let text = #"{"code":"Ok","routes":[{"duration":\#(seconds),"distance":\#(meters)}]}"#
        try await ProviderServer.running({ _ in .json(text) }) { server in
            try await withClient { client in
                let finder = RouteFinder(
                    providers: [(try OSRM(url: server.url), DailyBudget(questions: nil))], local: Self.streets,
                    client: client, clock: { (1, 1) }, report: { event in events.withLockedValue { $0.append(event) } })
                let found = await finder.find(Self.question)
                #expect(found?.source == .streets && found?.answer.meters == 9_000)
                #expect(events.withLockedValue { $0.contains(.failed(.osrm, .noRoute)) })
            }
        }
    }

    private static let streets = LocalRoutes(source: .streets) { _ throws(ProviderFailure) in
        try RouteAnswer(seconds: 900, meters: 9_000, knowsTraffic: false)
    }

    @Test func `only a cached or a local route costs no query, and it does not hide a provider's`() async throws {
        try await ProviderServer.running(ProviderFixtures.osrm) { server in
            try await withClient { client in
                let finder = RouteFinder(
                    providers: [(try OSRM(url: server.url), DailyBudget(questions: nil))], local: Self.streets,
                    client: client, clock: { (1, 1) })
                #expect(await finder.findWithoutProviders(Self.question)?.source == .streets)
                #expect(server.questions.isEmpty)
                #expect(await finder.find(Self.question)?.source == .osrm)
                #expect(await finder.findWithoutProviders(Self.question)?.source == .osrm)
                #expect(server.questions.count == 1)
            }
        }
    }
}
