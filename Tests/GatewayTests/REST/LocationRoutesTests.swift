import Access
import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import LiveState
import Testing

@testable import Gateway
@testable import Realtime

/// Location reports of phones in the background, by REST over a real socket.
@Suite struct LocationRoutesTests {
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    private static func body(_ times: [Int64], seq: Int? = nil, jobs: [String]? = nil) -> String {
        let fixes = times.map { #"{"at":\#($0),"lat":41.9,"lon":12.5,"acc":5}"# }.joined(separator: ",")
        let others = jobs.map { "[\($0.map { "\"\($0)\"" }.joined(separator: ","))]" }
        return "{" + (seq.map { #""seq":\#($0),"# } ?? "") + (others.map { #""jobs":\#($0),"# } ?? "")
            + #""fixes":[\#(fixes)]}"#
    }

    /// A gateway with jobs whose rider shares a location.
    private static func travelling(
        _ names: [String] = ["job-1"], _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                for name in names {
                    _ = try await gateway.travellingJob(name)
                    let on = try await gateway.rest("PUT", "/api/v1/jobs/\(name)/travel", by: "rider-1", .rider)
                    #expect(on.status == 200)
                }
                try await body(gateway)
            }
        }
    }

    private static func send(_ gateway: RunningGateway, _ body: String, as rider: String = "rider-1") async throws
        -> RESTResponse
    {
        try await gateway.rest("POST", "/api/v1/jobs/job-1/locations", by: rider, .rider, body)
    }

    /// The response without the gateway's time, which must be there.
    private static func timeless(_ response: RESTResponse) -> String {
        guard let time = response.text.firstMatch(of: /,"serverTime":([0-9]{13})/), let ms = Int64(time.1) else {
            return "no serverTime: \(response.text)"
        }
        #expect(abs(Self.now - ms) < 60_000)
        return response.text.replacing(time.0, with: "")
    }

    @Test func `followers receive the newest fix of a batch, and a repeated batch is stale`() async throws {
        try await Self.travelling { gateway in
            let now = Self.now
            try await gateway.connect("anna", .customer) { connection, messages in
                try await connection.send(.subscribe(job: JobID("job-1")!, since: nil))
                _ = try await messages.subscribed()
                let batch = Self.body([now - 40_000, now - 1, now - 90_000], seq: 17)
                let first = try await Self.send(gateway, batch)
                #expect(first.status == 200)
                #expect(
                    Self.timeless(first) == #"{"accepted":["job-1"],"intervalSeconds":3,"job":"job-1","#
                        + #""proximity":[{"job":"job-1","state":"approaching"}],"refused":[],"seq":17,"stale":[]}"#)
                let shown = try await messages.location()
                #expect(shown.fix.at == now - 1 && shown.fix.accuracyMeters == 5)
                let again = try await Self.send(gateway, batch)
                #expect(
                    Self.timeless(again) == #"{"accepted":[],"intervalSeconds":3,"job":"job-1","refused":[],"seq":17,"#
                        + #""stale":["job-1"]}"#)
            }
        }
    }

    @Test func `one batch covers several jobs, with a separate outcome for each`() async throws {
        try await Self.travelling(["job-1", "job-2"]) { gateway in
            _ = try await gateway.travellingJob("job-3")
            let answer = try await Self.send(gateway, Self.body([Self.now], jobs: ["job-1", "job-2", "job-3", "none"]))
            #expect(
                Self.timeless(answer) == #"{"accepted":["job-1","job-2"],"intervalSeconds":20,"job":"job-1","#
                    + #""proximity":[{"job":"job-1","state":"approaching"},{"job":"job-2","state":"approaching"}],"refused":["#
                    + #"{"code":"travel_mode_off","job":"job-3","reason":"travel_mode_off"},"#
                    + #"{"code":"travel_mode_off","job":"none","reason":"travel_mode_off"}],"stale":[]}"#)
            for name in ["job-1", "job-2"] {
                let feed = try await gateway.feed.read(JobID(name)!).get()
                #expect(feed.position != nil)
            }
        }
    }

    @Test func `old fixes are stale, and fixes from the future or without travel mode are refused`()
        async throws
    {
        try await Self.travelling { gateway in
            let old = try await Self.send(gateway, Self.body([Self.now - 61_000]))
            #expect(old.status == 200 && old.text.contains(#""stale":["job-1"]"#))
            let early = try await Self.send(gateway, Self.body([Self.now + 60_000]))
            #expect(early.status == 422 && early.member("code") == "future_position")
            // The phone can compare its clock with both.
            let time = early.member("serverTime", as: Int64.self) ?? 0
            #expect(abs(Self.now - time) < 60_000, "\(early)")
            #expect([time, time + 1000].map { HTTPDate.text($0) }.contains(early.headers["date"]), "\(early)")
            let foreign = try await Self.send(gateway, Self.body([Self.now]), as: "rider-2")
            #expect(foreign.status == 403 && foreign.member("code") == "travel_mode_off")
            let feed = try await gateway.feed.read(JobID("job-1")!).get()
            #expect(feed.position == nil && feed.isOpen)
            let off = try await gateway.rest("DELETE", "/api/v1/jobs/job-1/travel", by: "rider-1", .rider)
            #expect(off.status == 200)
            let after = try await Self.send(gateway, Self.body([Self.now]))
            #expect(after.status == 403 && after.member("code") == "travel_mode_off")
        }
    }

    @Test func `a batch is accepted after the live instance has lost its data`() async throws {
        try await Self.travelling { gateway in
            let keyspace = gateway.settings.liveState.keyspace
            _ = try await gateway.client.send(["DEL", .text(keyspace.travel(of: JobID("job-1")!))]).get()
            let answer = try await Self.send(gateway, Self.body([Self.now]))
            #expect(answer.text.contains(#""accepted":["job-1"]"#), "\(answer)")
        }
    }

    /// The second fix of the batch is mocked, at the null island, inaccurate, or held because of its distance.
    @Test(arguments: [
        #""lat":41.95,"lon":12.5,"acc":5,"mock":true"#, #""lat":0,"lon":0,"acc":5"#,
        #""lat":41.95,"lon":12.5,"acc":5000"#, #""lat":42.4,"lon":12.5,"acc":5"#,
    ])
    func `a rider is found where followers see it, and not at a newer fix of the batch that was not published`(
        other: String
    ) async throws {
        try await Self.travelling { gateway in
            let rider = PersonID("rider-1")!
            try await gateway.register(rider)
            try await gateway.goOnline(rider)
            let now = Self.now
            let good = #"{"at":\#(now - 1000),"lat":41.9,"lon":12.5,"acc":5}"#
            let answer = try await Self.send(gateway, #"{"fixes":[\#(good),{"at":\#(now - 1),\#(other)}]}"#)
            #expect(answer.text.contains(#""accepted":["job-1"]"#), "\(answer)")
            let index = GeoIndex(live: gateway.client, settings: gateway.settings.liveState)
            let place = Coordinate(latitude: 41.9, longitude: 12.5)!
            let found = try await index.near(place, in: RunningGateway.rome, within: 1_000, limit: 10).get()
            #expect(found.map(\.rider) == [rider])
        }
    }

    @Test func `after the live instance has lost its data, another rider cannot stop the trip`() async throws {
        try await Self.travelling { gateway in
            let keyspace = gateway.settings.liveState.keyspace
            _ = try await gateway.client.send(["DEL", .text(keyspace.travel(of: JobID("job-1")!))]).get()
            let other = try await gateway.rest("DELETE", "/api/v1/jobs/job-1/travel", by: "rider-2", .rider)
            #expect(other.status == 404)
            let answer = try await Self.send(gateway, Self.body([Self.now]))
            #expect(answer.text.contains(#""accepted":["job-1"]"#), "\(answer)")
            let off = try await gateway.rest("DELETE", "/api/v1/jobs/job-1/travel", by: "rider-1", .rider)
            #expect(off.status == 200)
            let state = try await gateway.feed.read(JobID("job-1")!).get()
            #expect(state.isClosed)
        }
    }

    @Test func `batches over the rate limit are refused with a retry time`() async throws {
        try await Self.travelling(["job-1"], { $0.limits.positionsBurst = 2 }) { gateway in
            var answers: [RESTResponse] = []
            let start = Self.now - 20
            for step in 0..<12 { answers.append(try await Self.send(gateway, Self.body([start + Int64(step)]))) }
            #expect(answers.prefix(2).allSatisfy { $0.status == 200 })
            let refused = try #require(answers.first { $0.status != 200 })
            #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
            #expect(refused.member("code") == "rate_limited" && refused.member("retryable") == true)
        }
    }

    @Test(arguments: [
        ("", 400, "It needs a JSON object."), ("{", 400, "The body is not valid JSON."),
        (#"{"fixes":}"#, 400, "The body is not valid JSON."), (#"{"fixes":[]}x"#, 400, "The body is not valid JSON."),
        (#"{"\u0061":1,"fixes":[]}"#, 422, "must not contain escape"),
        ("[]", 422, "expected an object"), ("{}", 422, "at least one fix"),
        (#"{"fixes":[]}"#, 422, "at least one fix"),
        (#"{"fixes":[{"at":1,"lat":1,"lon":1}]}"#, 422, "a fix needs at"),
        (#"{"fixes":[{"at":1709164800250,"lat":91,"lon":1}]}"#, 422, "lat must be -90"),
        (#"{"fixes":7}"#, 422, "expected an array"),
        (#"{"seq":-1,"fixes":[{"at":1709164800250,"lat":1,"lon":1}]}"#, 422, "seq"),
        (Self.body(Array(repeating: 1_709_164_800_250, count: 51)), 422, "at most 50 fixes"),
        (Self.body([1_709_164_800_250], jobs: ["a b"]), 422, "jobs must be"),
        (Self.body([1_709_164_800_250], jobs: ["a", "a"]), 422, "without duplicates"),
        (Self.body([1_709_164_800_250], jobs: (0..<10).map { "j\($0)" }), 422, "at most 10 jobs"),
    ])
    func `an invalid batch is refused with the reason`(body: String, status: Int, reason: String)
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let answer = try await Self.send(gateway, body)
                #expect(answer.status == status && answer.text.contains(reason), "\(answer)")
                #expect(answer.headers["content-type"] == "application/problem+json")
            }
        }
    }
}
