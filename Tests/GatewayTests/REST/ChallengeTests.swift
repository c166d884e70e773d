import Access
import EnrouteWire
import TestSupport
import Testing

@testable import Gateway

/// A 401 has the challenge of the scheme Bearer (RFC 9110 section 15.5.2, RFC 6750 section 3).
@Suite struct ChallengeTests {
    private static let path = "/api/v1/jobs/none"
    private static let invalidToken = #"Bearer error="invalid_token""#

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within { try await RunningGateway.run(isSecure: false, change, body) }
    }

    private static func upgrade(_ gateway: RunningGateway, _ authorization: String) async throws -> RESTResponse {
        let port = gateway.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            let headers = "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: \(authorization)\r\n"
            try socket.send(RawSocket.upgrade("/v1", headers))
            socket.finish()
            return RESTResponse(try socket.readToEnd())
        }
    }

    @Test func `a rejected token is reported as the error, and a missing one is not`() async throws {
        try await Self.run { gateway in
            let old = try await gateway.token("anna", .customer, lifetime: -120)
            let missing = try await gateway.rest("GET", Self.path, as: nil)
            #expect(missing.status == 401 && missing.headers["www-authenticate"] == "Bearer", "\(missing)")
            #expect(missing.text.contains("The token is missing."))
            for token in ["x.y.z", old] {
                let page = try await gateway.rest("GET", "/track/none", as: token)
                for answer in [
                    try await gateway.rest("GET", Self.path, as: token),
                    try await gateway.rest("GET", "\(Self.path)/events", as: token), page,
                    try await Self.upgrade(gateway, "Bearer \(token)"),
                ] {
                    #expect(answer.status == 401, "\(answer)")
                    #expect(answer.headers["www-authenticate"] == Self.invalidToken, "\(answer)")
                }
                #expect(page.headers["content-type"] == "text/html; charset=utf-8")
            }
            let forbidden = try await gateway.rest("GET", "/api/v1/zones", by: "anna", .customer)
            #expect(forbidden.status == 403 && forbidden.headers["www-authenticate"] == nil)
        }
    }

    @Test func `a revoked token is reported as the error`() async throws {
        try await Self.run { gateway in
            let token = try await gateway.token("anna", .customer)
            let revoked = try await gateway.rest("DELETE", "/api/v1/grants/users/anna", by: "olga", .ops)
            #expect(revoked.status == 204)
            try await becomes("the token is revoked") {
                let answer = try await gateway.rest("GET", Self.path, as: token)
                guard answer.status == 401 else { return false }
                return answer.headers["www-authenticate"] == Self.invalidToken
            }
            let upgrade = try await Self.upgrade(gateway, "Bearer \(token)")
            #expect(upgrade.status == 401 && upgrade.headers["www-authenticate"] == Self.invalidToken, "\(upgrade)")
        }
    }

    @Test func `a refused link is not reported as a rejected token`() async throws {
        try await Self.run { gateway in
            let job = try await gateway.travellingJob()
            let link = "Authorization: Link \(String(repeating: "0", count: 32))"
            let answer = try await gateway.rest("GET", "/api/v1/jobs/\(job)/events", as: nil, headers: [link])
            #expect(answer.status == 401 && answer.headers["www-authenticate"] == "Bearer", "\(answer)")
        }
    }

    @Test(arguments: [
        ("Basic eA==", "The Authorization scheme Basic is not accepted here."),
        ("Link 00000000000000000000000000000000", "The Authorization scheme Link is not accepted here."),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2ln", "Authorization does not start with Bearer."),
    ])
    func `another scheme is reported, and a token without a scheme is not repeated`(
        authorization: String, reason: String
    ) async throws {
        try await Self.run { gateway in
            for answer in [
                try await gateway.rest("GET", Self.path, as: nil, headers: ["Authorization: \(authorization)"]),
                try await Self.upgrade(gateway, authorization),
            ] {
                #expect(answer.status == 401 && answer.member("code") == "unauthorized", "\(answer)")
                #expect(answer.headers["www-authenticate"] == "Bearer", "\(answer)")
                let detail: String = try #require(answer.member("detail"))
                #expect(detail == "\(reason) Send a token in the header Authorization: Bearer <JWT>.")
            }
        }
    }

    @Test func `another scheme does not count as an invalid token of the address`() async throws {
        try await Self.run {
            ($0.limits.refusedTokensPerAddressPerSecond, $0.limits.refusedTokensPerAddressBurst) = (1, 1)
        } _: { gateway in
            for _ in 0..<5 {
                let answer = try await gateway.rest("GET", Self.path, as: nil, headers: ["Authorization: Basic eA=="])
                #expect(answer.status == 401, "\(answer)")
                #expect(try await Self.upgrade(gateway, "Basic eA==").status == 401)
            }
            #expect(try await gateway.rest("GET", Self.path, as: "x.y.z").status == 401)
        }
    }
}
