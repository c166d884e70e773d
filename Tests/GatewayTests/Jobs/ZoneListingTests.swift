import Access
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs
@testable import Realtime

/// A job stays on its zone's list as long as its record exists: each change that extends the life of the record renews the
/// entry.
@Suite struct ZoneListingTests {
    private static let rome = ZoneID("rome")!
    private static let rider = PersonID("rider-1")!
    private static let list = "zone:{rome}:jobs"
    /// A time long before the retention, as if the job had last changed then.
    private static let longAgo: Int64 = 1_700_000_000_000

    /// Expects that this change renews the job's entry.
    private static func renews(
        _ job: JobID, _ gateway: RunningGateway, _ change: String, _ make: () async throws -> Void
    ) async throws {
        try await gateway.client.run("ZADD", Self.list, "\(Self.longAgo)", job.text)
        try await make()
        try await becomes("the entry is renewed: \(change)") {
            let score = try await gateway.client.run("ZSCORE", Self.list, job.text).text.flatMap { Int64($0) } ?? 0
            return score > Self.longAgo
        }
    }

    private static func rest(
        _ gateway: RunningGateway, _ method: String, _ path: String, _ person: String, _ role: Role,
        _ body: String? = nil
    ) async throws {
        let answer = try await gateway.rest(method, path, by: person, role, body)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test func `a note, and travel mode switched on and off, keep an open job on its zone's list`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob(zone: Self.rome)
                let path = "/api/v1/jobs/\(job)"
                try await Self.renews(job, gateway, "a note") {
                    try await Self.rest(gateway, "PUT", path + "/note", "anna", .customer, #"{"note":"Gate code 42"}"#)
                }
                try await Self.renews(job, gateway, "travel mode on") {
                    try await Self.rest(gateway, "PUT", path + "/travel", "rider-1", .rider)
                }
                try await Self.renews(job, gateway, "travel mode off") {
                    try await Self.rest(gateway, "DELETE", path + "/travel", "rider-1", .rider)
                }
                // A job that is added removes entries that have outlived their records.
                try await Self.rest(gateway, "PUT", path + "/note", "anna", .customer, #"{"note":"Gate code 43"}"#)
                let other = try await gateway.rest(
                    "PUT", "/api/v1/jobs/other-1", by: "orders", .service,
                    #"{"kind":"service","customer":"bert","zone":"rome"}"#)
                #expect(other.status == 201, "\(other)")
                try await becomes("both jobs are listed") {
                    let rows = try await gateway.rest("GET", "/api/v1/zones/rome/jobs", by: "olga", .ops)
                    return rows.text.contains(#""job":"\#(job)""#) && rows.text.contains(#""job":"other-1""#)
                }
            }
        }
    }

    @Test func `the end of travel mode by time limit or revocation keeps a job on its zone's list`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.liveState.maxSharingDuration = .seconds(3)
            } _: { gateway in
                let jobs = gateway.jobs()
                let job = try await gateway.travellingJob(zone: Self.rome)
                var deadline: Int64 = 0
                try await Self.renews(job, gateway, "travel mode on") {
                    deadline = try await jobs.startTravel(job, by: Self.rider, on: .requests).get()
                }
                try await Self.renews(job, gateway, "the time limit") {
                    try await becomes("the time limit is reached") {
                        guard case .closed = try await jobs.close(job, atLimit: deadline).get() else { return false }
                        return true
                    }
                }
                try await gateway.client.run("HSET", "job:{\(job)}", "travel_active", "1")
                try await Self.renews(job, gateway, "the revocation") { try await jobs.closeRevoked(job).get() }
                // Nothing changes, so the entry stays as it is.
                try await gateway.client.run("ZADD", Self.list, "\(Self.longAgo)", job.text)
                try await jobs.closeRevoked(job).get()
                #expect(try await gateway.client.run("ZSCORE", Self.list, job.text).text == "\(Self.longAgo)")
            }
        }
    }
}
