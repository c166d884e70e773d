import Access
import Crypto
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Two providers with the same issuer, such as the ID tokens and the access tokens of Amazon Cognito, whose keys come from
/// issuers over HTTPS and real sockets.
@Suite struct SharedIssuerTests {
    private typealias Key = IssuerKeysTests.Key

    /// A signing key of the issuer, for the tokens of both providers.
    private struct Pair: Sendable {
        let identity: Key
        let access: Key

        init(_ kid: String) async throws {
            let key = P256.Signing.PrivateKey()
            self.identity = try await Key(kid, audience: "identity", key: key)
            self.access = try await Key(kid, audience: "access", key: key)
        }

        static func set(_ pairs: [Pair]) -> KeyIssuer.Answer { Key.set(pairs.map(\.identity)) }
    }

    private struct Scenario: Sendable {
        let gateway: RunningGateway
        /// Publishes the keys of identity tokens, and those of access tokens unless they have a set of their own.
        let first: KeyIssuer
        /// Publishes the keys of access tokens.
        let second: KeyIssuer
        let clock: IssuerKeysTests.Clock

        func lets(in token: String, way: Int) async throws -> Bool {
            try await IssuerKeysTests.lets(in: token, way: way, self.gateway)
        }

        func ask(as token: String) async throws -> JobRoutesTests.Answer {
            try await JobRoutesTests.ask(self.gateway, "GET", "/api/v1/jobs/none", as: token)
        }
    }

    /// - Parameters:
    ///   - keySets: 1 if both providers use the first issuer's set, 2 if each has its own set.
    ///   - published: the keys that both issuers publish at first.
    private static func run(
        keySets: Int, _ published: KeyIssuer.Answer, maxRefusedTokens: Int = 1_000_000,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) async throws {
        try await within {
            try await KeyIssuer.running(published) { first in
                try await KeyIssuer.running(published) { second in
                    let clock = IssuerKeysTests.Clock()
                    let verifier = TokenVerifier([
                        IdentityProvider(issuer: "test", audience: "identity"),
                        IdentityProvider(issuer: "test", audience: "access"),
                    ])
                    let providers: [(KeyIssuer, [Int: [TokenVerifier.Key]])] =
                        keySets == 1 ? [(first, [0: [], 1: []])] : [(first, [0: []]), (second, [1: []])]
                    let sources = try providers.map { issuer, fixed in
                        let fetch = try JWKSFetcher(
                            url: issuer.url, authorities: issuer.authorities, longestWait: .seconds(60))
                        return JWKSSource(verifier: verifier, fixed: fixed, now: { clock.now }) { try await fetch() }
                    }
                    try await RunningGateway.run(isSecure: false) {
                        ($0.tokens, $0.issuerKeys) = (verifier, IssuerKeys(sources))
                        // Generous, because the machine may be busy.
                        $0.limits.signInSeconds = 60
                        // All requests come from one address, in quick succession.
                        $0.limits.refusedTokensPerAddressPerSecond = 0
                        $0.limits.refusedTokensPerAddressBurst = maxRefusedTokens
                        ($0.limits.newConnectionsPerSecond, $0.limits.newConnectionsBurst) = (1_000_000, 1_000_000)
                    } _: { gateway in
                        await IssuerKeys(sources).refreshIfStale()
                        try await body(Scenario(gateway: gateway, first: first, second: second, clock: clock))
                    }
                }
            }
        }
    }

    @Test(arguments: [1, 2]) func `S4: rotating the keys of two providers that share an issuer refuses no valid token`(
        keySets: Int
    ) async throws {
        var pairs: [Pair] = []
        for number in 0..<4 { pairs.append(try await Pair("k\(number)")) }
        try await Self.run(keySets: keySets, Pair.set([pairs[0]])) { [pairs] scenario in
            for number in 1..<pairs.count {
                // The previous key stays published as long as its tokens may be in use.
                let published = [pairs[number - 1], pairs[number]]
                scenario.first.publish(Pair.set(published))
                scenario.second.publish(Pair.set(published))
                scenario.clock.pass(seconds: 30)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for client in 0..<24 {
                        let pair = published[client / 3 % 2]
                        let signer = client / 6 % 2 == 0 ? pair.access : pair.identity
                        group.addTask {
                            try await scenario.lets(in: try await signer.token("p\(client)"), way: client % 3)
                        }
                    }
                    for try await isIn in group { #expect(isIn) }
                }
            }
            // The providers of one set get a new key with one fetch.
            #expect(scenario.first.asked.count == pairs.count)
            #expect(scenario.second.asked.count == (keySets == 1 ? 0 : pairs.count))
        }
    }

