import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// What the former rider of a reassigned job reported, or reports late, does not describe the new rider.
@Suite struct FormerRiderTests {
    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                settings.validation.allowJumps()
            } _: { gateway in
                for job in ["job-1", "job-2"] { _ = try await gateway.travellingJob(job, zone: RunningGateway.rome) }
                try await body(gateway)
            }
        }
    }

    private static func handOver(_ gateway: RunningGateway) async throws {
        let assigned = try await gateway.rest(
            "PUT", "/api/v1/jobs/job-1/assignment", by: "orders", .service,
            #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
        #expect(assigned.status == 200, "\(assigned)")
    }

    private static func startTravel(_ gateway: RunningGateway) async throws {
        let started = try await gateway.rest("PUT", "/api/v1/jobs/job-1/travel", by: "rider-2", .rider)
        #expect(started.status == 200, "\(started)")
        try await becomes("the start is recorded") { try await Self.summary(gateway, "job-1").sharingAt != nil }
    }

    private static func summary(_ gateway: RunningGateway, _ job: String) async throws -> ValidationSummary {
        let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
        return try await notes.read(JobID(job)!).get()
    }

    @Test func `the last counts of the former rider do not show that the new rider was seen`() async throws {
        try await Self.run { gateway in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                for job in ["job-1", "job-2"] {
                    try await rider.send(.travel(job: JobID(job)!, active: true))
                    _ = try await answers.travelAnswer()
                    try await rider.report(JobID(job)!, step: 1)
                    _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                }
                try await Self.handOver(gateway)
                try await Self.startTravel(gateway)
            }
            // The session's counts of both jobs are sent together when it ends.
            try await becomes("the counts have arrived") {
                try await Self.summary(gateway, "job-2").counts["accepted"] == 1
            }
            let summary = try await Self.summary(gateway, "job-1")
            #expect(summary.seenAt == nil, "\(summary)")
            let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
            #expect(read.text.contains(#""tracking":"waiting""#) && !read.text.contains("lastSeenAt"), "\(read)")
        }
    }

    @Test func `the new rider is not near the destination because the former one was`() async throws {
        try await Self.run { gateway in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: JobID("job-1")!, active: true))
                _ = try await answers.travelAnswer()
                for ago in [20_000, 10_000] as [Int64] {
                    let fix = Fix(
                        at: WallClock.nowMilliseconds - ago, place: Coordinate(latitude: 41.897, longitude: 12.5)!,
                        accuracyMeters: 5, speedMetersPerSecond: 1)
                    try await rider.send(
                        .location(LocationReport(job: JobID("job-1")!, sequence: 1, fixes: [fix])))
                }
                _ = try await answers.first { if case .proximity(_, .approaching) = $0 { true } else { nil } }
                try await becomes("the proximity is known") {
                    try await Self.summary(gateway, "job-1").proximity == .approaching
                }
                try await Self.handOver(gateway)
                let former = try await Self.summary(gateway, "job-1")
                #expect(former.proximity == nil && former.seenAt == nil && former.sharingAt == nil, "\(former)")
                try await Self.startTravel(gateway)
                let jobs = try await gateway.rest("GET", "/api/v1/zones/rome/jobs", by: "olga", .ops)
                #expect(jobs.text.contains(#""rider":"rider-2""#) && !jobs.text.contains("proximity"), "\(jobs)")
            }
        }
    }
}
