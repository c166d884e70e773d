import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Logging
import Routing
import Synchronization
import TestSupport
import Testing

@testable import ETA
@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Running gateways that query documented providers over HTTP: OSRM, Azure Maps, Mapbox, and their failures.
@Suite struct ArrivalServiceTests {
    private static let door = Coordinate(latitude: 48.2351, longitude: 16.4138)!
    private static let key = ProviderKey(ProviderFixtures.keyText)!
    /// Settings with an interval of two seconds.
    private static let leaseMilliseconds: Int64 = 1933

    private static func osrm(_ server: ProviderServer, daily: Int? = nil) throws -> ArrivalService {
        ArrivalService(try OSRM(url: server.url), dailyBudget: daily)
    }

    static func settings(
        _ services: [ArrivalService], longestWait: Duration = .seconds(30)
    ) -> @Sendable (inout GatewaySettings) -> Void {
        { settings in
            ArrivalTimesTests.settings(&settings)
            (settings.arrivals.services, settings.arrivals.longestWait) = (services, longestWait)
        }
    }

    /// A visit in Vienna that is on its way.
    static func visit(_ gateway: RunningGateway, _ name: String = "job-1") async throws -> JobID {
        let job = JobID(name)!
        _ = try await gateway.ledger.create(
            NewJob(
                job: job, kind: .service, customer: PersonID("anna")!, rider: PersonID("rider-1")!,
                destination: self.door, actor: PersonID("service")!), epoch: "epoch-1"
        ).get()
        _ = try await gateway.ledger.publish(.onTheWay, of: job, by: PersonID("service")!, source: "event").get()
        return job
    }

