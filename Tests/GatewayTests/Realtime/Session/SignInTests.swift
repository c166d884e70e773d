import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import TrafficControl

/// The ways to sign in, and the checks they have to pass.
@Suite struct SignInTests {
    @Test func `S6: a token is accepted in the upgrade request or in the first message`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                try await gateway.connect("anna", .customer) { _, messages in
                    let welcome = try await messages.welcome()
                    #expect(welcome.pingIntervalSeconds == 25)
                }
                let token = try await gateway.token("anna", .customer)
                try await gateway.unsigned { connection, messages in
                    try await connection.send(.auth(.token(token)))
                    #expect(try await messages.welcome().limits.messageBytes == 4096)
                }
            }
        }
    }

    @Test func `a tracking link gives access to its job and no other`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                let other = try await gateway.travellingJob("job-2")
                let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                let secret = try await links.issue(
                    for: job, of: PersonID("anna")!, lifetime: .seconds(60), by: PersonID("service")!
                ).get()
                try await gateway.unsigned { connection, messages in
                    try await connection.send(.auth(.link(secret)))
                    _ = try await messages.welcome()
                    try await connection.send(.subscribe(job: job, since: nil))
                    #expect(try await messages.subscribed().status == .onTheWay)
                    try await connection.send(.subscribe(job: other, since: nil))
                    #expect(try await messages.refusal().code == .notFound)
                }
            }
        }
    }

    @Test func `a token restricted to a job can follow and change no other`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let (job, other) = (try await gateway.travellingJob(), try await gateway.travellingJob("job-2"))
                let token = try await gateway.mint.token(
                    for: PersonID("rider-1")!, role: .rider, now: Int64(Date.now.timeIntervalSince1970), job: job)
                try await gateway.unsigned { connection, messages in
                    try await connection.send(.auth(.token(token)))
                    _ = try await messages.welcome()
                    try await connection.send(.travel(job: job, active: true))
                    #expect(try await messages.travelAnswer() != nil)
                    try await connection.send(.subscribe(job: job, since: nil))
                    #expect(try await messages.subscribed().status == .onTheWay)
                    for message in [
                        ClientMessage.travel(job: other, active: true), .subscribe(job: other, since: nil),
                    ] {
                        try await connection.send(message)
                        #expect(try await messages.refusal().code == .notFound)
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ClientMessage.auth(.token("no token")), .auth(.link(String(repeating: "0", count: 32))), .auth(.link("*")),
        .ping,
    ])
    func `a first message that does not sign in closes 4500`(message: ClientMessage) async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let code = try await gateway.closeCode { try await $0.send(message) }
                #expect(code == 4500)
            }
        }
    }

    @Test func `a token that is expired, or expires later, closes 4005`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let expired = try await gateway.token("anna", .customer, lifetime: -3600)
                #expect(try await gateway.closeCode { try await $0.send(.auth(.token(expired))) } == 4005)
                // An expired token, within the allowed clock difference of 30 s, is valid for the one remaining second.
                let ending = try await gateway.token("anna", .customer, lifetime: -29)
                #expect(try await gateway.closeCode { try await $0.send(.auth(.token(ending))) } == 4005)
            }
        }
    }

    @Test func `D3: a client that does not sign in is closed with 4008`() async throws {
        try await within {
            try await RunningGateway.run { settings in
                // Long enough to read the reason as well.
                (settings.limits.signInSeconds, settings.limits.closeSeconds) = (0, 30)
            } _: { gateway in
                let code = try await gateway.closeCode { _ in }
                #expect(code == 4008)
            }
        }
    }

    @Test func `S6: a request with a bad token, a token in the URL or no subprotocol is refused before the upgrade`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let good = "Sec-WebSocket-Protocol: enroute.v1\r\n"
                let token = try await gateway.token("anna", .customer)
                for (path, headers, status, word) in [
                    ("/v1", good + "Authorization: Bearer x.y.z\r\n", 401, "unauthorized"),
                    ("/v1", good + "Authorization: Basic eA==\r\n", 401, "unauthorized"),
                    ("/v1?token=\(token)", good, 400, "not accepted in URLs"),
                    ("/v1?a=b&access_token=\(token)", good, 400, "not accepted in URLs"),
                    ("/v1", "", 400, "subprotocol"), ("/v1", "Sec-WebSocket-Protocol: mqtt\r\n", 400, "subprotocol"),
                    ("/other", good, 404, "No resource exists"),
                ] {
                    let bytes = try await blocking {
                        let socket = try RawSocket(port: gateway.port)
                        try socket.send(RawSocket.upgrade(path, headers))
                        socket.finish()
                        return try socket.readToEnd()
                    }
                    let answer = String(decoding: bytes, as: UTF8.self)
                    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(path) \(headers) \(answer)")
                    #expect(answer.contains(word), "\(answer)")
                    #expect(!answer.contains(token))
                }
            }
        }
    }
}

