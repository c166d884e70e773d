import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// A rejected token names the claim that is missing or wrong: to the caller, in the reason of the close frame and in the log.
@Suite struct RefusedTokenTests {
    /// A gateway that reads the role from `realm_access.roles`, where Enroute's own tokens have none.
    private static func run(
        _ log: RecordedLines, _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        let secret = try await TokenVerifier.Key.hs256(secret: "a secret of at least thirty-two bytes")
        try await within {
            try await RunningGateway.run(isSecure: false, logger: log.logger) {
                var provider = IdentityProvider(issuer: "test", audience: "test", keys: [secret])
                provider.roleClaim = ClaimPath("realm_access.roles")!
                provider.roles = [IdentityProvider.RoleEntry("courier:rider")!]
                $0.tokens = TokenVerifier([provider])
            } _: {
                try await body($0)
            }
        }
    }

    @Test func `the response, the close frame and the log contain the claim, and no part of the token`() async throws {
        let log = RecordedLines()
        try await Self.run(log) { gateway in
            let token = try await gateway.token("anna", .customer)
            for _ in 0..<5 {
                let answer = try await gateway.rest("GET", "/api/v1/jobs/none", as: token)
                #expect(answer.status == 401 && answer.member("code") == "unauthorized")
                #expect(answer.text.contains("Its realm_access.roles is missing."), "\(answer)")
            }
            let port = gateway.port
            let received = try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
                _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                try socket.send(RawSocket.frame(0x81, Array(#"{"type":"auth","token":"\#(token)"}"#.utf8)))
                return String(decoding: try socket.readToEnd(), as: UTF8.self)
            }
            #expect(received.contains("token rejected: realm_access.roles is missing"), "\(received)")
            let lines = log.all.filter { $0.message == "token refused" }
            // One line a minute for each event loop.
            #expect((1...2).contains(lines.count), "\(lines)")
            #expect(lines.allSatisfy { "\($0.metadata["reason"]!)" == "Its realm_access.roles is missing." })
            let parts = token.split(separator: ".")
            #expect(!log.all.contains { line in parts.contains { "\(line.metadata)".contains($0) } })
        }
    }
}
