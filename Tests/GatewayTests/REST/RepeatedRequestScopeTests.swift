import Access
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// B6: whose request an Idempotency-Key repeats, and for how long its response is stored.
@Suite struct RepeatedRequestScopeTests {
    /// A new token of Anna's.
    ///
    /// - Parameter job: the only job to which it gives access; `nil` for all of hers.
    private static func token(_ gateway: RunningGateway, job: String? = nil) async throws -> String {
        try await gateway.mint.token(
            for: PersonID("anna")!, role: .customer, now: Int64(Date.now.timeIntervalSince1970),
            job: job.map { JobID($0)! })
    }

    @Test func `B6: a token that is limited to a job does not get the codes of the person's unlimited token`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for path in ["/api/v1/tickets", "/api/v1/sign-ins"] {
                    let key = "Idempotency-Key: \(UUID())"
                    func code(_ token: String) async throws -> String {
                        let answer = try await gateway.rest("POST", path, as: token, "{}", headers: [key])
                        #expect(answer.status == 201, "\(answer)")
                        return try #require(answer.member("ticket") ?? answer.member("code"))
                    }
                    let unlimited = try await code(Self.token(gateway))
                    let narrow = try await Self.token(gateway, job: "j-1")
                    let limited = try await code(narrow)
                    let elsewhere = try await code(Self.token(gateway, job: "j-2"))
                    #expect(Set([unlimited, limited, elsewhere]).count == 3, "\(path)")
                    // Refreshed tokens with the same limits.
                    #expect(try await code(Self.token(gateway)) == unlimited)
                    #expect(try await code(Self.token(gateway, job: "j-1")) == limited)
                    guard path.hasSuffix("sign-ins") else { continue }
                    let redeemed = try await gateway.rest(
                        "POST", "\(path)/redeem", as: nil, #"{"code":"\#(limited)"}"#)
                    #expect(redeemed.member("token") == narrow, "\(redeemed.status)")
                }
            }
        }
    }

    private static func records(_ gateway: RunningGateway) async throws -> Set<String> {
        Set(try await gateway.client.send(["KEYS", "idempotency:*"]).get().array?.compactMap(\.text) ?? [])
    }

    /// For how many ms the response to a new request is stored.
    private static func retention(
        _ gateway: RunningGateway, _ path: String, by person: String, _ role: Role, _ body: String, status: Int
    ) async throws -> Int64 {
        let before = try await Self.records(gateway)
        let answer = try await gateway.rest(
            "POST", "/api/v1/\(path)", by: person, role, body, headers: ["Idempotency-Key: \(UUID())"])
        #expect(answer.status == status, "\(answer)")
        let new = try await Self.records(gateway).subtracting(before)
        #expect(new.count == 1)
        return try await gateway.client.send(["PTTL", .text(try #require(new.first))]).get().integer ?? 0
    }

    @Test func `B6: changes are stored for 24 hours, and refusals and codes for ten minutes`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let brief = 1...IdempotencyRecords.briefRetention.milliseconds
                let long = (brief.upperBound + 1)...IdempotencyRecords.retention.milliseconds
                let job = #"{"job":"j-1","kind":"delivery","customer":"anna"}"#
                let made = try await Self.retention(gateway, "jobs", by: "orders", .service, job, status: 201)
                let changed = try await Self.retention(
                    gateway, "jobs/j-1/status", by: "orders", .service, #"{"status":"accepted"}"#, status: 200)
                #expect(long.contains(made) && long.contains(changed))
                let taken = try await Self.retention(gateway, "jobs", by: "others", .service, job, status: 409)
                let missing = try await Self.retention(
                    gateway, "jobs/none/status", by: "anna", .customer, #"{"status":"cancelled"}"#, status: 404)
                let forbidden = try await Self.retention(
                    gateway, "jobs/j-1/status", by: "anna", .customer, #"{"status":"accepted"}"#, status: 403)
                let ticket = try await Self.retention(gateway, "tickets", by: "anna", .customer, "{}", status: 201)
                let code = try await Self.retention(gateway, "sign-ins", by: "anna", .customer, "{}", status: 201)
                for retention in [taken, missing, forbidden, ticket, code] { #expect(brief.contains(retention)) }
            }
        }
    }
}
