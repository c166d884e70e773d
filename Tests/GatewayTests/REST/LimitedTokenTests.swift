import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Tokens that are limited to one job.
@Suite struct LimitedTokenTests {
    @Test func `a refusal names the limit of the token where only that forbids the request`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let now = Int64(Date.now.timeIntervalSince1970)
                let token = try await gateway.mint.token(
                    for: PersonID("rider-1")!, role: .rider, now: now, job: JobID("job-1")!)
                let online = #"{"status":"online"}"#
                let limited = try await gateway.rest("PATCH", "/api/v1/riders/me/status", as: token, online)
                #expect(limited.status == 403, "\(limited)")
                #expect(
                    limited.member("detail")
                        == "The token is limited to the job job-1. This needs a token without that limit.")
                let role = try await gateway.rest("GET", "/api/v1/zones", as: token)
                #expect(role.status == 403, "\(role)")
                #expect(role.member("detail") == "The role rider is not allowed to do this.")
            }
        }
    }
}
