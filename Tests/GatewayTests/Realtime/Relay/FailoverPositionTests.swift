import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Positions that one master of the live instance accepted and the next one lacks.
@Suite(.serialized, .needsMachine(for: .faults)) struct FailoverPositionTests {
    /// A rider may report its next position only seconds later. Until then, followers at a new master would see an old
    /// one.
    @Test func `B30: after a failover, a rider's newest position is published again without another report`()
        async throws
    {
        try await Self.run { gateway, live, job in
            try await gateway.connect("rider-1", .rider) { connection, messages in
                try await connection.send(.travel(job: job, active: true))
                _ = try await messages.travelAnswer()
                try await connection.report(job, step: 1)
                let _: Bool = try await messages.first { message in
                    if case .ok(replyTo: "location", _, _, _, _) = message { true } else { nil }
                }
                try await Self.checkRepublished(live, job)
            }
        }
    }

    @Test func `B30: after a failover, the newest position of a rider who reports by REST is published again`()
        async throws
    {
        try await Self.run { gateway, live, job in
            let on = try await gateway.rest("PUT", "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
            #expect(on.status == 200)
            let fix = #"{"at":\#(Int64(Date.now.timeIntervalSince1970 * 1000)),"lat":48.2,"lon":16.4,"acc":5}"#
            let answer = try await gateway.rest(
                "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, #"{"fixes":[\#(fix)]}"#)
            #expect(answer.status == 200 && answer.text.contains(#""accepted":["\#(job)"]"#), "\(answer)")
            try await Self.checkRepublished(live, job)
        }
    }

    @Test func `only recent positions are published again, and only the newest of each job`() {
        let fix = { (at: Int64) in Fix(at: at, place: Coordinate(latitude: 48, longitude: 16)!) }
        let (first, second, third) = (JobID("a")!, JobID("b")!, JobID("c")!)
        var taken = PublishedPositions(most: 2)
        taken.remember(fix(20), of: first, receivedAt: 20)
        taken.remember(fix(10), of: first, receivedAt: 30)
        taken.remember(fix(5), of: second, receivedAt: 5)
        taken.remember(fix(5), of: third, receivedAt: 5)
        #expect(taken.recent(now: 30).mapValues(\.fix.at) == [first: 20, second: 5])
        #expect(taken.recent(now: 20 + PublishedPositions.maxAgeMilliseconds).mapValues(\.fix.at) == [first: 20])
        #expect(taken.recent(now: 21 + PublishedPositions.maxAgeMilliseconds).isEmpty && taken.count == 0)
    }

    @Test func `the positions of a rider with many jobs one after the other are those of the last jobs`() {
        var taken = PublishedPositions(most: 2)
        for number in 1...9 {
            let fix = Fix(at: Int64(number), place: Coordinate(latitude: 41.9, longitude: 12.5)!)
            taken.remember(fix, of: JobID("job-\(number)")!, receivedAt: Int64(number))
        }
        #expect(taken.recent(now: 9).keys.map(\.text).sorted() == ["job-8", "job-9"])
    }

    private static func run(
        _ body: @escaping @Sendable (RunningGateway, RestartableRedis, JobID) async throws -> Void
    ) async throws {
        try await within {
            try await RestartableRedis.running { live in
                try await RestartableRedis.running { ledger in
                    try await RunningGateway.run(isSecure: false, at: (live.address, ledger.address)) { gateway in
                        try await body(gateway, live, try await gateway.travellingJob())
                    }
                }
            }
        }
    }

    /// The live instance's next master is empty. It receives the same fix again, under another id.
    private static func checkRepublished(_ live: RestartableRedis, _ job: JobID) async throws {
        let key = Keyspace().position(of: job)
        let before = try #require(try await live.run("GET", key).text)
        try await live.restart(.empty)
        try await becomes("the position is shown again", within: .seconds(30)) {
            try await live.run("GET", key).text != nil
        }
        let after = try #require(try await live.run("GET", key).text)
        let reading = { (text: String) in Array(text.split(separator: ",").dropFirst(2)) }
        #expect(reading(after) == reading(before))
    }
}
