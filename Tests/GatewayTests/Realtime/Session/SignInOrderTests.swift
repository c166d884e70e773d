import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// Messages that a client sends before it receives `welcome`.
@Suite struct SignInOrderTests {
    private static func message(_ json: String) -> [UInt8] { RawSocket.frame(0x81, Array(json.utf8)) }

    /// Reads until the received text contains `end`, or the connection closes.
    private static func readText(_ socket: RawSocket, until end: String) throws -> String {
        var received: [UInt8] = []
        while !String(decoding: received, as: UTF8.self).contains(end) {
            let more = try socket.read()
            if more.isEmpty { break }
            received += more
        }
        return String(decoding: received, as: UTF8.self)
    }

    private static func positions(_ texts: [String], in text: String) -> [String.Index] {
        texts.compactMap { text.range(of: $0)?.lowerBound }
    }

    @Test func `B1: a link's auth and subscribe sent together are answered in order`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                let secret = try await links.issue(
                    for: job, of: PersonID("anna")!, lifetime: .seconds(60), by: PersonID("service")!
                ).get()
                let port = gateway.port
                let socket = Inboxed<RawSocket>()
                // While Redis accepts no writes, the link is not looked up.
                try await gateway.whileWritesWait {
                    try await blocking {
                        let connected = try RawSocket(port: port)
                        try connected.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
                        _ = try connected.readUntil(Array("\r\n\r\n".utf8))
                        try connected.send(
                            Self.message(#"{"type":"auth","link":"\#(secret)"}"#)
                                + Self.message(#"{"type":"subscribe","job":"\#(job)"}"#)
                                + Self.message(#"{"type":"unsubscribe","job":"other","ref":"last"}"#))
                        socket.value = connected
                    }
                }
                let text = try await blocking { try Self.readText(socket.value!, until: #""type":"subscribed""#) }
                #expect(
                    Self.positions([#""type":"welcome""#, #""type":"subscribed""#], in: text).count == 2, "\(text)")
                let both = Self.positions([#""type":"welcome""#, #""ref":"last""#], in: text)
                #expect(both.count == 2 && both == both.sorted(), "\(text)")
            }
        }
    }

    @Test func `B1: a session opened with a ticket answers messages sent with the upgrade request`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("anna", .customer)
                let made = try await JobRoutesTests.ask(gateway, "POST", "/api/v1/tickets", as: token)
                let ticket = try #require(made.text.firstMatch(of: /"ticket":"([0-9a-f]{32})"/)).1
                let port = gateway.port
                let text = try await blocking {
                    let socket = try RawSocket(port: port)
                    let request = RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1, ticket.\(ticket)\r\n")
                    try socket.send(Array(request.utf8) + Self.message(#"{"type":"ping"}"#))
                    return try Self.readText(socket, until: #""type":"pong""#)
                }
                let both = Self.positions([#""type":"welcome""#, #""type":"pong""#], in: text)
                #expect(both.count == 2 && both == both.sorted(), "\(text)")
            }
        }
    }

    @Test func `B1: too many messages before welcome close with a code that allows reconnecting`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.messagesBeforeSignIn = 2 }) { gateway in
                let job = try await gateway.travellingJob()
                let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                let secret = try await links.issue(
                    for: job, of: PersonID("anna")!, lifetime: .seconds(60), by: PersonID("service")!
                ).get()
                let port = gateway.port
                try await gateway.whileWritesWait {
                    let received = try await blocking {
                        let socket = try RawSocket(port: port)
                        try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
                        _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                        let ping = Self.message(#"{"type":"ping"}"#)
                        try socket.send(Self.message(#"{"type":"auth","link":"\#(secret)"}"#) + ping + ping + ping)
                        try socket.send(RawSocket.frame(0x88, [0x0F, 0xA6]))
                        return try socket.readToEnd()
                    }
                    #expect(
                        received == Frame.close(4006, "too many messages before welcome"))
                    #expect(CloseCode.reconnects(after: 4006))
                }
            }
        }
    }
}
