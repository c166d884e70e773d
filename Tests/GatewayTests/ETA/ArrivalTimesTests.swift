import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Testing

@testable import Gateway
@testable import Realtime

/// The arrival times that followers of a running gateway receive.
@Suite struct ArrivalTimesTests {
    static func settings(_ settings: inout GatewaySettings) {
        settings.limits.allowManyMessages()
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1000, 1000)
        settings.arrivals.interval = .seconds(2)
        // Riders jump in these tests, so the speed is not validated.
        settings.validation.allowJumps()
    }

    /// Connects a follower and a rider with travel mode on.
    static func trip(
        _ gateway: RunningGateway, _ job: JobID,
        _ body: (
            _ follower: GatewayConnection, inout GatewayConnection.Messages.AsyncIterator, _ rider: GatewayConnection
        ) async throws -> Void
    ) async throws {
        try await gateway.connect("rider-1", .rider) { rider, answers in
            try await rider.send(.travel(job: job, active: true))
            _ = try await answers.travelAnswer()
            try await gateway.connect("anna", .customer) { follower, messages in
                try await follower.send(.subscribe(job: job, since: nil))
                let snapshot = try await messages.subscribed()
                #expect(snapshot.eta == nil)
                try await body(follower, &messages, rider)
            }
        }
    }

    @Test func `US-072: a follower receives the arrival time, and again after the interval`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let job = try await gateway.travellingJob()
                try await Self.trip(gateway, job) { follower, messages, rider in
                    // 1.1 km north of the destination.
                    try await rider.report(job, step: 1000)
                    let first = try await messages.eta()
                    #expect(first.state == .ok && first.source == "built_in" && first.confidence == .low)
                    #expect((60...1200).contains(try #require(first.seconds)))
                    #expect(try #require(first.arrivesAt) - first.at > 59_000 && first.stopsBefore == nil)
                    try await rider.report(job, step: 999)
                    let second = try await messages.eta()
                    #expect(second.state == .ok && second.at > first.at)
                    // A later follower and REST get the same.
                    let snapshot = try await gateway.connect("olga", .ops) { connection, messages in
                        try await connection.send(.subscribe(job: job, since: nil))
                        return try await messages.subscribed()
                    }
                    #expect(try #require(snapshot.eta).at >= second.at)
                    let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                    #expect(read.text.contains(#""eta":{"state":"ok","#))
                }
            }
        }
    }

    @Test func `US-072: the arrival time ends with travel mode`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let job = try await gateway.travellingJob()
                try await Self.trip(gateway, job) { follower, messages, rider in
                    try await rider.report(job, step: 1000)
                    _ = try await messages.eta()
                    try await rider.send(.travel(job: job, active: false))
                    _ = try await messages.first { if case .tracking(_, .paused, _) = $0 { true } else { nil } }
                    let kept = try await gateway.client.run("EXISTS", "job:{job-1}:eta")
                    #expect(kept == .integer(0))
                    let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                    #expect(!read.text.contains(#""eta""#))
                }
            }
        }
    }

    @Test func `US-072: an arrival time that the live instance lost is calculated again`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let job = try await gateway.travellingJob()
                try await Self.trip(gateway, job) { follower, messages, rider in
                    try await rider.report(job, step: 1000)
                    let first = try await messages.eta()
                    try await gateway.client.run(
                        "DEL", "job:{job-1}:travel", "job:{job-1}:position", "job:{job-1}:eta", "job:{job-1}:eta:lease")
                    try await rider.report(job, step: 999)
                    let second = try await messages.eta()
                    #expect(second.state == .ok && second.at > first.at)
                    let kept = try await gateway.feed.read(job).get().eta
                    #expect(try #require(kept).at >= second.at)
                }
            }
        }
    }

    @Test func `US-072: the second customer receives the number of stops and the arrival through them`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let (first, second) = (
                    try await gateway.travellingJob("job-1", kind: .delivery, customer: "bert"),
                    try await gateway.travellingJob("job-2")
                )
                let place = Coordinate(latitude: 41.91, longitude: 12.5)!
                try await Self.trip(gateway, second) { follower, messages, rider in
                    try await rider.send(.travel(job: first, active: true))
                    func report(_ jobs: [JobID]) async throws {
                        try await rider.send(
                            .location(
                                LocationReport(
                                    job: jobs[0], otherJobs: Array(jobs.dropFirst()), sequence: 1,
                                    fixes: [Fix(at: Int64(Date.now.timeIntervalSince1970 * 1000), place: place)])))
                    }
                    var shown: [ServerMessage] = []
                    func eta(_ after: Int64?, _ jobs: [JobID]) async throws -> ArrivalEstimate {
                        while true {
                            try await report(jobs)
                            let eta: ArrivalEstimate = try await messages.first { message in
                                shown.append(message)
                                if case .eta(_, let estimate) = message { return estimate } else { return nil }
                            }
                            if eta.state == .ok, eta.stopsBefore == after { return eta }
                        }
                    }
                    let direct = try await eta(nil, [second])
                    let later = try await eta(1, [first, second])
                    // The same path with a stop.
                    #expect((later.seconds ?? 0) >= (direct.seconds ?? 0) + 150)
                    // The first job is done, so the second is next.
                    _ = try await gateway.ledger.publish(.delivered, of: first, by: PersonID("s")!, source: "rest")
                        .get()
                    _ = try await eta(nil, [first, second])
                    #expect(!shown.contains { "\($0)".contains("job-1") })
                }
            }
        }
    }

    @Test func `while a visit comes first, the next customer receives the number of stops and no arrival`() async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let first = try await gateway.travellingJob("job-1", customer: "bert")
                let second = try await gateway.travellingJob("job-2")
                try await StopSequenceStore(live: gateway.client, settings: gateway.settings.liveState)
                    .store([first], before: second).get()
                try await Self.trip(gateway, second) { follower, messages, rider in
                    try await rider.send(.travel(job: first, active: true))
                    func reportUntil(_ isExpected: (ArrivalEstimate) -> Bool) async throws {
                        let fix = Fix(
                            at: Int64(Date.now.timeIntervalSince1970 * 1000),
                            place: Coordinate(latitude: 41.91, longitude: 12.5)!)
                        try await rider.send(
                            .location(LocationReport(job: first, otherJobs: [second], sequence: 1, fixes: [fix])))
                        try await messages.first { message in
                            if case .eta(_, let estimate) = message, isExpected(estimate) { () } else { nil }
                        }
                    }
                    try await reportUntil { $0.state == .unavailable && $0.stopsBefore == 1 && $0.arrivesAt == nil }
                    for status in [JobStatus.workInProgress, .completed] {
                        _ = try await gateway.ledger.publish(status, of: first, by: PersonID("s")!, source: "rest")
                            .get()
                    }
                    try await reportUntil { $0.state == .ok && $0.stopsBefore == nil }
                }
            }
        }
    }

    @Test func `US-072: nothing is calculated for a job without followers`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let followed = try await gateway.travellingJob("job-1")
                let unfollowed = try await gateway.travellingJob("job-2")
                try await Self.trip(gateway, followed) { follower, messages, rider in
                    try await rider.send(.travel(job: unfollowed, active: true))
                    for step in 0..<2 {
                        try await rider.report(unfollowed, step: 1000 + step)
                        try await rider.report(followed, step: 1000 + step)
                        _ = try await messages.eta()
                    }
                    let nothing = try await gateway.client.run("EXISTS", "job:{job-2}:eta", "job:{job-2}:eta:lease")
                    #expect(nothing == .integer(0))
                }
            }
        }
    }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// The next estimate.
    mutating func eta() async throws -> ArrivalEstimate {
        try await self.first { if case .eta(_, let estimate) = $0 { estimate } else { nil } }
    }
}
