import EnrouteWire
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Routing

/// Providers that are slow, refuse, fail or return nonsense, over real connections.
@Suite struct FaultTests {
    /// A clock that is set by the test.
    private final class Clock: Sendable {
        private let value = NIOLockedValueBox<UInt64>(1_000_000_000_000)
        func read() -> (monotonic: UInt64, wall: Int64) {
            self.value.withLockedValue { ($0, 1_795_000_000_000 + Int64($0 / 1_000_000)) }
        }
        func pass(seconds: Double) { self.value.withLockedValue { $0 += UInt64(seconds * 1e9) } }
    }

    private struct Site {
        let finder: RouteFinder
        let clock: Clock
        let osrm: ProviderServer
        let azure: ProviderServer
        let events: NIOLockedValueBox<[RouteFinder.Event]>

        var failures: [ProviderFailure] {
            self.events.withLockedValue { $0 }.compactMap {
                if case .failed(_, let failure) = $0 { failure } else { nil }
            }
        }

        /// A different place each time, so no route is cached.
        func find(_ number: Int = 0) async -> SourcedRoute? {
            let start = Coordinate(latitude: 48.19 + Double(number) * 0.002, longitude: 16.38)!
            return await self.finder.find(RouteQuery(places: [start, ProviderFixtures.door])!)
        }
    }

    /// Azure Maps first, then OSRM.
    private static func site(
        azure: @escaping ProviderServer.Behaviour, osrm: @escaping ProviderServer.Behaviour = ProviderFixtures.osrm,
        budget: Int? = nil, longestWait: Duration = .seconds(30), _ body: (Site) async throws -> Void
    ) async throws {
        try await withClient(longestWait: longestWait) { client in
            try await ProviderServer.running(azure) { azure in
                try await ProviderServer.running(osrm) { osrm in
                    let (clock, events) = (Clock(), NIOLockedValueBox<[RouteFinder.Event]>([]))
                    let finder = RouteFinder(
                        providers: [
                            (try AzureMaps(key: ProviderFixtures.key, url: azure.url), DailyBudget(questions: budget)),
                            (try OSRM(url: osrm.url), DailyBudget(questions: nil)),
                        ], client: client, clock: { clock.read() },
                        report: { event in events.withLockedValue { $0.append(event) } })
                    try await body(Site(finder: finder, clock: clock, osrm: osrm, azure: azure, events: events))
                }
            }
        }
    }

    @Test func `the first response is used, and no other provider is queried`() async throws {
        try await Self.site(azure: ProviderFixtures.azureMaps) { site in
            let found = await site.find()
            #expect(found?.source == .azureMaps && found?.answer.seconds == 1020)
            #expect(site.azure.questions.count == 1 && site.osrm.questions.isEmpty)
        }
    }