extension RunningGateway {
    func unsigned<Result: Sendable>(
        _ body: (GatewayConnection, inout GatewayConnection.Messages.AsyncIterator) async throws -> Result
    ) async throws -> Result {
        try await GatewayConnection.open(self.url, trust: .authorities(file: self.certificate)) { connection in
            var messages = connection.messages.makeAsyncIterator()
            return try await body(connection, &messages)
        }
    }

    /// The code with which the gateway closes a connection that only runs `body`.
    func closeCode(_ body: (GatewayConnection) async throws -> Void) async throws -> UInt16 {
        try await self.unsigned { connection, messages in
            try await body(connection)
            do {
                while try await messages.next() != nil {}
            } catch ClientError.closed(let code, _) {
                return code
            }
            throw Missing()
        }
    }
}

extension GatewayConnection.Messages.AsyncIterator {
    mutating func welcome() async throws -> Welcome {
        try await self.first { if case .welcome(let welcome) = $0 { welcome } else { nil } }
    }
}

/// Tickets, origins and refresh, which pages need.
@Suite struct PageSignInTests {
    private static func upgrade(
        _ gateway: RunningGateway, origin: String? = nil, ticket: String? = nil
    ) async throws -> String {
        let port = gateway.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            let protocols = ticket.map { "enroute.v1, ticket.\($0)" } ?? "enroute.v1"
            var lines = [
                "GET /v1 HTTP/1.1", "Host: localhost:\(port)", "Connection: Upgrade", "Upgrade: websocket",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol: \(protocols)",
            ]
            if let origin { lines.append("Origin: \(origin)") }
            try socket.send(lines.map { "\($0)\r\n" }.joined() + "\r\n")
            var answer = try socket.readUntil(Array("\r\n\r\n".utf8))
            // The session's first message: welcome, or the reason for refusing it.
            if ticket != nil { answer += try socket.read() }
            return String(decoding: answer, as: UTF8.self)
        }
    }

    @Test func `S5: only pages of the gateway's own origin, or of a configured one, can connect`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let own = "localhost:\(gateway.port)"
                for (origin, isIn) in [
                    ("http://\(own)", true), ("https://\(own)", true), ("https://evil.example", false), ("null", false),
                    ("https://\(own).evil.example", false), ("https://localhost", false), ("", false),
                ] {
                    let answer = try await Self.upgrade(gateway, origin: origin)
                    #expect(answer.hasPrefix(isIn ? "HTTP/1.1 101 " : "HTTP/1.1 403 "), "\(origin)")
                }
            }
            try await RunningGateway.run(isSecure: false) {
                $0.origins = try! AllowedOrigins(["https://app.example", "https://app.example:8443"])
            } _: { gateway in
                for (origin, isIn) in [
                    ("https://app.example", true), ("https://app.example:8443", true), ("http://app.example", false),
                    ("https://app.example.evil", false), ("http://localhost:\(gateway.port)", false),
                ] {
                    let answer = try await Self.upgrade(gateway, origin: origin)
                    #expect(answer.hasPrefix(isIn ? "HTTP/1.1 101 " : "HTTP/1.1 403 "), "\(origin)")
                }
            }
        }
    }

    @Test(arguments: [
        "*", "https://*.example", "example.com", "https://a/b", "https://A.example", "ftp://a", "https://u@a",
    ])
    func `an origin that no browser sends is refused in the configuration`(origin: String) {
        #expect(throws: AllowedOrigins.Malformed.self) { try AllowedOrigins([origin]) }
    }

    @Test func `S1: concurrent uses of a ticket sign in exactly one client`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let tickets = Tickets(live: gateway.client, settings: gateway.settings.liveState)
                let holder = Tickets.Holder(
                    person: PersonID("anna")!, role: "customer", job: JobID("j1")!, rider: PersonID("r1")!,
                    token: "token-1", issuedAt: Int64(Date.now.timeIntervalSince1970),
                    expiresAt: Int64(Date.now.timeIntervalSince1970) + 900)
                for _ in 0..<200 {
                    let ticket = try await tickets.issue(to: holder).get()
                    async let first = tickets.redeem(ticket).get()
                    async let second = tickets.redeem(ticket).get()
                    let holders = try await [first, second]
                    try #require(holders.compactMap { $0 } == [holder])
                }
            }
        }
    }

    @Test func `a ticket from REST signs a page in once`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("anna", .customer)
                let made = try await JobRoutesTests.ask(gateway, "POST", "/api/v1/tickets", as: token)
                #expect(made.status == 201)
                let ticket = try #require(made.text.firstMatch(of: /"expiresInSeconds":60,"ticket":"([0-9a-f]{32})"/)).1
                let first = try await Self.upgrade(gateway, ticket: String(ticket))
                #expect(first.contains("sec-websocket-protocol: enroute.v1\r\n"))
                #expect(first.contains(#"{"type":"welcome""#))
                let second = try await Self.upgrade(gateway, ticket: String(ticket))
                #expect(second.contains("ticket invalid or expired"))
                let without = try await JobRoutesTests.ask(gateway, "POST", "/api/v1/tickets")
                #expect(without.status == 401)
            }
        }
    }

    @Test func `a ticket has exactly the permissions of its token`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let narrow = try await gateway.mint.token(
                    for: PersonID("anna")!, role: .customer, now: Int64(Date.now.timeIntervalSince1970),
                    job: JobID("j1")!)
                let made = try await JobRoutesTests.ask(gateway, "POST", "/api/v1/tickets", as: narrow)
                let ticket = try #require(made.text.firstMatch(of: /"ticket":"([0-9a-f]{32})"/)).1
                let tickets = Tickets(live: gateway.client, settings: gateway.settings.liveState)
                let holder = try #require(try await tickets.redeem(String(ticket)).get())
                #expect(holder.job == JobID("j1")! && holder.rider == nil && holder.person == PersonID("anna")!)
            }
        }
    }

    @Test func `a ticket is refused after its token has expired`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let tickets = Tickets(live: gateway.client, settings: gateway.settings.liveState)
                let expiry = Int64(Date.now.timeIntervalSince1970) - TokenVerifier.skew - 1
                let ticket = try await tickets.issue(
                    to: .init(
                        person: PersonID("anna")!, role: "customer", job: nil, rider: nil, token: "t",
                        issuedAt: expiry - 900, expiresAt: expiry)
                ).get()
                let answer = try await Self.upgrade(gateway, ticket: ticket)
                #expect(answer.contains("token expired") && !answer.contains("welcome"))
            }
        }
    }

    @Test
    func `a newer token of the same person replaces the old one; another person's or an invalid one changes nothing`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let later = try await gateway.token("anna", .customer, lifetime: 1800)
                let others = try await [gateway.token("bert", .customer), gateway.token("anna", .ops)]
                try await gateway.connect("anna", .customer) { connection, messages in
                    _ = try await messages.welcome()
                    for other in others {
                        try await connection.send(.refresh(token: other))
                        #expect(try await messages.refusal().code == .forbidden)
                    }
                    try await connection.send(.refresh(token: "no token"))
                    let rejected = try await messages.refusal()
                    #expect(rejected.code == .unauthorized)
                    #expect(rejected.message.hasPrefix("The token was rejected. It is not a signed JWT"), "\(rejected)")
                    try await connection.send(.refresh(token: later))
                    let deadline: Int64 = try await messages.first { message in
                        if case .ok("refresh", _, _, let deadline?, _) = message { deadline } else { nil }
                    }
                    let left = deadline / 1000 - Int64(Date.now.timeIntervalSince1970)
                    #expect((1700...1800).contains(left))
                }
            }
        }
    }
}