    @Test func `S4: while the other provider's keys are still being fetched, a valid token waits for them`()
        async throws
    {
        let (old, new) = (try await Pair("old"), try await Pair("new"))
        try await Self.run(keySets: 2, Pair.set([old])) { scenario in
            scenario.first.publish(Pair.set([old, new]))
            scenario.second.publish(.silence)
            scenario.clock.pass(seconds: 30)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for way in 0..<3 {
                    group.addTask { try await scenario.lets(in: try await new.access.token("p\(way)"), way: way) }
                }
                // The first provider knows the key now, and refuses the audience of access tokens.
                try await becomes("the other keys are being fetched") { scenario.second.asked.count == 2 }
                let identity = try await new.identity.token()
                try await becomes("identity tokens of the new key are known") {
                    let now = Int64(Date.now.timeIntervalSince1970)
                    return (try? scenario.gateway.settings.tokens.verify(identity, now: now)) != nil
                }
                for way in 0..<3 {
                    group.addTask { try await scenario.lets(in: try await new.access.token("q\(way)"), way: way) }
                }
                for way in 0..<3 {
                    #expect(try await scenario.lets(in: try await old.access.token("r\(way)"), way: way))
                }
                scenario.second.publish(Pair.set([old, new]))
                for try await isIn in group { #expect(isIn) }
            }
            #expect(scenario.first.asked.count == 2 && scenario.second.asked.count == 2)
        }
    }

    @Test func `S4: when one of two fetches fails, its tokens are to be retried, and accepted after the next fetch`()
        async throws
    {
        let (old, new) = (try await Pair("old"), try await Pair("new"))
        try await Self.run(keySets: 2, Pair.set([old]), maxRefusedTokens: 2) { scenario in
            scenario.first.publish(Pair.set([old, new]))
            scenario.second.publish(.status(429))
            scenario.clock.pass(seconds: 30)
            let token = try await new.access.token()
            // More often than invalid tokens are allowed: the address is not locked out.
            for _ in 0..<4 { #expect(try await scenario.ask(as: token).status == 503) }
            let port = scenario.gateway.port
            let closed = try await blocking {
                let socket = try RawSocket.upgraded(port: port, token: token)
                _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                return try socket.readToEnd()
            }
            // A close frame with 4003: retry later.
            #expect(closed.starts(with: [0x88]) && closed.dropFirst(2).starts(with: [0x0F, 0xA3]))
            #expect(try await scenario.lets(in: try await new.identity.token(), way: 1))
            scenario.second.publish(Pair.set([old, new]))
            scenario.clock.pass(seconds: 30)
            for way in 0..<3 { #expect(try await scenario.lets(in: token, way: way)) }
            #expect(scenario.first.asked.count == 2 && scenario.second.asked.count == 3)
        }
    }

    @Test func `S4: tokens for another audience cause at most one fetch, and learn the reason from it`() async throws {
        let (known, other) = (try await Pair("known"), try await Pair("other"))
        let stranger = try await Key("known", audience: "elsewhere")
        try await Self.run(keySets: 2, Pair.set([known])) { scenario in
            // From here on, the providers have different keys.
            scenario.second.publish(Pair.set([other]))
            scenario.clock.pass(seconds: 30)
            #expect(try await scenario.lets(in: try await other.access.token(), way: 0))
            #expect(scenario.first.asked.count == 2 && scenario.second.asked.count == 2)
            scenario.clock.pass(seconds: 30)
            let wrong = try await known.access.token()
            let answer = try await scenario.ask(as: wrong)
            #expect(answer.status == 401, "\(answer)")
            #expect(answer.text.contains("Its aud does not match the configured audience."), "\(answer)")
            let forged = try await stranger.token()
            for token in [wrong, forged] {
                for way in 0..<30 { #expect(try await !scenario.lets(in: token, way: way % 3)) }
            }
            // The first provider knows the key.
            #expect(scenario.first.asked.count == 2 && scenario.second.asked.count == 3)
            #expect(try await scenario.lets(in: try await known.identity.token(), way: 1))
        }
    }

    @Test func `S4: tokens for another audience cause no fetch where the providers share a key set`() async throws {
        let (known, stranger) = (try await Pair("known"), try await Key("known", audience: "elsewhere"))
        try await Self.run(keySets: 1, Pair.set([known])) { scenario in
            scenario.clock.pass(seconds: 30)
            let forged = try await stranger.token()
            for way in 0..<9 { #expect(try await !scenario.lets(in: forged, way: way % 3)) }
            #expect(scenario.first.asked.count == 1)
        }
    }
}
