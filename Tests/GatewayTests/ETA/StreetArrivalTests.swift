import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import Routing
import Streets
import TestSupport
import Testing

@testable import ETA
@testable import Gateway
@testable import Realtime

/// Arrival times from the gateway's own street network (`ENROUTE_STREETS_FILE`).
@Suite struct StreetArrivalTests {
    /// A street from where `ArrivalServiceTests.move` reports to the door of its visit, with a detour in the middle.
    private static let town = """
        {"type":"FeatureCollection","features":[{"type":"Feature","properties":{"highway":"residential","maxspeed":"30"},
        "geometry":{"type":"LineString","coordinates":
        [[16.377,48.180],[16.377,48.195],[16.350,48.210],[16.377,48.225],[16.4138,48.2351]]}}]}
        """

    private static func withStreets(
        _ services: [ArrivalService], _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-streets-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (input, output) = (folder.appending(path: "town.geojson").path, folder.appending(path: "town.streets").path)
        try Self.town.write(toFile: input, atomically: true, encoding: .utf8)
        _ = try StreetCompiler.compile(inputs: [input], output: output)
        let network = try StreetNetwork(path: output)
        let settings = ArrivalServiceTests.settings(services, longestWait: .milliseconds(500))
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                { changed in
                    settings(&changed)
                    changed.arrivals.streets = network
                }, body)
        }
    }

    @Test func `without a provider the streets determine the arrival`() async throws {
        try await Self.withStreets([]) { gateway in
            let job = try await ArrivalServiceTests.visit(gateway)
            try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                try await ArrivalServiceTests.move(rider, job, 0)
                let eta = try await messages.knownETA()
                #expect(eta.source == "streets" && eta.confidence == .medium)
                // 8.3 km of street, at some 24 km/h.
                #expect((900...1_700).contains(try #require(eta.seconds)))
                // The remaining route takes as long as the estimate, and the estimate has a range.
                let (route, seconds) = try (#require(eta.route), #require(eta.seconds))
                #expect(abs(route.seconds - seconds) < 60)
                let (earliest, latest) = try (#require(eta.earliestAt), #require(eta.latestAt))
                let arrivesAt = try #require(eta.arrivesAt)
                #expect(earliest < arrivesAt && arrivesAt < latest)
                try await gateway.waitForMetric(
                    "enroute_eta_requests_total{provider=\"streets\",outcome=\"answered\"} ")
            }
        }
    }

    @Test func `the streets are used when a provider fails, and not while it answers`() async throws {
        let failing: ProviderServer.Behaviour = { _ in .json("{}", status: 500) }
        for (behaviour, source) in [(failing, "streets"), (ProviderFixtures.osrm, "osrm")] {
            try await ProviderServer.running(behaviour) { server in
                let osrm = ArrivalService(try OSRM(url: server.url), dailyBudget: nil)
                try await Self.withStreets([osrm]) { gateway in
                    let job = try await ArrivalServiceTests.visit(gateway)
                    try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                        try await ArrivalServiceTests.move(rider, job, 0)
                        #expect(try await messages.knownETA().source == source)
                    }
                }
            }
        }
    }

    @Test func `while another gateway holds the lease the streets are used, and no provider is queried`() async throws {
        try await ProviderServer.running(ProviderFixtures.osrm) { server in
            let osrm = ArrivalService(try OSRM(url: server.url), dailyBudget: nil)
            try await Self.withStreets([osrm]) { gateway in
                let job = try await ArrivalServiceTests.visit(gateway)
                let client = try await RedisClient.started(at: gateway.settings.live)
                defer { client.stop() }
                let store = ETAStore(live: client, settings: LiveStateSettings())
                #expect(try await store.claim(job, for: .seconds(600)).get())
                try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                    try await ArrivalServiceTests.move(rider, job, 0)
                    let eta = try await messages.knownETA()
                    #expect(eta.source == "streets" && eta.route != nil)
                    #expect(server.questions.isEmpty)
                }
            }
        }
    }

    @Test func `a rider far from the streets gets the built-in estimate`() async throws {
        try await Self.withStreets([]) { gateway in
            let job = try await ArrivalServiceTests.visit(gateway)
            try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                // 10 km south of the first corner.
                let place = Coordinate(latitude: 48.09, longitude: 16.377)!
                try await rider.send(
                    .location(
                        LocationReport(
                            job: job, sequence: 1,
                            fixes: [Fix(at: Int64(Date.now.timeIntervalSince1970 * 1000), place: place)])))
                #expect(try await messages.knownETA().source == "built_in")
                try await gateway.waitForMetric(
                    "enroute_eta_requests_total{provider=\"streets\",outcome=\"no_route\"} ")
            }
        }
    }
}
