import Access
import EnrouteWire
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST
@testable import TrafficControl
@testable import WebSocket

/// The limits of an address, a user and a gateway, and their metrics.
@Suite struct BoundsTests {
    /// Runs a gateway, and returns its metrics after `talk`.
    private static func metrics(
        isSecure: Bool = false, _ change: @escaping @Sendable (inout GatewaySettings) -> Void,
        _ talk: @escaping @Sendable (_ gateway: RunningGateway, _ token: String) throws -> Void
    ) async throws -> String {
        let metrics = Inboxed<String>()
        try await within {
            try await RunningGateway.run(isSecure: isSecure, change) { gateway in
                let token = try await gateway.token("anna", .customer)
                try await blocking { try talk(gateway, token) }
                metrics.value = try await gateway.manage("/metrics").text
            }
        }
        return metrics.value ?? ""
    }

    @Test func `D3: a missing or unfinished TLS handshake times out`() async throws {
        let metrics = try await Self.metrics(isSecure: true) {
            $0.limits.tlsHandshakeSeconds = 1
        } _: { gateway, _ in
            let (silent, stopped) = (try RawSocket(port: gateway.port), try RawSocket(port: gateway.port))
            // The header of a TLS record of 512 bytes, without its content.
            try stopped.send([0x16, 0x03, 0x01, 0x02, 0x00])
            #expect(try silent.readToEnd() == [])
            #expect(try stopped.readToEnd() == [])
        }
        #expect(metrics.contains(#"enroute_timeouts_total{phase="handshake"} 2"#))
    }

