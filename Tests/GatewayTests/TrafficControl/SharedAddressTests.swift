import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// Clients that share an address with a client that sends invalid tokens.
@Suite struct SharedAddressTests {
    private static let none = String(repeating: "0", count: 32)
    private static let tooMany = "Too many invalid tokens from this address"

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    // A rate that does not refill: the lockout lasts.
                    ($0.limits.refusedTokensPerAddressPerSecond, $0.limits.refusedTokensPerAddressBurst) = (0, 3)
                }, body)
        }
    }

    /// Locks out the address of all clients of a test.
    private static func lockOut(_ gateway: RunningGateway) async throws {
        for expected in [401, 401, 401, 429] {
            let answer = try await gateway.rest("GET", "/api/v1/jobs/none", as: "wrong")
            #expect(answer.status == expected, "\(answer)")
        }
    }

    /// Opens a WebSocket and returns everything through `welcome`, or through the end of the connection.
    ///
    /// - Parameters:
    ///   - headers: of the upgrade request.
    ///   - message: the first message.
    private static func open(
        _ gateway: RunningGateway, _ headers: String = "", protocols: String = "enroute.v1", message: String? = nil
    ) async throws -> [UInt8] {
        let port = gateway.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: \(protocols)\r\n\(headers)"))
            var received: [UInt8] = []
            if let message {
                received += try socket.readUntil(Array("\r\n\r\n".utf8))
                try socket.send(RawSocket.frame(0x81, Array(message.utf8)))
            }
            while !Self.isWelcome(received) {
                let bytes = try socket.read()
                guard !bytes.isEmpty else { break }
                received += bytes
            }
            return received
        }
    }

    private static func isWelcome(_ received: [UInt8]) -> Bool {
        String(decoding: received, as: UTF8.self).contains(#""type":"welcome""#)
    }

    private static func isRefused(_ received: [UInt8]) -> Bool {
        received.ends(with: Frame.close(4006, "too many failed sign-in attempts"))
    }

    private static func bearer(_ token: String) -> String { "Authorization: Bearer \(token)\r\n" }

    private static func auth(_ kind: String, _ secret: String) -> String { #"{"type":"auth","\#(kind)":"\#(secret)"}"# }

    @Test func `D5: a valid token from a locked-out address is accepted, on every way in`() async throws {
        try await Self.run { gateway in
            let token = try await gateway.token("anna", .customer)
            try await Self.lockOut(gateway)
            let read = try await gateway.rest("GET", "/api/v1/jobs/none", as: token)
            #expect(read.status == 404, "\(read)")
            #expect(Self.isWelcome(try await Self.open(gateway, Self.bearer(token))))
            #expect(Self.isWelcome(try await Self.open(gateway, message: Self.auth("token", token))))
        }
    }

    @Test func `an invalid token from a locked-out address still has to wait, and is not counted as invalid again`()
        async throws
    {
        try await Self.run { gateway in
            try await Self.lockOut(gateway)
            // The signature is that of another token.
            let (token, other) = (try await gateway.token("anna", .customer), try await gateway.token("bert", .rider))
            let forged = token.prefix(through: token.lastIndex(of: ".")!) + other.split(separator: ".")[2]
            for wrong in ["wrong", String(forged)] {
                let read = try await gateway.rest("GET", "/api/v1/jobs/none", as: wrong)
                #expect(read.status == 429 && read.headers["retry-after"] != nil && read.text.contains(Self.tooMany))
                let upgrade = RESTResponse(try await Self.open(gateway, Self.bearer(wrong)))
                #expect(upgrade.status == 429 && upgrade.headers["retry-after"] != nil)
                #expect(upgrade.text.contains(Self.tooMany))
                #expect(Self.isRefused(try await Self.open(gateway, message: Self.auth("token", wrong))))
            }
            let metrics = try await gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_requests_refused_total{reason="invalid_token"} 3"#))
            #expect(metrics.contains(#"enroute_requests_refused_total{reason="invalid_tokens_per_address"} 7"#))
        }
    }

    @Test func `an expired token from a locked-out address is rejected as expired`() async throws {
        try await Self.run { gateway in
            let old = try await gateway.token("anna", .customer, lifetime: -120)
            try await Self.lockOut(gateway)
            let read = try await gateway.rest("GET", "/api/v1/jobs/none", as: old)
            #expect(read.status == 401 && read.member("code") == "token_expired", "\(read)")
            #expect(RESTResponse(try await Self.open(gateway, Self.bearer(old))).status == 401)
            let closed = try await Self.open(gateway, message: Self.auth("token", old))
            #expect(closed.ends(with: Frame.close(4005, "token expired")))
        }
    }

    @Test func `a tracking link from a locked-out address is accepted, and an unknown one has to wait`() async throws {
        try await Self.run { gateway in
            let job = try await gateway.travellingJob()
            let made = try await gateway.rest("POST", "/api/v1/jobs/\(job)/links", by: "anna", .customer)
            let link = try #require(made.member("link", as: String.self), "\(made)")
            try await Self.lockOut(gateway)
            for (secret, isValid) in [(link, true), (Self.none, false)] {
                let page = try await gateway.rest(
                    "GET", "/track/\(job)", as: nil, headers: ["Authorization: Link \(secret)"])
                #expect(page.status == (isValid ? 200 : 429), "\(page)")
                let stream = try await EventStreamReader.open(gateway, job, authorization: "Link \(secret)")
                #expect(stream.status == (isValid ? 200 : 429), "\(stream.body)")
                let session = try await Self.open(gateway, message: Self.auth("link", secret))
                #expect(Self.isWelcome(session) == isValid && Self.isRefused(session) == !isValid)
            }
        }
    }

    @Test func `a ticket and a sign-in code from a locked-out address are accepted, unknown ones have to wait`()
        async throws
    {
        try await Self.run { gateway in
            let ticket: String = try #require(
                try await gateway.rest("POST", "/api/v1/tickets", by: "anna", .customer).member("ticket"))
            let code: String = try #require(
                try await gateway.rest("POST", "/api/v1/sign-ins", by: "anna", .customer).member("code"))
            try await Self.lockOut(gateway)
            for (ticket, code, isValid) in [(ticket, code, true), (Self.none, Self.none, false)] {
                let session = try await Self.open(gateway, protocols: "enroute.v1, ticket.\(ticket)")
                #expect(Self.isWelcome(session) == isValid && Self.isRefused(session) == !isValid)
                let redeemed = try await gateway.rest(
                    "POST", "/api/v1/sign-ins/redeem", as: nil, #"{"code":"\#(code)"}"#)
                #expect(redeemed.status == (isValid ? 200 : 429), "\(redeemed)")
            }
        }
    }

    @Test func `a flood of invalid tokens crowds out new tokens of the address, but none that was verified before`()
        async throws
    {
        try await Self.run { gateway in
            // Services have no rate of requests of their own.
            let known = try await gateway.token("orders", .service, lifetime: 600)
            var new: [String] = []
            for second in 1...60 {
                new.append(try await gateway.token("orders", .service, lifetime: 600 + Int64(second)))
            }
            let (port, tokens) = (gateway.port, new)
            #expect(try await gateway.rest("GET", "/api/v1/jobs/none", as: known).status == 404)
            try await Self.lockOut(gateway)
            try await blocking {
                // In one write, so that a busy machine sends them faster than they are verified.
                let socket = try RawSocket(port: port)
                let flood = [String](repeating: "wrong", count: 20)
                for new in tokens {
                    let statuses = try Self.statuses(of: flood + [new, known], on: socket)
                    #expect(Set(statuses.dropLast(2)) == ["429"] && statuses.last == "404", "\(statuses)")
                    if statuses[flood.count] == "429" { return }
                }
                Issue.record("no new token was refused")
            }
            #expect(Self.isWelcome(try await Self.open(gateway, message: Self.auth("token", known))))
            #expect(Self.isWelcome(try await Self.open(gateway, Self.bearer(known))))
        }
    }

    /// Sends a request with each token at once, and returns the statuses of the responses.
    private static func statuses(of tokens: [String], on socket: RawSocket) throws -> [String] {
        let requests = tokens.map { "GET /api/v1/jobs/none HTTP/1.1\r\nHost: localhost\r\n\(Self.bearer($0))\r\n" }
        try socket.send(requests.joined())
        return try tokens.map { _ in
            let head = String(decoding: try socket.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
            var left = head.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) } ?? 0
            while left > 0 {
                let bytes = try socket.read(atMost: left)
                guard !bytes.isEmpty else { throw Missing() }
                left -= bytes.count
            }
            return String(head.dropFirst(9).prefix(3))
        }
    }

    @Test func `a refresh beyond the rate of verifications is answered with rate_limited, and the session continues`()
        async throws
    {
        try await Self.run { gateway in
            let (old, port) = (try await gateway.token("anna", .customer), gateway.port)
            var new: [String] = []
            for second in 1...60 {
                new.append(try await gateway.token("anna", .customer, lifetime: 600 + Int64(second)))
            }
            let tokens = new
            try await Self.lockOut(gateway)
            try await blocking {
                let session = try RawSocket(port: port)
                try session.send(
                    RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n\(Self.bearer(old))"))
                _ = try session.readUntil(Array(#""type":"welcome""#.utf8))
                let socket = try RawSocket(port: port)
                for new in tokens {
                    _ = try Self.statuses(of: [String](repeating: "wrong", count: 40), on: socket)
                    let refresh = #"{"type":"refresh","token":"\#(new)"}"#
                    try session.send(RawSocket.frame(0x81, Array(refresh.utf8)))
                    let answer = String(
                        decoding: try session.readUntil(Array(#""replyTo":"refresh""#.utf8))
                            + session.readUntil([UInt8(ascii: "}")]),
                        as: UTF8.self)
                    guard answer.contains(#""type":"error""#) else { continue }
                    #expect(answer.contains("rate_limited"), "\(answer)")
                    return
                }
                Issue.record("no refresh was refused")
            }
        }
    }
}
