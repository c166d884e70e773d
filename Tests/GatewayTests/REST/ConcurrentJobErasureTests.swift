import Access
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import REST
@testable import Realtime

/// Links and ids that others create while a job is erased.
@Suite struct ConcurrentJobErasureTests {
    /// Erases jobs while links to them are created.
    ///
    /// - Returns: the secrets of the links that were created, by job.
    private static func erasedWhileShared(_ gateway: RunningGateway, _ jobs: [String]) async throws -> [[String]] {
        var secrets: [[String]] = []
        for job in jobs {
            try await JobListTests.create(gateway, job, customer: "anna", rider: "rider-1")
            let erasing = Task {
                var status: Int
                // Links may be created faster than they are deleted: the client repeats the request.
                repeat {
                    status = try await gateway.rest("DELETE", "/api/v1/jobs/\(job)", by: "orders", .service).status
                } while status == 503
                return status
            }
            let made = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        var made: [String] = []
                        while true {
                            let link = try await gateway.rest(
                                "POST", "/api/v1/jobs/\(job)/links", by: "orders", .service)
                            #expect([201, 404, 503].contains(link.status), "\(link.text)")
                            guard link.status == 201 else { return made }
                            made.append(try #require(link.member("link")))
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let status = try await erasing.value
            #expect(status == 204)
            secrets.append(made)
        }
        return secrets
    }

    @Test func `I7: a link that is created while its job is erased is gone with it, and shows no job of the same id`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (1_000_000, 1_000_000)
            } _: { gateway in
                let jobs = (0..<6).map { "order-\($0)" }
                let secrets = try await Self.erasedWhileShared(gateway, jobs)
                for key in try await gateway.client.run("KEYS", "link:*").array?.compactMap(\.text) ?? [] {
                    // A link that was listed but never written leaves this for a minute.
                    let fields = try await gateway.client.run("HKEYS", key).array?.compactMap(\.text)
                    #expect(fields == ["dropped"], "\(key)")
                }
                let lists = try await gateway.client.run("KEYS", "job:*:links").array ?? []
                #expect(lists.isEmpty, "\(lists)")
                let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                for (job, made) in zip(jobs, secrets) {
                    try await JobListTests.create(gateway, job, customer: "anna", rider: "rider-1")
                    if let secret = made.first, job == jobs.first {
                        let page = try await gateway.rest(
                            "GET", "/track/\(job)", as: nil, headers: ["Authorization: Link \(secret)"])
                        #expect(page.status == 404)
                    }
                    for secret in made {
                        let id = try #require(TrackingLinks.id(of: secret))
                        #expect(try await links.join(id, as: "viewer").get() == .noSuchLink)
                    }
                }
            }
        }
    }

    @Test func `a revoked job stays revoked when its id is used again, and gets no link`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                let path = "/api/v1/jobs/order-1"
                try await JobListTests.create(gateway, "order-1", customer: "anna", rider: "rider-1")
                #expect(try await gateway.rest("DELETE", "/api/v1/grants/jobs/order-1", by: "olga", .ops).status == 204)
                try await gateway.waitForMetric("enroute_revocations_applied_total 1")
                #expect(try await gateway.rest("DELETE", path, by: "orders", .service).status == 204)
                try await JobListTests.create(gateway, "order-1", customer: "bert", rider: "rider-1")
                #expect(try await gateway.rest("GET", path, by: "bert", .customer).status == 404)
                for (person, role, status) in [
                    ("orders", Role.service, 409), ("olga", .ops, 409), ("bert", .customer, 404),
                ] {
                    let link = try await gateway.rest("POST", path + "/links", by: person, role)
                    #expect(link.status == status, "\(link.text)")
                    #expect(status == 404 || link.text.contains("was revoked"), "\(link.text)")
                }
                #expect(try await gateway.client.run("KEYS", "link:*") == .array([]))
            }
        }
    }
}