    @Test func `D5: a session over the limit of a user is closed with 4009, and the others stay open`() async throws {
        let metrics = try await Self.metrics {
            $0.limits.sessionsPerPerson = 2
        } _: { gateway, token in
            let first = try RawSocket.session(port: gateway.port, token: token)
            let second = try RawSocket.session(port: gateway.port, token: token)
            let third = try RawSocket.upgraded(port: gateway.port, token: token)
            #expect(
                try third.readToEnd().ends(with: Frame.close(4009, "connection limit of this person reached")))
            for session in [first, second] {
                try session.send(RawSocket.frame(0x89, [1]))
                #expect(try session.read() == [0x8A, 1, 1])
            }
            try first.sayGoodbye()
            _ = try RawSocket.session(port: gateway.port, token: token)
        }
        #expect(metrics.contains(#"enroute_sessions_refused_total{limit="sessions_per_person"} 1"#))
        #expect(metrics.contains("enroute_sessions_opened_total 3"))
    }

    @Test func `D5: a session over the limit of an address is closed with 4009, whoever its user is`() async throws {
        let metrics = try await Self.metrics {
            $0.limits.sessionsPerAddress = 1
        } _: { gateway, token in
            let first = try RawSocket.session(port: gateway.port, token: token)
            let second = try RawSocket.upgraded(port: gateway.port, token: token)
            #expect(
                try second.readToEnd().ends(with: Frame.close(4009, "connection limit of this address reached")))
            try first.sayGoodbye()
        }
        #expect(metrics.contains(#"enroute_sessions_refused_total{limit="sessions_per_address"} 1"#))
    }

    @Test func `limits behind a trusted proxy apply to the client's address`() async throws {
        _ = try await Self.metrics {
            $0.limits.sessionsPerAddress = 1
            $0.limits.connectionsPerAddress = 1
            $0.trustedProxies = try! TrustedProxies(["127.0.0.0/8"])
        } _: { gateway, token in
            let one = try RawSocket.session(port: gateway.port, token: token, "X-Forwarded-For: 192.0.2.1\r\n")
            let other = try RawSocket.session(port: gateway.port, token: token, "X-Forwarded-For: 192.0.2.2\r\n")
            let again = try RawSocket.upgraded(port: gateway.port, token: token, "X-Forwarded-For: 192.0.2.1\r\n")
            #expect(
                try again.readToEnd().ends(with: Frame.close(4009, "connection limit of this address reached")))
            for session in [one, other] { try session.sayGoodbye() }
        }
    }

    @Test func `D5: a connection over the limit of an address is closed`() async throws {
        let metrics = try await Self.metrics {
            $0.limits.connectionsPerAddress = 2
        } _: { gateway, token in
            let sessions = try (0..<2).map { _ in try RawSocket.session(port: gateway.port, token: token) }
            #expect(try RawSocket(port: gateway.port).readToEndOrReset() == [])
            for session in sessions { try session.sayGoodbye() }
            _ = try RawSocket.session(port: gateway.port, token: token)
        }
        #expect(metrics.contains(#"enroute_connections_refused_total{limit="connections_per_address"} 1"#))
    }

    @Test func `D5: a client that sends too fast is told when to retry, and is closed with 4006 if it continues`()
        async throws
    {
        let metrics = try await Self.metrics {
            ($0.limits.messagesPerSecond, $0.limits.messagesBurst) = (0, 3)
        } _: { gateway, token in
            let session = try RawSocket.session(port: gateway.port, token: token)
            let ping = RawSocket.frame(0x81, Array(#"{"type":"ping"}"#.utf8))
            for _ in 0..<11 { try session.send(ping) }
            let received = try session.readToEnd()
            let text = String(decoding: received, as: UTF8.self)
            #expect(text.components(separatedBy: #""type":"pong""#).count == 4)
            #expect(text.components(separatedBy: #""code":"rate_limited""#).count >= 6)
            #expect(text.contains(#""retryInMs":"#))
            #expect(received.ends(with: Frame.close(4006, "message rate limit exceeded repeatedly")))
        }
        #expect(metrics.contains(#"enroute_sessions_closed_total{code="4006"} 1"#))
        #expect(metrics.contains(#"enroute_messages_refused_total{reason="rate"} 7"#))
    }

    @Test func `an address that guesses tokens must wait, on every way in`() async throws {
        let metrics = try await Self.metrics {
            ($0.limits.refusedTokensPerAddressPerSecond, $0.limits.refusedTokensPerAddressBurst) = (0, 3)
        } _: { gateway, _ in
            for expected in [401, 401, 401, 429] {
                let answer = try RawSocket.upgraded(port: gateway.port, token: "no.good.token").readToEnd()
                let text = String(decoding: answer, as: UTF8.self)
                #expect(text.hasPrefix("HTTP/1.1 \(expected) "))
                if expected == 429 { #expect(text.lowercased().contains("retry-after: ")) }
            }
            let rest = try RawSocket(port: gateway.port)
            try rest.send(
                "GET /api/v1/jobs/j1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer wrong\r\nConnection: close\r\n\r\n"
            )
            #expect(String(decoding: try rest.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 429 "))
        }
        #expect(metrics.contains(#"enroute_requests_refused_total{reason="invalid_token"} 3"#))
        #expect(metrics.contains(#"enroute_requests_refused_total{reason="invalid_tokens_per_address"} 2"#))
    }

    @Test func `D5: the REST requests of a user are rate limited, those of a service are not`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                // A bucket that refills so slowly that the speed of the machine does not matter.
                ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (0, 2)
            } _: { gateway in
                for (role, expected) in [(Role.customer, [404, 404, 429]), (.service, [404, 404, 404])] {
                    let token = try await gateway.token("anna", role)
                    let statuses = try await blocking {
                        try expected.map { _ in
                            let socket = try RawSocket(port: gateway.port)
                            try socket.send(
                                "GET /api/v1/jobs/j1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n"
                            )
                            return Int(String(decoding: try socket.readToEnd(), as: UTF8.self).dropFirst(9).prefix(3))
                                ?? 0
                        }
                    }
                    #expect(statuses == expected)
                }
            }
        }
    }

    @Test func `D4: a client that reads nothing is disconnected`() async throws {
        let metrics = try await Self.metrics {
            $0.limits.allowManyMessages()
            $0.limits.writeStallSeconds = 1
            $0.limits.queueBytes = 16 << 20
        } _: { gateway, token in
            let socket = try RawSocket.session(port: gateway.port, token: token, kernelBytes: 4096)
            let ping = RawSocket.frame(0x89, [UInt8](repeating: 7, count: 125))
            let batch = [[UInt8]](repeating: ping, count: 40).flatMap { $0 }
            // The gateway cannot send, so the write stalls.
            #expect(throws: RawSocket.Failed.self) { while true { try socket.send(batch) } }
        }
        #expect(metrics.contains(#"enroute_timeouts_total{phase="write"} 1"#))
        #expect(metrics.contains("enroute_messages_queued_total "))
    }

    @Test func `a page that the client does not read is abandoned`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.writeStallSeconds = 1
                $0.limits.socketSendBytes = 4096
                $0.streets = [UInt8](repeating: 32, count: 4 << 20)
            } _: { gateway in
                let socket = try RawSocket(port: gateway.port, kernelBytes: 4096)
                try socket.send("GET /assets/streets.geojson HTTP/1.1\r\nHost: h\r\n\r\n")
                try await gateway.waitForMetric(#"enroute_timeouts_total{phase="write"} 1"#)
                // The head, and as much of the page as the two socket buffers contain.
                #expect(try socket.readToEndOrReset().count < 4 << 20)
            }
        }
    }
}

/// A value passed out of a closure. It is set before it is read.
final class Inboxed<Value>: @unchecked Sendable {
    var value: Value?
}

extension [UInt8] {
    func ends(with end: [UInt8]) -> Bool { self.suffix(end.count).elementsEqual(end) }
}
