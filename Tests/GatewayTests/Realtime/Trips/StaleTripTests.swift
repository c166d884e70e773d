import Access
import EnrouteClient
import EnrouteWire
import HTTPValues
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Trips that have ended by a status, by a reassignment or by travel mode. Nothing more is published about them, and they do
/// not influence later trips.
@Suite struct StaleTripTests {
    /// Meters per degree of latitude.
    private static let metersOfDegree = 111_195.0

    enum End: CaseIterable { case completed, reassigned }

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, RESTReporterTests.quicklyStale) { gateway in
                for name in ["job-1", "job-2"] {
                    _ = try await gateway.travellingJob(name)
                    try await Self.travel(gateway, name, "PUT")
                }
                try await body(gateway)
            }
        }
    }

    private static func travel(_ gateway: RunningGateway, _ job: String, _ method: String) async throws {
        let answer = try await gateway.rest(method, "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
        #expect(answer.status == 200, "\(answer)")
    }

    /// A position this many meters south of the destination.
    private static func send(
        _ gateway: RunningGateway, _ job: String, south meters: Double = 400, ago: Int64, speed: Double = 1,
        others: String = ""
    ) async throws -> RESTResponse {
        let latitude = 41.9 - meters / Self.metersOfDegree
        let fix = #"{"at":\#(WallClock.nowMilliseconds - ago),"lat":\#(latitude),"lon":12.5,"acc":5,"spd":\#(speed)}"#
        return try await gateway.rest(
            "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, #"{\#(others)"fixes":[\#(fix)]}"#)
    }

    private static func end(_ gateway: RunningGateway, _ job: String, by end: End) async throws {
        switch end {
        case .completed:
            for status in ["work_in_progress", "completed"] {
                let answer = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
                #expect([200, 201].contains(answer.status), "\(answer)")
            }
        case .reassigned:
            let job = JobID(job)!
            let record = try #require(try await gateway.ledger.recover(job).get()).record
            let answer = try await gateway.ledger.assign(
                job, to: PersonID("rider-2")!, of: record.customer, expected: record.fence
            ).get()
            guard case .assigned = answer.value else { throw Missing() }
        }
    }

    private static func unavailable(_ gateway: RunningGateway, _ job: String) async throws -> UnavailableReason? {
        let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
        return try await notes.read(JobID(job)!).get().unavailable
    }

    @Test func `US-072: after a followed job has ended, an unfollowed one gets a long report interval`()
        async throws
    {
        try await Self.run { gateway in
            try await gateway.connect("anna", .customer) { anna, seen in
                try await anna.send(.subscribe(job: JobID("job-1")!, since: nil))
                _ = try await seen.subscribed()
                let door = try await Self.send(gateway, "job-1", south: 50, ago: 50_000, speed: 10)
                #expect(door.member("intervalSeconds") == 1, "\(door)")
            }
            try await Self.end(gateway, "job-1", by: .completed)
            var ago: Int64 = 50_000
            try await becomes("without followers the interval is long", every: .milliseconds(20)) {
                ago -= 1
                return try await Self.send(gateway, "job-2", ago: ago).member("intervalSeconds") == 20
            }
        }
    }

    @Test(arguments: End.allCases)
    func `US-072: no unavailable reason is published for an ended or reassigned job`(end: End) async throws {
        try await Self.run { gateway in
            for job in ["job-1", "job-2"] {
                let shown = try await Self.send(gateway, job, ago: 40_000)
                #expect(shown.status == 200)
            }
            try await Self.end(gateway, "job-1", by: end)
            // Fixes that are refused for both jobs. A reason for the first job would be published before that of the second.
            try await becomes("a reason is published for the other job") {
                _ = try await Self.send(gateway, "job-1", ago: 50_000, others: #""jobs":["job-2"],"#)
                return try await Self.unavailable(gateway, "job-2") == .noFix
            }
            let reason = try await Self.unavailable(gateway, "job-1")
            #expect(reason == nil)
        }
    }

    @Test func `US-072: an open session publishes no unavailable reason for a completed job`() async throws {
        try await Self.run { gateway in
            let (over, other) = (JobID("job-1")!, JobID("job-2")!)
            try await gateway.connect("olga", .ops) { operations, known in
                for job in [over, other] {
                    try await operations.send(.subscribe(job: job, since: nil))
                    _ = try await known.subscribed()
                }
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    for job in [over, other] {
                        try await rider.report(job, step: 1)
                        _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                    }
                    try await Self.end(gateway, "job-1", by: .completed)
                    // The session checks all its trips every ten seconds.
                    _ = try await known.first { message -> Bool? in
                        guard case .unavailable(let job, _, .unknown) = message else { return nil }
                        #expect(job == other)
                        return job == other ? true : nil
                    }
                    // Reasons are published when the ledger has answered, so those of the other trips in this check have been
                    // published as well.
                    let counted = try await gateway.rest(
                        "GET", "/api/v1/jobs/job-1/verdicts", by: "olga", .ops)
                    #expect(counted.status == 200 && !counted.text.contains(#""unavailable""#), "\(counted)")
                }
            }
        }
    }

    // MARK: travel mode off, and on again

    @Test func `US-072: over REST, switching travel mode off and on clears an earlier unavailable reason`()
        async throws
    {
        try await Self.run { gateway in
            let answer = try await gateway.rest(
                "PUT", "/api/v1/jobs/job-1/unavailable", by: "rider-1", .rider, #"{"reason":"permission_denied"}"#)
            #expect(answer.status == 204)
            try await becomes("the reason is known") {
                try await Self.unavailable(gateway, "job-1") == .permissionDenied
            }
            try await Self.travel(gateway, "job-1", "DELETE")
            try await Self.travel(gateway, "job-1", "PUT")
            try await becomes("the reason is cleared") { try await Self.unavailable(gateway, "job-1") == nil }
        }
    }

    @Test func `US-072: in a session, switching travel mode off and on clears an earlier unavailable reason`()
        async throws
    {
        try await Self.run { gateway in
            let job = JobID("job-1")!
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.unavailable(job: job, .permissionDenied))
                _ = try await answers.first { if case .ok("unavailable", _, _, _, _) = $0 { true } else { nil } }
                try await becomes("the reason is known") {
                    try await Self.unavailable(gateway, "job-1") == .permissionDenied
                }
                for isOn in [false, true] {
                    try await rider.send(.travel(job: job, active: isOn))
                    _ = try await answers.travelAnswer()
                }
                try await becomes("followers receive no reason") {
                    let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                    return read.text.contains(#""tracking":"waiting""#) && !read.text.contains(#""unavailable""#)
                }
            }
        }
    }

    @Test func `switching travel mode on while it is on changes nothing and keeps the reason`() {
        let minute: UInt64 = 60_000_000_000
        var trip = TripState(bounds: .init())
        let isFirst = trip.startTravel(now: 0)
        trip.reported(.permissionDenied, now: 1)
        let taken = trip.takeUnavailabilityNotice(now: minute, isOver: false)
        #expect(isFirst && taken == .some(.permissionDenied))
        let isAgain = trip.startTravel(now: minute)
        #expect(!isAgain && trip.noticedReason == .permissionDenied)
        trip.restart()
        let isNext = trip.startTravel(now: minute)
        #expect(isNext && trip.noticedReason == nil)
        let left = trip.takeUnavailabilityNotice(now: minute + 1, isOver: false)
        #expect(left == .none)
    }

    @Test func `resuming keeps the reason until a position arrives`() {
        var trip = TripState(bounds: .init())
        trip.noticed(.network)
        let isNew = trip.startTravel(resumes: true, now: 0)
        #expect(!isNew && trip.noticedReason == .network)
        let silent = trip.takeUnavailabilityNotice(now: 1, isOver: false)
        let ended = trip.takeUnavailabilityNotice(now: 2, isOver: true)
        #expect(silent == .none && ended == .some(nil))
    }
}
