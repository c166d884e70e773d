import Access
import Crypto
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Synchronization
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// A gateway that fetches its issuer's keys (JWKS), over HTTPS and real sockets.
@Suite struct IssuerKeysTests {
    /// One of the keys between which the issuer rotates.
    struct Key: Sendable {
        let mint: TokenMint
        let published: String

        init(
            _ kid: String, audience: String = "test", key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
        ) async throws {
            self.mint = try await TokenMint(
                privateKeyPEM: key.pemRepresentation, kid: kid, issuer: "test", audience: audience)
            let point = Array(key.publicKey.x963Representation)
            let (x, y) = (Self.base64URL(Data(point[1..<33])), Self.base64URL(Data(point[33...])))
            self.published = #"{"kty":"EC","crv":"P-256","kid":"\#(kid)","x":"\#(x)","y":"\#(y)"}"#
        }

        static func base64URL(_ data: Data) -> String {
            data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }

        static func set(_ keys: [Key]) -> KeyIssuer.Answer {
            .body(#"{"keys":[\#(keys.map(\.published).joined(separator: ","))]}"#)
        }

        func token(_ person: String = "anna", lifetime: Int64 = 900) async throws -> String {
            try await self.mint.token(
                for: PersonID(person)!, role: .service, now: Int64(Date.now.timeIntervalSince1970), lifetime: lifetime)
        }
    }

    final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { self.time.withLock { $0 } }
        func pass(seconds: Int) { self.time.withLock { $0 += .seconds(seconds) } }
    }

    private struct Scenario: Sendable {
        let gateway: RunningGateway
        let issuer: KeyIssuer
        let source: JWKSSource
        let clock: Clock

        func lets(in token: String, way: Int) async throws -> Bool {
            try await IssuerKeysTests.lets(in: token, way: way, self.gateway)
        }
    }

