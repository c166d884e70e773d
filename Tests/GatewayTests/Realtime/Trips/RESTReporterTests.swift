import Access
import EnrouteClient
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Riders whose phones report by REST: the guidance they receive, and the unavailable reasons their followers receive.
@Suite struct RESTReporterTests {
    /// Meters per degree of latitude.
    private static let metersOfDegree = 111_195.0

    /// A position this many meters south of the destination.
    private static func fix(south meters: Double, ago: Int64, speed: Double = 1) -> String {
        let latitude = 41.9 - meters / Self.metersOfDegree
        return #"{"at":\#(WallClock.nowMilliseconds - ago),"lat":\#(latitude),"lon":12.5,"acc":5,"spd":\#(speed)}"#
    }

    private static func run(
        _ names: [String] = ["job-1"], _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            // The rider may be somewhere else at once, and nothing is filtered.
            try await RunningGateway.run(
                isSecure: false,
                {
                    $0.validation.allowJumps()
                    change(&$0)
                }
            ) { gateway in
                for name in names {
                    _ = try await gateway.travellingJob(name)
                    let on = try await gateway.rest("PUT", "/api/v1/jobs/\(name)/travel", by: "rider-1", .rider)
                    #expect(on.status == 200)
                }
                try await body(gateway)
            }
        }
    }

    /// Positions become stale after 0.2 s, and the rate is not limited.
    static func quicklyStale(_ settings: inout GatewaySettings) {
        settings.freshness = .milliseconds(200)
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
        (settings.limits.requestsPerPersonPerSecond, settings.limits.requestsPerPersonBurst) = (10_000, 10_000)
    }

    private static func send(
        _ gateway: RunningGateway, _ fix: String, to job: String = "job-1", others: String = ""
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, #"{\#(others)"fixes":[\#(fix)]}"#)
    }

    private static func reportUnavailable(_ gateway: RunningGateway, _ reason: String, as rider: String = "rider-1")
        async throws -> RESTResponse
    {
        try await gateway.rest(
            "PUT", "/api/v1/jobs/job-1/unavailable", by: rider, .rider, #"{"reason":"\#(reason)"}"#)
    }

    private static func becomesUnavailable(
        _ reason: UnavailableReason, _ messages: inout GatewayConnection.Messages.AsyncIterator
    ) async throws {
        try await messages.first { if case .unavailable(_, _, let answer) = $0, answer == reason { () } else { nil } }
    }

    @Test func `US-072: an answer's report interval depends on followers, distance and battery`()
        async throws
    {
        try await Self.run { gateway in
            let alone = try await Self.send(gateway, Self.fix(south: 400, ago: 50_000))
            #expect(alone.member("intervalSeconds") == 20, "\(alone)")
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: JobID("job-1")!, since: nil))
                _ = try await seen.subscribed()
                let weak = try await Self.send(
                    gateway, Self.fix(south: 100, ago: 40_000, speed: 10), others: #""battery":0.04,"#)
                #expect(weak.member("intervalSeconds") == 3, "\(weak)")
                let near = try await Self.send(gateway, Self.fix(south: 50, ago: 30_000, speed: 10))
                #expect(near.member("intervalSeconds") == 1, "\(near)")
                let stale = try await Self.send(gateway, Self.fix(south: 50, ago: 31_000))
                #expect(stale.member("intervalSeconds") == 1, "\(stale)")
                let charged = try await Self.send(gateway, Self.fix(south: 50, ago: 1000), others: #""battery":2,"#)
                #expect(charged.status == 422 && charged.text.contains("battery must be a level from 0 to 1"))
            }
        }
    }

    @Test func `US-072: every answer contains the proximity state while it applies`() async throws {
        try await Self.run(["job-1"], { $0.limits.positionsBurst = 100 }) { gateway in
            func proximity(_ meters: Double, ago: Int64) async throws -> String? {
                let answer = try await Self.send(gateway, Self.fix(south: meters, ago: ago))
                #expect(answer.text.contains(#""accepted":["job-1"]"#), "\(answer)")
                return try JSONValue(json: Array(answer.text.utf8))["proximity"]?.array?.first?["state"]?.text
            }
            var proximities: [String?] = []
            for (meters, ago) in [(720, 52_000), (480, 46_000), (5, 36_000), (5, 35_000), (5, 15_500), (5, 15_000)] {
                proximities.append(try await proximity(Double(meters), ago: Int64(ago)))
            }
            #expect(proximities == [nil, "approaching", "approaching", "approaching", "arrived", "arrived"])
            let away = try await proximity(710, ago: 500)
            #expect(away == nil)
        }
    }

    @Test func `US-072: a batch for several jobs states the order of their stops`() async throws {
        try await Self.run(["job-1", "job-2", "job-3"]) { gateway in
            let sent = try await Self.send(
                gateway, Self.fix(south: 400, ago: 0), to: "job-2", others: #""jobs":["job-1","job-3"],"#)
            #expect(sent.text.contains(#""accepted":["job-2","job-1","job-3"]"#), "\(sent)")
            let rounds = StopSequenceStore(live: gateway.client, settings: gateway.settings.liveState)
            for (job, before) in [("job-1", ["job-2"]), ("job-3", ["job-2", "job-1"]), ("job-2", [])] {
                var stops = try await rounds.stops(before: JobID(job)!).get().map(\.text)
                while stops != before { stops = try await rounds.stops(before: JobID(job)!).get().map(\.text) }
            }
        }
    }

    @Test func `US-072: a session's first report, which waits for validation, states the order of stops`() async throws
    {
        try await Self.run(["job-1", "job-2"]) { gateway in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                let fix = Fix(
                    at: WallClock.nowMilliseconds, place: Coordinate(latitude: 41.89, longitude: 12.5)!,
                    accuracyMeters: 5)
                var report = LocationReport(job: JobID("job-1")!, sequence: 1, fixes: [fix])
                report.otherJobs = [JobID("job-2")!]
                try await rider.send(.location(report))
                for _ in 0..<2 {
                    _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                }
            }
            let rounds = StopSequenceStore(live: gateway.client, settings: gateway.settings.liveState)
            try await becomes("the stops are stored") {
                try await rounds.stops(before: JobID("job-2")!).get().map(\.text) == ["job-1"]
            }
        }
    }

    @Test func `US-072: the unavailable reason is network until the next batch, unless the phone reports another`()
        async throws
    {
        try await Self.run(["job-1"], Self.quicklyStale) { gateway in
            try await gateway.connect("olga", .ops) { operations, seen in
                try await operations.send(.subscribe(job: JobID("job-1")!, since: nil))
                _ = try await seen.subscribed()
                _ = try await Self.send(gateway, Self.fix(south: 400, ago: 50_000))
                try await Self.becomesUnavailable(.network, &seen)
                let text = try await gateway.rest("GET", "/api/v1/jobs/job-1/verdicts", by: "rider-1", .rider).text
                #expect(text.contains(#""unavailable":"network""#), "\(text)")
                let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
                // Repeated as often as necessary: on a slow machine the location becomes unavailable again.
                for step in 1...30_000 as ClosedRange<Int64> {
                    _ = try await Self.send(gateway, Self.fix(south: 390, ago: 40_000 - step))
                    if try await notes.read(JobID("job-1")!).get().unavailable == nil { break }
                }
                let over = try await notes.read(JobID("job-1")!).get().unavailable
                #expect(over == nil)
                let answer = try await Self.reportUnavailable(gateway, "services_disabled")
                #expect(answer.status == 204)
                try await Self.becomesUnavailable(.servicesDisabled, &seen)
            }
        }
    }

    @Test func `US-072: refused fixes are the unavailable reason as soon as a position is stale`() async throws {
        try await Self.run(["job-1"], Self.quicklyStale) { gateway in
            let shown = try await Self.send(gateway, Self.fix(south: 400, ago: 40_000))
            #expect(shown.status == 200)
            let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
            try await becomes("the refused fixes are the unavailable reason") {
                let older = try await Self.send(gateway, Self.fix(south: 390, ago: 50_000))
                #expect(older.status == 422 || older.status == 200, "\(older)")
                return try await notes.read(JobID("job-1")!).get().unavailable == .noFix
            }
        }
    }

    @Test func `only the job's rider can report an unavailable reason, and only in travel mode`() async throws {
        try await Self.run { gateway in
            let foreign = try await Self.reportUnavailable(gateway, "hidden", as: "rider-2")
            #expect(foreign.status == 404)
            let off = try await gateway.rest("DELETE", "/api/v1/jobs/job-1/travel", by: "rider-1", .rider)
            #expect(off.status == 200)
            let late = try await Self.reportUnavailable(gateway, "hidden")
            #expect(late.status == 403 && late.member("code") == "travel_mode_off")
            let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
            let known = try await notes.read(JobID("job-1")!).get()
            #expect(known.unavailable == nil)
        }
    }

    @Test(.needsMachine(for: .faults))
    func `an unavailable reason is confirmed once stored, and must be repeated if it was not`()
        async throws
    {
        try await within {
            try await RestartableRedis.running { live in
                let liveAddress = try live.address
                try await withServer { ledger in
                    try await RunningGateway.run(isSecure: false, at: (liveAddress, ledger.address)) { settings in
                        (settings.limits.requestsPerPersonPerSecond, settings.limits.requestsPerPersonBurst) = (
                            10_000, 10_000
                        )
                    } _: { gateway in
                        _ = try await gateway.travellingJob()
                        let on = try await gateway.rest("PUT", "/api/v1/jobs/job-1/travel", by: "rider-1", .rider)
                        #expect(on.status == 200)
                        await live.crash()
                        let refused = try await Self.reportUnavailable(gateway, "hidden")
                        #expect(refused.status == 503 && refused.headers["retry-after"] != nil, "\(refused)")
                        try await live.start(.empty)
                        try await becomes(
                            "the gateway is connected to the live instance again", every: .milliseconds(200)
                        ) {
                            try await Self.reportUnavailable(gateway, "hidden").status == 204
                        }
                        let noted = try await live.run("HGET", "job:{job-1}:verdicts", "unavailable")
                        #expect(noted.text == "hidden")
                    }
                }
            }
        }
    }
}
