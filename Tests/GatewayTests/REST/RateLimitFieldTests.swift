import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// The fields RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers).
@Suite struct RateLimitFieldTests {
    @Test func `responses contain the rest of the rate limit, down to the refusal`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                // So slow that nothing accrues meanwhile.
                ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (1, 300)
                ($0.limits.anonymousRequestsPerAddressPerSecond, $0.limits.anonymousRequestsPerAddressBurst) = (2, 7)
            } _: { gateway in
                let first = try await gateway.rest("GET", "/api/v1/jobs/none", by: "anna", .customer)
                let second = try await gateway.rest("GET", "/api/v1/jobs/none", by: "anna", .customer)
                #expect(first.headers["ratelimit-policy"] == #""person";q=300;w=300"#)
                let left = try [first, second].map { answer in
                    let field = try #require(answer.headers["ratelimit"])
                    let match = try #require(field.wholeMatch(of: /"person";r=(\d+);t=(\d+)/), "\(field)")
                    return (remaining: Int(match.1)!, reset: Int(match.2)!)
                }
                #expect(left[0].remaining == 299 && (1...300).contains(left[0].reset))
                #expect([298, 299].contains(left[1].remaining))
                let other = try await gateway.rest("GET", "/api/v1/jobs/none", by: "ben", .customer)
                #expect(other.headers["ratelimit"]?.hasPrefix(#""person";r=299;"#) == true)
                // Services have no limit, so they get no field.
                let service = try await gateway.rest("GET", "/api/v1/jobs/none", by: "orders", .service)
                #expect(service.headers["ratelimit"] == nil && service.headers["ratelimit-policy"] == nil)
                let visitor = try await gateway.rest("POST", "/api/v1/sign-ins/redeem", as: nil, #"{"code":"x"}"#)
                #expect(visitor.headers["ratelimit-policy"] == #""address";q=7;w=4"#)
                #expect(visitor.headers["ratelimit"]?.hasPrefix(#""address";r=6;t="#) == true)
            }
        }
    }

    @Test func `a refused request has nothing left`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (1, 2)
            } _: { gateway in
                var refused: RESTResponse?
                for _ in 0..<100 where refused == nil {
                    let answer = try await gateway.rest("GET", "/api/v1/jobs/none", by: "anna", .customer)
                    if answer.status == 429 { refused = answer }
                }
                let answer = try #require(refused)
                #expect(answer.headers["ratelimit"]?.hasPrefix(#""person";r=0;t="#) == true, "\(answer)")
                #expect(answer.headers["retry-after"] != nil && answer.member("code") == "rate_limited")
            }
        }
    }
}