    /// How to present a token: by REST, with the upgrade request, or with the first message.
    static func lets(in token: String, way: Int, _ gateway: RunningGateway) async throws -> Bool {
        if way == 0 {
            return try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/none", as: token).status == 404
        }
        let port = gateway.port
        return try await blocking {
            guard way == 2 else { return (try? RawSocket.session(port: port, token: token)) != nil }
            let socket = try RawSocket(port: port)
            try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
            _ = try socket.readUntil(Array("\r\n\r\n".utf8))
            try socket.send(RawSocket.frame(0x81, Array(#"{"type":"auth","token":"\#(token)"}"#.utf8)))
            return String(decoding: try socket.read(), as: UTF8.self).contains(#""type":"welcome""#)
        }
    }

    private static func run(
        _ answer: KeyIssuer.Answer, longestWait: Duration = .seconds(60), maxRefusedTokens: Int = 1_000_000,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) async throws {
        try await within {
            try await KeyIssuer.running(answer) { issuer in
                let (verifier, clock) = (TokenVerifier(keys: [], issuer: "test", audience: "test"), Clock())
                let fetch = try JWKSFetcher(
                    url: issuer.url, authorities: issuer.authorities, longestWait: longestWait)
                let source = JWKSSource(verifier: verifier, now: { clock.now }) { try await fetch() }
                try await RunningGateway.run(isSecure: false) {
                    ($0.tokens, $0.issuerKeys) = (verifier, IssuerKeys([source]))
                    // Generous, because the machine may be busy.
                    $0.limits.signInSeconds = 60
                    // All requests come from one address, in quick succession.
                    ($0.limits.refusedTokensPerAddressPerSecond, $0.limits.refusedTokensPerAddressBurst) = (
                        0, maxRefusedTokens
                    )
                    ($0.limits.newConnectionsPerSecond, $0.limits.newConnectionsBurst) = (1_000_000, 1_000_000)
                } _: { gateway in
                    try await body(Scenario(gateway: gateway, issuer: issuer, source: source, clock: clock))
                }
            }
        }
    }

    @Test func `S4: rotating keys under load refuses no valid token`() async throws {
        var keys: [Key] = []
        for number in 0..<4 { keys.append(try await Key("k\(number)")) }
        try await Self.run(Key.set([keys[0]])) { [keys] scenario in
            for (number, key) in keys.enumerated() {
                // The previous key stays published as long as its tokens may be in use.
                let published = number == 0 ? [key] : [keys[number - 1], key]
                scenario.issuer.publish(Key.set(published))
                scenario.clock.pass(seconds: 30)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for client in 0..<24 {
                        let signer = published[client / 3 % published.count]
                        group.addTask {
                            try await scenario.lets(in: try await signer.token("p\(client)"), way: client % 3)
                        }
                    }
                    for try await isIn in group { #expect(isIn) }
                }
            }
            #expect(scenario.issuer.asked.count == keys.count)
            let gone = try await keys[0].token()
            for way in 0..<3 { #expect(try await !scenario.lets(in: gone, way: way)) }
            let metrics = try await scenario.gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_jwks_fetches_total{outcome="succeeded"} 4"#))
        }
    }

    @Test func `a sign-in code can be redeemed for a token whose key is not known yet`() async throws {
        let keys = [try await Key("k1"), try await Key("k2")]
        try await Self.run(Key.set([keys[0]])) { scenario in
            #expect(try await scenario.lets(in: try await keys[0].token(), way: 0))
            scenario.issuer.publish(Key.set(keys))
            scenario.clock.pass(seconds: 30)
            // The code was issued by another gateway, which has that key.
            let codes = SignInCodes(live: scenario.gateway.client, settings: scenario.gateway.settings.liveState)
            let code = try await codes.issue(for: try await keys[1].token(), seconds: 60).get()
            let answer = try await scenario.gateway.rest(
                "POST", "/api/v1/sign-ins/redeem", as: nil, #"{"code":"\#(code)"}"#)
            #expect(answer.status == 200 && answer.member("person") == "anna", "\(answer)")
        }
    }

    /// Returns a token signed by an unpublished key.
    private static func stranger() -> String {
        let kid = String(UInt64.random(in: .min ... .max), radix: 36)
        return Key.base64URL(Data(#"{"alg":"ES256","kid":"\#(kid)"}"#.utf8)) + ".e30.AAAA"
    }

    /// Sends requests with such tokens, one after the other on one connection.
    private static func ask(_ count: Int, on socket: RawSocket) throws {
        for _ in 0..<count {
            try socket.send(
                "GET /api/v1/jobs/j HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(self.stranger())\r\n\r\n")
            let answer = String(decoding: try socket.readUntil(Array("}".utf8)), as: UTF8.self)
            // Refused, or told to retry when the issuer may be called again.
            #expect(answer.hasPrefix("HTTP/1.1 401 ") || answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
        }
    }

    @Test func `S4: 1,000 random kids cause at most one fetch`() async throws {
        let key = try await Key("k")
        try await Self.run(Key.set([key])) { scenario in
            let port = scenario.gateway.port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        for way in [1, 2, 1, 2] { #expect(try await !scenario.lets(in: Self.stranger(), way: way)) }
                        try await blocking { try Self.ask(96, on: try RawSocket(port: port)) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(scenario.issuer.asked.count == 1)
            let good = try await key.token()
            #expect(try await scenario.lets(in: good, way: 1))
        }
    }

    @Test func `S4: a locked-out address causes no fetch, and its tokens are verified with the known keys`()
        async throws
    {
        let (known, new) = (try await Key("known"), try await Key("new"))
        try await Self.run(Key.set([known]), maxRefusedTokens: 3) { scenario in
            let good = try await known.token()
            #expect(try await scenario.lets(in: good, way: 0))
            for _ in 0..<3 { #expect(try await !scenario.lets(in: "wrong", way: 0)) }
            scenario.issuer.publish(Key.set([known, new]))
            scenario.clock.pass(seconds: 30)
            let later = try await new.token()
            for way in 0..<3 {
                #expect(try await !scenario.lets(in: later, way: way))
                #expect(try await scenario.lets(in: good, way: way))
            }
            #expect(scenario.issuer.asked.count == 1)
        }
    }

    @Test(
        arguments: [
            .status(503), .redirect(to: "/elsewhere"), .body(String(repeating: " ", count: 65_537)), .body("<html>"),
            .body(#"{"keys":[]}"#),
        ] as [KeyIssuer.Answer])
    func `S4: an invalid key set leaves the previous keys in use`(answer: KeyIssuer.Answer) async throws {
        let (key, other) = (try await Key("k"), try await Key("other"))
        try await Self.run(Key.set([key])) { scenario in
            let good = try await key.token()
            #expect(try await scenario.lets(in: good, way: 0))
            scenario.issuer.publish(answer)
            scenario.clock.pass(seconds: 600)
            let strangers = try await other.token()
            #expect(try await !scenario.lets(in: strangers, way: 1))
            for way in 0..<3 { #expect(try await scenario.lets(in: good, way: way)) }
            #expect(scenario.issuer.asked == ["/keys", "/keys"])
            let metrics = try await scenario.gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_jwks_fetches_total{outcome="failed"} 1"#))
        }
    }

    @Test func `S4: a slow issuer delays only the clients whose key is being fetched`() async throws {
        let (known, new) = (try await Key("known"), try await Key("new"))
        try await Self.run(Key.set([known])) { scenario in
            let good = try await known.token()
            #expect(try await scenario.lets(in: good, way: 0))
            scenario.issuer.publish(.silence)
            scenario.clock.pass(seconds: 30)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for way in 0..<3 {
                    group.addTask { try await scenario.lets(in: try await new.token(), way: way) }
                }
                while scenario.issuer.asked.count < 2 { await Task.yield() }
                for way in 0..<3 { #expect(try await scenario.lets(in: good, way: way)) }
                scenario.issuer.publish(Key.set([known, new]))
                for try await isIn in group { #expect(isIn) }
            }
            #expect(scenario.issuer.asked.count == 2)
        }
    }

    @Test func `B1: messages sent while a signing key is fetched are answered once the key is known`() async throws {
        let (old, new) = (try await Key("old"), try await Key("new"))
        try await Self.run(Key.set([old])) { scenario in
            let (first, second) = (try await old.token(), try await new.token())
            #expect(try await scenario.lets(in: first, way: 0))
            scenario.issuer.publish(.silence)
            scenario.clock.pass(seconds: 30)
            let port = scenario.gateway.port
            async let received = blocking {
                let socket = try RawSocket.upgraded(port: port, token: second)
                for ref in 1...3 {
                    try socket.send(
                        RawSocket.frame(0x81, Array(#"{"type":"unsubscribe","job":"j","ref":"\#(ref)"}"#.utf8)))
                }
                var received: [UInt8] = []
                while !String(decoding: received, as: UTF8.self).contains(#""ref":"3""#) {
                    let more = try socket.read()
                    if more.isEmpty { break }
                    received += more
                }
                return String(decoding: received, as: UTF8.self)
            }
            while scenario.issuer.asked.count < 2 { await Task.yield() }
            scenario.issuer.publish(Key.set([old, new]))
            let text = try await received
            let order = [#""type":"welcome""#, #""ref":"1""#, #""ref":"2""#, #""ref":"3""#].compactMap {
                text.range(of: $0)?.lowerBound
            }
            #expect(order.count == 4 && order == order.sorted(), "\(text)")
        }
    }

    @Test func `B2: a token with an unknown key is answered with retry later while no fetch is allowed`() async throws {
        let (old, new) = (try await Key("old"), try await Key("new"))
        try await Self.run(Key.set([old])) { scenario in
            #expect(try await scenario.lets(in: try await old.token(), way: 0))
            scenario.issuer.publish(Key.set([old, new]))
            let (port, token) = (scenario.gateway.port, try await new.token())
            let received = try await blocking {
                let socket = try RawSocket.upgraded(port: port, token: token)
                _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                return try socket.readToEnd()
            }
            #expect(received.starts(with: [0x88]) && received.dropFirst(2).starts(with: [0x0F, 0xA3]))
            let rest = try await JobRoutesTests.ask(scenario.gateway, "GET", "/api/v1/jobs/none", as: token)
            #expect(rest.status == 503)
            scenario.clock.pass(seconds: 30)
            for way in 0..<3 { #expect(try await scenario.lets(in: token, way: way)) }
        }
    }

    @Test func `a token refresh with a new key waits until the key is fetched`() async throws {
        let (old, new) = (try await Key("old"), try await Key("new"))
        try await Self.run(Key.set([old])) { scenario in
            let (first, second) = (try await old.token(), try await new.token())
            #expect(try await scenario.lets(in: first, way: 0))
            scenario.issuer.publish(Key.set([old, new]))
            scenario.clock.pass(seconds: 30)
            let port = scenario.gateway.port
            let answer = try await blocking {
                let socket = try RawSocket.session(port: port, token: first)
                try socket.send(RawSocket.frame(0x81, Array(#"{"type":"refresh","token":"\#(second)"}"#.utf8)))
                return String(decoding: try socket.read(), as: UTF8.self)
            }
            #expect(answer.contains(#""type":"ok","replyTo":"refresh""#), "\(answer)")
        }
    }

    @Test func `a request to an issuer that never answers times out`() async throws {
        let key = try await Key("k")
        try await Self.run(.silence, longestWait: .milliseconds(50)) { scenario in
            let token = try await key.token()
            #expect(try await !scenario.lets(in: token, way: 1))
            #expect(scenario.source.fetched.failed == 1)
        }
    }
}

@Suite struct KeyFetchTests {
    @Test(arguments: [
        "", "keys", "http://issuer.example/keys", "http://127.example/keys", "http://127.0.0.1.example/",
        "ftp://localhost/",
        "https://", "https://user:word@issuer.example/", "file:///etc/passwd", "https://issuer.example/#keys",
    ])
    func `an issuer URL that another machine could answer without TLS is refused`(url: String) {
        #expect(throws: JWKSFetcher.InvalidSetting.self) { try JWKSFetcher(url: url) }
    }

    @Test(arguments: ["https://issuer.example/keys", "http://localhost:1/", "http://127.0.0.1/", "http://[::1]:8/keys"])
    func `an issuer may use HTTPS, or HTTP on this machine`(url: String) {
        #expect(throws: Never.self) { _ = try JWKSFetcher(url: url) }
    }

    @Test func `an issuer with an untrusted certificate is refused`() async throws {
        try await within {
            try await KeyIssuer.running(.body("{}")) { issuer in
                let fetch = try JWKSFetcher(url: issuer.url)
                await #expect(throws: JWKSFetcher.Failure.self) { _ = try await fetch() }
                #expect(issuer.asked == [])
            }
        }
    }
}
