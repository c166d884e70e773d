import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Signing in pages with a code instead of a token.
@Suite struct SignInCodeTests {
    private static let path = "/api/v1/sign-ins"

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within { try await RunningGateway.run(isSecure: false, change, body) }
    }

    private static func make(
        _ gateway: RunningGateway, as token: String, _ body: String? = nil
    ) async throws -> String {
        let made = try await gateway.rest("POST", Self.path, as: token, body)
        return try #require(made.member("code", as: String.self), "\(made)")
    }

    private static func redeem(_ gateway: RunningGateway, _ code: String) async throws -> RESTResponse {
        try await gateway.rest("POST", "\(Self.path)/redeem", as: nil, #"{"code":"\#(code)"}"#)
    }

    @Test func `a sign-in code returns its token and grant once`() async throws {
        try await Self.run { gateway in
            let token = try await gateway.token("rider-1", .rider)
            let code = try await Self.make(gateway, as: token)
            #expect(code.wholeMatch(of: /[0-9a-f]{32}/) != nil)
            let first = try await Self.redeem(gateway, code)
            #expect(first.status == 200 && first.headers["cache-control"] == "no-store")
            #expect(first.member("token") == token)
            #expect(first.member("role") == "rider" && first.member("person") == "rider-1")
            let expiresAt = try #require(first.member("expiresAt", as: Int64.self))
            #expect(expiresAt > Int64(Date.now.timeIntervalSince1970 * 1000) && expiresAt % 1000 == 0)
            let second = try await Self.redeem(gateway, code)
            #expect(second.status == 404 && second.member("code") == "not_found")
        }
    }

    @Test func `S1: concurrent redemptions of a sign-in code return its token to exactly one`() async throws {
        try await Self.run { gateway in
            let codes = SignInCodes(live: gateway.client, settings: gateway.settings.liveState)
            for _ in 0..<100 {
                let code = try await codes.issue(for: "a token").get()
                let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
                    for _ in 0..<4 { group.addTask { try await codes.redeem(code).get() } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(tokens.compactMap { $0 } == ["a token"])
            }
        }
    }

    @Test func `S6: Redis stores neither a code nor its token in plain text, and only for the requested lifetime`()
        async throws
    {
        try await Self.run { gateway in
            let token = try await gateway.token("anna", .customer)
            let code = try await Self.make(gateway, as: token, #"{"expiresInSeconds":300}"#)
            let stored = try await gateway.client.dump().filter { $0.key.hasPrefix("signin:") }
            let (name, value) = try #require(stored.first)
            #expect(stored.count == 1 && !name.contains(code))
            let content = String(decoding: value.content, as: UTF8.self)
            #expect(!content.contains(code) && !content.contains(token) && !content.contains(token.prefix(20)))
            let left = try await gateway.client.timeLeft(of: name)
            #expect((120_001...300_000).contains(left))
            // The stored value is bound to its key, so it is invalid under any other key.
            let other = try await Self.make(gateway, as: token)
            let names = try await gateway.client.dump().keys.filter { $0.hasPrefix("signin:") && $0 != name }
            _ = try await gateway.client.run("RENAME", name, try #require(names.first))
            let moved = try await Self.redeem(gateway, other)
            #expect(moved.status == 404)
        }
    }

    @Test func `revoking a token invalidates its sign-in code`() async throws {
        try await Self.run { gateway in
            let code = try await Self.make(gateway, as: try await gateway.token("anna", .customer))
            let revoked = try await gateway.rest("DELETE", "/api/v1/grants/users/anna", by: "olga", .ops)
            #expect(revoked.status == 204)
            try await becomes("the gateway has applied the revocation") {
                let token = try await gateway.rest("POST", Self.path, by: "anna", .customer)
                return token.status == 401
            }
            let answer = try await Self.redeem(gateway, code)
            #expect(answer.status == 404 && answer.member("token", as: String.self) == nil)
            // A code whose token has expired since it was created is refused by the token check.
            let codes = SignInCodes(live: gateway.client, settings: gateway.settings.liveState)
            let old = try await codes.issue(for: try await gateway.token("bert", .customer, lifetime: -120)).get()
            let expired = try await Self.redeem(gateway, old)
            #expect(expired.status == 404)
        }
    }

    @Test func `guessing codes is rate limited, and a code lasts ten minutes at most`() async throws {
        try await Self.run { settings in
            (settings.limits.refusedTokensPerAddressPerSecond, settings.limits.refusedTokensPerAddressBurst) = (1, 3)
        } _: { gateway in
            let token = try await gateway.token("anna", .customer)
            for wish in [0, 601, -1] {
                let refused = try await gateway.rest("POST", Self.path, as: token, #"{"expiresInSeconds":\#(wish)}"#)
                #expect(refused.status == 422)
            }
            try await becomes("wrong codes are rate limited") {
                let guess = try await Self.redeem(gateway, String(repeating: "0", count: 32))
                if guess.status == 429 { #expect(guess.headers["retry-after"] != nil) }
                return guess.status == 429
            }
        }
    }

    @Test func `redeeming codes is rate limited per address`() async throws {
        try await Self.run { settings in
            (settings.limits.anonymousRequestsPerAddressPerSecond, settings.limits.anonymousRequestsPerAddressBurst) = (
                1, 2
            )
            settings.limits.refusedTokensPerAddressBurst = 1000
        } _: { gateway in
            try await becomes("the address is rate limited") {
                let answer = try await Self.redeem(gateway, String(repeating: "0", count: 32))
                #expect(answer.status == 404 || answer.status == 429 && answer.headers["retry-after"] != nil)
                return answer.status == 429
            }
        }
    }
}