    /// Reports a location a few blocks further, so no cached route applies.
    static func move(_ rider: GatewayConnection, _ job: JobID, _ number: Int) async throws {
        let place = Coordinate(latitude: 48.185 + Double(number) * 0.002, longitude: 16.377)!
        try await rider.send(
            .location(
                LocationReport(
                    job: job, sequence: Int64(number),
                    fixes: [Fix(at: Int64(Date.now.timeIntervalSince1970 * 1000), place: place)])))
    }

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void,
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within { try await RunningGateway.run(isSecure: false, change, body) }
    }

    @Test(arguments: [
        (ArrivalSource.osrm, ArrivalConfidence.medium, 732 as Int64), (.azureMaps, .high, 1020), (.mapbox, .high, 905),
    ])
    func `US-072: the queried provider determines the arrival, with longitude and latitude in order`(
        source: ArrivalSource, confidence: ArrivalConfidence, seconds: Int64
    ) async throws {
        let behaviour =
            switch source {
            case .osrm: ProviderFixtures.osrm
            case .azureMaps: ProviderFixtures.azureMaps
            default: ProviderFixtures.mapbox
            }
        try await ProviderServer.running(behaviour) { server in
            let provider: any RouteProvider =
                switch source {
                case .osrm: try OSRM(url: server.url)
                case .azureMaps: try AzureMaps(key: Self.key, url: server.url)
                default: try MapboxDirections(key: Self.key, url: server.url)
                }
            try await Self.run(Self.settings([ArrivalService(provider, dailyBudget: nil)])) { gateway in
                let job = try await Self.visit(gateway)
                try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                    try await Self.move(rider, job, 0)
                    let eta = try await messages.knownETA()
                    #expect(eta.source == source.rawValue && eta.confidence == confidence)
                    #expect(try abs(#require(eta.seconds) - seconds) <= 1)
                    try await gateway.waitForMetric(
                        "enroute_eta_requests_total{provider=\"\(source.rawValue)\",outcome=\"answered\"} ")
                }
            }
        }
    }

    @Test(arguments: [
        ProviderServer.Answer.json("", status: 429, headers: ["retry-after": "120"]), .json("{}", status: 500),
        .json("<html>"), .json(#"{"code":"NoRoute"}"#, status: 400), .silence, .hangUp,
        .json(#"{"code":"Ok","routes":[{"duration":-5,"distance":1}]}"#),
    ])
    func `US-072 AC-007: when the provider fails, locations continue and the built-in estimator answers`(
        answer: ProviderServer.Answer
    ) async throws {
        try await ProviderServer.running({ _ in answer }) { server in
            try await Self.run(Self.settings([Self.osrm(server)], longestWait: .milliseconds(500))) { gateway in
                let job = try await Self.visit(gateway)
                try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                    try await Self.move(rider, job, 0)
                    _ = try await messages.location()
                    let eta = try await messages.knownETA()
                    #expect(eta.source == "built_in" && eta.confidence == .low)
                    #expect(!server.questions.isEmpty)
                    try await Self.move(rider, job, 1)
                    _ = try await messages.location()
                }
            }
        }
    }

    @Test func `of two gateways with followers of a job one sends a query per interval, and both send the result`()
        async throws
    {
        try await ProviderServer.running(ProviderFixtures.osrm) { server in
            let change = Self.settings([try Self.osrm(server)])
            try await Self.run(change) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, change) { second in
                    let job = try await Self.visit(first)
                    try await ArrivalTimesTests.trip(first, job) { _, here, rider in
                        try await second.connect("olga", .ops) { follower, there in
                            try await follower.send(.subscribe(job: job, since: nil))
                            _ = try await there.subscribed()
                            var said: [Int64] = []
                            for number in 0..<3 {
                                try await Self.move(rider, job, number)
                                let told = try await here.knownETA()
                                said.append(told.at)
                                // Both gateways receive the result from Redis as the same bytes.
                                _ = try await there.first { if case .eta(_, told) = $0 { true } else { nil } }
                            }
                            try await rider.send(.travel(job: job, active: false))
                            _ = try await here.first { message in
                                if case .eta(_, let estimate) = message { said.append(estimate.at) }
                                if case .tracking(_, .paused, _) = message { return true } else { return nil }
                            }
                            let milliseconds = try #require(said.last) - #require(said.first)
                            // The first query, one for each lease since, and one that was running at the end.
                            #expect(server.questions.count <= 2 + Int(milliseconds / Self.leaseMilliseconds))
                        }
                    }
                }
            }
        }
    }

    @Test func `no provider is queried for a job without followers`() async throws {
        try await ProviderServer.running(ProviderFixtures.osrm) { server in
            try await Self.run(Self.settings([try Self.osrm(server)])) { gateway in
                let (followed, unfollowed) = (try await Self.visit(gateway), try await Self.visit(gateway, "job-2"))
                try await ArrivalTimesTests.trip(gateway, followed) { _, messages, rider in
                    try await rider.send(.travel(job: unfollowed, active: true))
                    try await Self.move(rider, unfollowed, 20)
                    for number in 0..<2 {
                        try await Self.move(rider, followed, number)
                        _ = try await messages.knownETA()
                    }
                    let elsewhere = server.questions.filter { !$0.uri.contains("/16.377000,48.18") }
                    #expect(elsewhere.isEmpty)
                }
            }
        }
    }

    @Test func `all gateways share a daily budget, and then the built-in estimator answers`()
        async throws
    {
        try await ProviderServer.running(ProviderFixtures.osrm) { server in
            try await Self.run(Self.settings([try Self.osrm(server, daily: 3)])) { gateway in
                let job = try await Self.visit(gateway)
                // Other gateways have sent two queries.
                let arrivals = ETAStore(live: gateway.client, settings: gateway.settings.liveState)
                let day = DailyBudget.day(of: WallClock.nowMilliseconds)
                for _ in 0..<2 { _ = try await arrivals.count("osrm", day: day).get() }
                try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                    var sources: [String?] = []
                    for number in 0..<2 {
                        try await Self.move(rider, job, number)
                        sources.append(try await messages.knownETA().source)
                    }
                    #expect(sources == ["osrm", "built_in"] && server.questions.count == 1)
                    try await gateway.waitForMetric(
                        #"enroute_eta_requests_total{provider="osrm",outcome="over_budget"} 1"#)
                    try await gateway.waitForMetric(#"enroute_eta_budget_remaining{provider="osrm"} 0"#)
                }
            }
        }
    }

    @Test func `no log line at trace contains a key or a position, whatever the provider does`() async throws {
        let lines = Mutex("")
        let logger = Logger(label: "recorded") { _ in Recorder { line in lines.withLock { $0 += line + "\n" } } }
        let answers = Mutex([
            ProviderServer.Answer.json("", status: 403), .json("", status: 302, headers: ["location": "/x"]), .hangUp,
        ])
        try await ProviderServer.running({ _ in answers.withLock { $0.popLast() ?? .json("<") } }) { server in
            let services = [
                ArrivalService(try AzureMaps(key: Self.key, url: server.url), dailyBudget: nil),
                ArrivalService(try MapboxDirections(key: Self.key, url: server.url), dailyBudget: nil),
                try Self.osrm(server),
            ]
            try await within {
                try await RunningGateway.run(isSecure: false, logger: logger, Self.settings(services)) { gateway in
                    let job = try await Self.visit(gateway)
                    try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                        for number in 0..<2 {
                            try await Self.move(rider, job, number)
                            _ = try await messages.knownETA()
                        }
                    }
                }
            }
            #expect(server.questions.count > 3)
        }
        let text = lines.withLock { $0 }
        #expect(text.contains("ETA provider"))
        for secret in [ProviderFixtures.keyText, "a-key", "48.18", "16.37", "48.235", "16.41"] {
            #expect(!text.contains(secret), "\(secret)")
        }
    }
}

/// Reports each log line with its metadata.
private struct Recorder: LogHandler {
    let write: @Sendable (String) -> Void
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.write("\(event.message) \(event.metadata ?? [:]) \(self.metadata)") }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// The next estimate with an arrival time.
    mutating func knownETA() async throws -> ArrivalEstimate {
        try await self.first { message in
            if case .eta(_, let estimate) = message, estimate.state == .ok { estimate } else { nil }
        }
    }
}
