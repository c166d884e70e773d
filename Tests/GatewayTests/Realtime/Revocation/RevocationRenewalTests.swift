import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Jobs that are changed after they were revoked, and therefore stored longer.
@Suite struct RevocationRenewalTests {
    private static let job = JobID("job-1")!
    private static let path = "/api/v1/jobs/job-1"

    /// Runs with a job that was revoked two hours ago.
    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.travellingJob()
                let at = Int64(Date.now.timeIntervalSince1970 * 1000) - 2 * 3_600_000
                try await gateway.client.run(
                    "XADD", gateway.settings.liveState.keyspace.control, "\(at)-0", "kind", "job", "id", Self.job.text,
                    "actor", "ops-1", "at", "\(at)", "reason", "a test")
                try await gateway.waitForMetric("enroute_revocations_applied_total 1")
                #expect(try await gateway.rest("GET", Self.path, by: "anna", .customer).status == 404)
                try await body(gateway)
            }
        }
    }

    private static func describe(_ gateway: RunningGateway, _ value: Int) async throws {
        let answer = try await gateway.rest(
            "PUT", self.path, by: "orders", .service, #"{"kind":"service","metadata":{"value":"\#(value)"}}"#)
        #expect(answer.status == 200, "\(answer)")
    }

    private static func revocations(_ gateway: RunningGateway) async throws -> [Revocation] {
        try await RevocationLog(ledger: gateway.client, settings: gateway.settings.liveState).read(from: "-").get()
            .compactMap(\.revocation)
    }

    @Test func `a change of a revoked job renews its revocation, so that access does not return`() async throws {
        try await Self.run { gateway in
            let before = Int64(Date.now.timeIntervalSince1970 * 1000)
            try await Self.describe(gateway, 1)
            try await gateway.waitForMetric("enroute_revocations_applied_total 2")
            let renewed = try #require(try await Self.revocations(gateway).last)
            #expect(renewed.subject == .job(Self.job) && renewed.at >= before - 1_000)
            #expect(try await gateway.rest("GET", Self.path, by: "anna", .customer).status == 404)
        }
    }

    @Test func `a job that changes often adds few revocations`() async throws {
        try await Self.run { gateway in
            try await Self.describe(gateway, 0)
            try await gateway.waitForMetric("enroute_revocations_applied_total 2")
            for value in 1...10 { try await Self.describe(gateway, value) }
            #expect(try await Self.revocations(gateway).count == 2)
        }
    }

    @Test func `a job with the id of a revoked job that was erased stays revoked`() async throws {
        try await Self.run { gateway in
            #expect(try await gateway.rest("DELETE", Self.path, by: "orders", .service).status == 204)
            let made = try await gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service,
                #"{"job":"job-1","kind":"service","customer":"anna"}"#)
            #expect(made.status == 201, "\(made)")
            try await gateway.waitForMetric("enroute_revocations_applied_total 2")
            #expect(try await gateway.rest("GET", Self.path, by: "anna", .customer).status == 404)
        }
    }

    @Test func `jobs that are not revoked add no revocations`() async throws {
        try await Self.run { gateway in
            let made = try await gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service, #"{"job":"job-2","kind":"service","customer":"anna"}"#)
            #expect(made.status == 201, "\(made)")
            #expect(try await Self.revocations(gateway).map(\.subject) == [.job(Self.job)])
        }
    }

    @Test(arguments: [60, 48 * 3600, 365 * 86_400])
    func `a revocation that is not renewed yet outlives a job that was changed`(retention: Int64) {
        var settings = LiveStateSettings()
        settings.retention = .seconds(retention)
        #expect(settings.revocationRetention > settings.retention + LiveStateSettings.revocationRenewal)
    }
}
