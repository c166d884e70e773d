import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// The verdicts on a rider's fixes over WebSocket and REST: what followers receive, how the rider is answered, and what is
/// counted.
@Suite struct FixVerdictTests {
    /// Meters per degree of latitude.
    private static let metersOfDegree = 111_195.0

    /// A fix this many meters north of the rider's start.
    private static func fix(_ at: Int64, north meters: Double = 0, accuracy: Double = 5) -> Fix {
        Fix(
            at: at, place: Coordinate(latitude: 41.9 + meters / Self.metersOfDegree, longitude: 12.5)!,
            accuracyMeters: accuracy)
    }

    private static func report(_ job: JobID, _ sequence: Int64, _ fixes: [Fix]) -> ClientMessage {
        .location(LocationReport(job: job, sequence: sequence, fixes: fixes))
    }

    private static func body(_ fixes: [Fix]) -> String {
        let texts = fixes.map {
            #"{"at":\#($0.at),"lat":\#($0.place.latitude),"lon":\#($0.place.longitude),"acc":\#($0.accuracyMeters ?? 5)}"#
        }
        return #"{"fixes":[\#(texts.joined(separator: ","))]}"#
    }

    private static func run(_ body: @escaping @Sendable (RunningGateway, JobID) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.unbounded) { gateway in
                try await body(gateway, try await gateway.travellingJob())
            }
        }
    }

    /// Every report is validated separately; none replaces another.
    private static func unbounded(_ settings: inout GatewaySettings) {
        settings.limits.allowManyMessages()
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
    }

    /// The answer to a report: `ok`, or the code and reason.
    private static func answer(
        _ messages: inout GatewayConnection.Messages.AsyncIterator
    ) async throws -> String {
        try await messages.first { message in
            switch message {
            case .ok("location", _, _, _, _): "ok"
            case .error(let refusal): "\(refusal.code.rawValue) \(refusal.reason ?? "")"
            default: nil
            }
        }
    }

    /// Waits until the counts of a job are `wanted`. They are written every few seconds.
    private static func counts(
        _ gateway: RunningGateway, _ job: JobID, _ wanted: [String: Int]
    ) async throws {
        let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
        try await becomes("the counts are \(wanted)", every: .milliseconds(10)) {
            try await notes.read(job).get().counts == wanted
        }
    }

    @Test func `US-072: each fix of a session gets a verdict, and the marker moves or stays`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    let now = WallClock.nowMilliseconds
                    let refuted = "implausible_position implausible_speed"
                    let steps: [([Fix], [String])] = [
                        ([Self.fix(now - 30_000)], ["ok"]),
                        ([Self.fix(now - 30_000)], ["stale_position duplicate"]),
                        ([Self.fix(now - 31_000)], ["stale_position out_of_order"]),
                        ([Self.fix(now - 61_000)], ["stale_position stale"]),
                        ([Self.fix(now + 60_000)], ["future_position future"]),
                        ([Self.fix(now - 29_000, accuracy: 3000)], ["implausible_position inaccurate"]),
                        // Five kilometers in one second: held, then refuted by the next fix.
                        ([Self.fix(now - 29_000, north: 5000)], ["ok"]),
                        ([Self.fix(now - 28_000, north: 10)], [refuted, "ok"]),
                        // The newest accepted fix is shown, whatever else the report contains.
                        ([Self.fix(now - 26_000, north: 9000), Self.fix(now - 27_000, north: 20)], ["ok"]),
                    ]
                    for (index, step) in steps.enumerated() {
                        try await rider.send(Self.report(job, Int64(index), step.0))
                        for expected in step.1 {
                            let answer = try await Self.answer(&answers)
                            #expect(answer == expected, "\(index)")
                        }
                    }
                    for at in [now - 30_000, now - 28_000, now - 27_000] {
                        let shown = try await seen.location().fix.at
                        #expect(shown == at)
                    }
                }
            }
            // Counts are written when the session ends, too.
            try await Self.counts(
                gateway, job,
                [
                    "accepted": 3, "held": 2, "duplicate": 1, "out_of_order": 1, "stale": 1, "future": 1,
                    "inaccurate": 1,
                    "implausible_speed": 1,
                ])
            let answer = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "olga", .ops)
            #expect(answer.text.contains(#"{"verdict":"inaccurate","count":1}"#), "\(answer)")
            let forRider = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "rider-1", .rider)
            #expect(forRider.status == 200 && forRider.text == answer.text)
            let forAnother = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "rider-2", .rider)
            #expect(forAnother.status == 404)
            let forCustomer = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "anna", .customer)
            #expect(forCustomer.status == 403)
            try await gateway.waitForMetric(#"enroute_locations_validated_total{verdict="inaccurate"} 1"#)
        }
    }

    @Test func `US-072: distant fixes are accepted after they agree for twenty seconds, and not before`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    let start = WallClock.nowMilliseconds - 50_000
                    for second in 0...41 as ClosedRange<Int64> {
                        try await rider.send(
                            Self.report(
                                job, second, [Self.fix(start + second * 1000, north: second <= 20 ? 0 : 20_000)]))
                        _ = try await Self.answer(&answers)
                    }
                    for second in Array(0...20) + [41] as [Int64] {
                        let shown = try await seen.location()
                        #expect(shown.fix.at == start + second * 1000)
                    }
                }
            }
        }
    }

    @Test func `US-072: REST batches get the same verdicts, each as a whole`() async throws {
        try await Self.run { gateway, job in
            func send(_ fixes: [Fix]) async throws -> RESTResponse {
                try await gateway.rest("POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, Self.body(fixes))
            }
            let now = WallClock.nowMilliseconds
            let off = try await send([Self.fix(now - 40_000)])
            #expect(off.status == 403 && off.member("code") == "travel_mode_off")
            _ = try await gateway.rest("PUT", "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
            let first = try await send([
                Self.fix(now - 30_000), Self.fix(now - 35_000), Self.fix(now - 34_000, north: 9000),
            ])
            // Nine kilometers away and back within the batch.
            #expect(first.text.contains(#""refuted":["job-1"]"#), "\(first)")
            #expect(first.text.hasPrefix(#"{"accepted":["job-1"],"#), "\(first)")
            let position = try #require(try await gateway.feed.read(job).get().position)
            #expect(String(decoding: position, as: UTF8.self).contains(#""at":\#(now - 30_000)"#))
            let again = try await send([Self.fix(now - 30_000)])
            #expect(again.text.contains(#""stale":["job-1"]"#), "\(again)")
            let far = try await send([Self.fix(now - 29_000, north: 5000)])
            #expect(far.text.contains(#""held":["job-1"],"#) && far.text.contains(#""stale":[]"#), "\(far)")
            #expect(far.text.hasPrefix(#"{"accepted":[],"#), "\(far)")
            let vague = try await send([Self.fix(now - 28_000, accuracy: 5000)])
            #expect(vague.status == 422 && vague.member("code") == "implausible_position")
            let late = try await send([Self.fix(now + 60_000)])
            #expect(late.status == 422 && late.member("code") == "future_position")
            // A held fix outlives the request: later fixes that agree with it are accepted.
            let agreed = try await send([Self.fix(now - 18_000, north: 5000)])
            #expect(agreed.text.contains(#""accepted":["job-1"]"#), "\(agreed)")
            try await Self.counts(
                gateway, job,
                [
                    "accepted": 3, "held": 2, "duplicate": 1, "inaccurate": 1, "future": 1, "implausible_speed": 1,
                    "travel_mode_off": 1,
                ])
        }
    }

    @Test func `US-072: a second gateway continues validation from what followers see`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.unbounded) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, Self.unbounded) { second in
                    let job = try await first.travellingJob()
                    let now = WallClock.nowMilliseconds
                    try await first.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        _ = try await answers.travelAnswer()
                        try await rider.send(Self.report(job, 1, [Self.fix(now - 20_000)]))
                        let answer = try await Self.answer(&answers)
                        #expect(answer == "ok")
                    }
                    let travel = first.settings.liveState.keyspace.travel(of: job)
                    try await becomes("the first connection no longer reports") {
                        try await first.client.run("GET", travel).text?.split(separator: " ").count == 3
                    }
                    try await second.connect("rider-1", .rider) { rider, answers in
                        // Sent together, before anything is read: an older fix, a distant one and a valid one.
                        try await rider.send(Self.report(job, 2, [Self.fix(now - 25_000)]))
                        try await rider.send(Self.report(job, 3, [Self.fix(now - 19_000, north: 8000)]))
                        try await rider.send(Self.report(job, 4, [Self.fix(now - 18_000, north: 20)]))
                        var notified: [String] = []
                        for _ in 0..<4 { notified.append(try await Self.answer(&answers)) }
                        let refuted = "implausible_position implausible_speed"
                        #expect(notified == ["stale_position out_of_order", "ok", refuted, "ok"])
                    }
                    let position = try #require(try await first.feed.read(job).get().position)
                    #expect(String(decoding: position, as: UTF8.self).contains(#""at":\#(now - 18_000)"#))
                }
            }
        }
    }

    @Test func `US-072: fixes with invalid coordinates are refused with their reason and counted for the job`()
        async throws
    {
        try await Self.run { gateway, job in
            let now = WallClock.nowMilliseconds
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                let reports: [([Fix], [InvalidFix], String)] = [
                    ([], [InvalidFix(at: now - 9000, fault: .zeroZero)], "bad_request zero_zero"),
                    ([], [InvalidFix(at: now - 8000, fault: .outOfRange)], "bad_request out_of_range"),
                    // The other fixes of a report are validated as usual.
                    ([Self.fix(now - 7000)], [InvalidFix(at: now - 6000, fault: .zeroZero)], "ok"),
                    ([Self.fix(now - 7000)], [InvalidFix(at: now - 5000, fault: .zeroZero)], "bad_request zero_zero"),
                ]
                for (fixes, invalidFixes, expected) in reports {
                    try await rider.send(
                        .location(LocationReport(job: job, sequence: 1, fixes: fixes, invalidFixes: invalidFixes)))
                    let answer = try await Self.answer(&answers)
                    #expect(answer == expected)
                }
            }
            func send(_ fixes: String) async throws -> RESTResponse {
                try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, #"{"fixes":[\#(fixes)]}"#)
            }
            let nowhere = try await send(#"{"at":\#(now - 4000),"lat":91,"lon":12.5}"#)
            #expect(nowhere.status == 422 && nowhere.member("code") == "unprocessable")
            #expect(nowhere.text.contains("lat must be -90 to 90"))
            let partly = try await send(
                #"{"at":\#(now - 4000),"lat":0,"lon":0},{"at":\#(now - 3000),"lat":41.9,"lon":12.5}"#)
            #expect(partly.text.contains(#""accepted":["job-1"]"#), "\(partly)")
            try await Self.counts(
                gateway, job, ["accepted": 2, "duplicate": 1, "out_of_range": 2, "zero_zero": 4])
            try await gateway.waitForMetric(#"enroute_locations_validated_total{verdict="zero_zero"} 4"#)
        }
    }

    @Test func `fixes of an unassigned rider are not counted for the job`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("rider-2", .rider) { thief, answers in
                try await thief.send(Self.report(job, 1, [Self.fix(WallClock.nowMilliseconds)]))
                let answer = try await Self.answer(&answers)
                #expect(answer == "travel_mode_off travel_mode_off")
            }
            try await gateway.waitForMetric(#"enroute_locations_validated_total{verdict="travel_mode_off"} 1"#)
            let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
            #expect(try await notes.read(job).get().counts == [:])
        }
    }
}