    @Test func `a query close to a recent one gets the cached route`() async throws {
        try await Self.site(azure: ProviderFixtures.azureMaps) { site in
            for _ in 0..<5 { #expect(await site.find()?.source == .azureMaps) }
            #expect(site.azure.questions.count == 1)
            site.clock.pass(seconds: RouteCache.goodSeconds)
            _ = await site.find()
            #expect(site.azure.questions.count == 2)
        }
    }

    @Test func `many equal queries at the same time cost one request`() async throws {
        try await Self.site(azure: ProviderFixtures.azureMaps) { site in
            await withTaskGroup(of: ArrivalSource?.self) { group in
                for _ in 0..<50 { group.addTask { await site.find()?.source } }
                for await source in group { #expect(source == .azureMaps) }
            }
            #expect(site.azure.questions.count == 1)
        }
    }

    @Test(arguments: [
        ProviderServer.Answer.json("{}", status: 500), .json("<html>", status: 200), .hangUp, .bytes(2_000_000),
        .json("", status: 302, headers: ["location": "https://elsewhere.example/"]), .json("", status: 403),
    ])
    func `US-072 AC-007: when the first provider fails in any way, the next one answers`(
        answer: ProviderServer.Answer
    ) async throws {
        try await Self.site(azure: { _ in answer }) { site in
            #expect(await site.find()?.source == .osrm)
            #expect(site.failures.count == 1 && site.failures.first?.isFault == true)
        }
    }

    @Test(arguments: [ProviderServer.Answer.silence, .stuck(#"{"type":"#)])
    func `a provider that is silent or stops halfway times out, and the next one answers`(
        answer: ProviderServer.Answer
    ) async throws {
        try await Self.site(azure: { _ in answer }, longestWait: .milliseconds(500)) { site in
            // The next provider has half a second too, which a busy machine may exceed. One success is enough.
            var found: SourcedRoute?
            for number in 0..<60 where found == nil {
                found = await site.find(number)
                // The open time of the circuit breaker is over.
                site.clock.pass(seconds: 700)
            }
            #expect(found?.source == .osrm)
            #expect(site.failures.first == .late)
        }
    }

    @Test func `an error about an unreachable provider contains no position`() async throws {
        let osrm = try OSRM(url: "http://127.0.0.1:1")
        try await withClient { client in
            do {
                _ = try await client.ask(osrm.request(ProviderFixtures.question))
                Issue.record("a provider answered")
            } catch {
                #expect(!"\(error)".contains("16.") && "\(error)".contains("Cannot connect to the provider"))
            }
        }
    }

    @Test func `after a 429 the provider is not queried before Retry-After`() async throws {
        let throttled = ProviderServer.Answer.json("", status: 429, headers: ["retry-after": "120"])
        try await Self.site(azure: { _ in throttled }) { site in
            #expect(await site.find(0)?.source == .osrm)
            site.azure.behave(ProviderFixtures.azureMaps)
            site.clock.pass(seconds: 119)
            #expect(await site.find(1)?.source == .osrm)
            #expect(site.azure.questions.count == 1)
            site.clock.pass(seconds: 1)
            #expect(await site.find(2)?.source == .azureMaps)
            #expect(site.failures == [.throttled(retryAfterSeconds: 120)])
        }
    }

    @Test func `after three failures a provider is avoided, one trial query succeeds, and it is used again`()
        async throws
    {
        try await Self.site(azure: { _ in .json("", status: 500) }) { site in
            for number in 0..<6 { #expect(await site.find(number)?.source == .osrm) }
            #expect(site.azure.questions.count == 3)
            site.clock.pass(seconds: 10)
            for number in 6..<9 { #expect(await site.find(number)?.source == .osrm) }
            #expect(site.azure.questions.count == 4)
            site.azure.behave(ProviderFixtures.azureMaps)
            site.clock.pass(seconds: 20)
            for number in 9..<12 { #expect(await site.find(number)?.source == .azureMaps) }
        }
    }

    @Test func `when the daily budget is used up the next provider answers, until the next day`() async throws {
        try await Self.site(azure: ProviderFixtures.azureMaps, budget: 2) { site in
            var sources: [ArrivalSource?] = []
            for number in 0..<4 { sources.append(await site.find(number)?.source) }
            #expect(sources == [.azureMaps, .azureMaps, .osrm, .osrm] && site.azure.questions.count == 2)
            site.clock.pass(seconds: 86_400)
            #expect(await site.find(4)?.source == .azureMaps)
        }
    }

    @Test func `a missing route is no failure of the provider`() async throws {
        let none = ProviderServer.Answer.json(#"{"code":"NoRoute"}"#)
        try await Self.site(azure: { _ in .json(#"{"features":[]}"#) }, osrm: { _ in none }) { site in
            for number in 0..<5 { #expect(await site.find(number) == nil) }
            // Both providers are still queried.
            #expect(site.azure.questions.count == 5 && site.osrm.questions.count == 5)
        }
    }

    @Test func `jobs without a route do not stop the provider from serving others`() async throws {
        let island = ProviderServer.Answer.json(
            #"{"error":{"code":"400 BadRequest","message":"NO_ROUTE_FOUND"}}"#, status: 400)
        let far = ProviderServer.Answer.json(#"{"code":"TooBig"}"#, status: 400)
        try await Self.site(azure: { _ in island }, osrm: { _ in far }) { site in
            for number in 0..<5 { #expect(await site.find(number) == nil) }
            #expect(site.azure.questions.count == 5 && site.osrm.questions.count == 5)
            site.azure.behave(ProviderFixtures.azureMaps)
            #expect(await site.find(5)?.source == .azureMaps)
        }
    }
}
