import EnrouteWire
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// The limits of a connection.
@Suite struct LimitsTests {
    /// Returns everything that a plain connection receives until it closes.
    private static func received(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ talk: @escaping @Sendable (_ port: Int, _ token: String) throws -> [UInt8]
    ) async throws -> [UInt8] {
        try await within {
            let (answers, answered) = AsyncStream.makeStream(of: [UInt8].self)
            try await RunningGateway.run(isSecure: false, change) { gateway in
                let token = try await gateway.token("anna", .customer)
                answered.yield(try await blocking { try talk(gateway.port, token) })
            }
            guard let answer = await answers.first(where: { _ in true }) else { throw Missing() }
            return answer
        }
    }

    @Test func `D3: a connection without a request is closed`() async throws {
        let received = try await Self.received {
            $0.limits.requestHeadSeconds = 1
        } _: { port, _ in
            try RawSocket(port: port).readToEnd()
        }
        #expect(received == [])
    }

    @Test func `D3: a request that arrives too slowly is closed`() async throws {
        let received = try await Self.received {
            $0.limits.requestHeadSeconds = 1
        } _: { port, _ in
            let socket = try RawSocket(port: port)
            try socket.send("GET /livez HTTP/1.1\r\nHost: loc")
            return try socket.readToEnd()
        }
        #expect(received == [])
    }

    @Test(arguments: ["\u{3}GET / HTTP/1.1\r\nHost: h\r\n\r\nmore", "\u{16}\u{3}\u{1}", "GET / HTTP/9.9\r\n\r\n"])
    func `a connection that does not speak HTTP is closed immediately`(bytes: String) async throws {
        let received = try await Self.received {
            $0.limits.requestHeadSeconds = 60
        } _: { port, token in
            let socket = try RawSocket(port: port)
            try socket.send(bytes)
            let received = try socket.readToEndOrReset()
            try RawSocket.session(port: port, token: token).sayGoodbye()
            return received
        }
        #expect(!String(decoding: received, as: UTF8.self).contains("200 OK"))
    }

    @Test
    func `frames in the packet of the upgrade request are read, and garbage there closes with 1002`()
        async throws
    {
        for (bytes, end) in [
            (RawSocket.frame(0x89, [5]) + RawSocket.frame(0x88, [0x03, 0xE8]), [0x8A, 1, 5, 0x88, 2, 0x03, 0xE8]),
            ([0x03, 0x47, 0x45], Frame.close(1002, "unknown opcode")),
        ] as [([UInt8], [UInt8])] {
            let received = try await Self.received { port, token in
                let socket = try RawSocket(port: port)
                let request = RawSocket.upgrade(
                    "/v1", "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer \(token)\r\n")
                try socket.send(Array(request.utf8) + bytes)
                return try socket.readToEnd()
            }
            #expect(received.ends(with: end))
        }
    }

    @Test(arguments: [(65, 8, false), (1, 9000, false), (1, 8, true)])
    func `D3: a request is rejected if its headers are too many or too long, and answered otherwise`(
        count: Int, bytes: Int, isAnswered: Bool
    ) async throws {
        let received = try await Self.received { port, _ in
            let socket = try RawSocket(port: port)
            let headers = (0..<count).map { "X-\($0): \(String(repeating: "a", count: bytes))\r\n" }.joined()
            try socket.send("GET /track/j1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(headers)\r\n")
            return try socket.readToEndOrReset()
        }
        #expect(String(decoding: received, as: UTF8.self).hasPrefix("HTTP/1.1 200 ") == isAnswered)
    }

    @Test func `a client that does not answer a ping is closed with 4001`() async throws {
        let received = try await Self.received {
            $0.limits.pingSeconds = 0
            $0.limits.pongSeconds = 0
        } _: { port, token in
            try RawSocket.session(port: port, token: token).readToEnd()
        }
        #expect(received == [0x89, 0] + Frame.close(4001, "no pong received"))
    }

    @Test func `D4: a slow reader is closed with 4002 when its outbox is full, after the queued messages`()
        async throws
    {
        let received = try await Self.received {
            $0.limits.allowManyMessages()
            // Neither limit closes the session while this test is still sending.
            ($0.limits.writeStallSeconds, $0.limits.closeSeconds) = (60, 60)
        } _: { port, token in
            let socket = try RawSocket.session(port: port, token: token, kernelBytes: 4096)
            let ping = RawSocket.frame(0x89, [UInt8](repeating: 7, count: 125))
            // Socket buffers and outbox hold about 270 KB; the gateway continues to read after it has closed the session.
            for _ in 0..<150 { try socket.send([[UInt8]](repeating: ping, count: 40).flatMap { $0 }) }
            return try socket.readUntil(Frame.close(4002, "send queue full"))
        }
        let end = Frame.close(4002, "send queue full")
        #expect(received.suffix(end.count).elementsEqual(end))
        let pongs = received.dropLast(end.count)
        #expect(pongs.count % 127 == 0 && pongs.count < 6_000 * 127)
        #expect(pongs.starts(with: Frame.pong(ByteBuffer(repeating: 7, count: 125))))
    }
}
