import EnrouteWire
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// RFC 6455 on a real socket: handshake, frames, fragments, text and close.
@Suite(.needsMachine(for: .volume)) struct ConformanceTests {
    /// Returns everything that a session, or the echo endpoint, sends in response to `bytes` until the connection closes.
    private static func answer(
        _ bytes: [UInt8], path: String = "/v1/_echo",
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in }
    ) async throws -> [UInt8] {
        let answer = Inboxed<[UInt8]>()
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.hasEchoEndpoint = true
                change(&$0)
            } _: { gateway in
                let token = try await gateway.token("anna", .customer)
                answer.value = try await blocking {
                    let socket = try RawSocket.upgraded(port: gateway.port, token: token, path: path)
                    _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                    // Like a browser: sends and receives at the same time.
                    let sender = Boxed(socket)
                    Thread.detachNewThread { try? sender.value.send(bytes) }
                    return try socket.readToEnd()
                }
            }
        }
        return answer.value ?? []
    }

    private static let goodbye = RawSocket.frame(0x88, [0x03, 0xE8])
    private static let farewell = Frame.close(1000, "")

    @Test func `text, binary and fragmented messages are echoed, and a ping in between is answered first`()
        async throws
    {
        let sent =
            RawSocket.frame(0x81, Array("grüße".utf8)) + RawSocket.frame(0x82, [0, 255, 7])
            + RawSocket.frame(0x01, Array("ab".utf8)) + RawSocket.frame(0x89, [1, 2])
            + RawSocket.frame(0x00, []) + RawSocket.frame(0x80, Array("cd".utf8)) + Self.goodbye
        let expected =
            Frame.text(Array("grüße".utf8)) + Frame.binary(ByteBuffer(bytes: [0, 255, 7]))
            + Frame.pong(ByteBuffer(bytes: [1, 2])) + Frame.text(Array("abcd".utf8)) + Self.farewell
        #expect(try await Self.answer(sent) == expected)
    }

    @Test(arguments: [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537, 1 << 20, 16 << 20])
    func `a message of any length up to 16 MiB is echoed`(length: Int) async throws {
        let payload = [UInt8](repeating: UInt8(ascii: "*"), count: length)
        let answer = try await Self.answer(RawSocket.longFrame(0x81, payload) + Self.goodbye)
        // Compared outside of `#expect`, which would print all 16 MiB on failure.
        let isWhole = answer == Frame.text(payload) + Self.farewell
        #expect(isWhole)
    }

    @Test(
        arguments: [
            ([0xFF], 1007), ([0xC3], 1007), ([0xED, 0xA0, 0x80], 1007), ([0xF4, 0x90, 0x80, 0x80], 1007),
            ([0xC0, 0xAF], 1007),
        ] as [([UInt8], UInt16)])
    func `text that is not UTF-8 closes the connection`(payload: [UInt8], code: UInt16) async throws {
        #expect(try await Self.answer(RawSocket.frame(0x81, payload)) == Frame.close(code, "text must be UTF-8"))
        let session = try await Self.answer(RawSocket.frame(0x81, payload), path: "/v1")
        #expect(session.ends(with: Frame.close(code, "text must be UTF-8")))
    }

    @Test func `a character may span fragments, but must be complete at the end of the message`() async throws {
        let euro = Array("€".utf8)
        let whole = RawSocket.frame(0x01, Array(euro[..<1])) + RawSocket.frame(0x80, Array(euro[1...])) + Self.goodbye
        #expect(try await Self.answer(whole) == Frame.text(euro) + Self.farewell)
    }

    @Test(
        arguments: [
            (RawSocket.frame(0xC1, [65]), 1002), (RawSocket.frame(0x83, []), 1002), (RawSocket.frame(0x80, []), 1002),
            (RawSocket.frame(0x09, []), 1002), (RawSocket.frame(0x81, [65], masked: false), 1002),
            (RawSocket.frame(0x82, [1]), 1003), ([0x81, 0x80 | 126, 0x10, 0x01], 1009),
        ] as [([UInt8], UInt16)])
    func `a session is closed with the code of the violated rule`(bytes: [UInt8], code: UInt16) async throws {
        let answer = try await Self.answer(bytes, path: "/v1")
        #expect(answer.suffix(150).contains([0x88], withCode: code))
    }

    @Test(
        arguments: [
            ([], 1000), ([0x03, 0xE8], 1000), ([0x0B, 0xB9] + Array("bye".utf8), 3001), ([0x03], 1002),
            ([0x03, 0xED], 1002), ([0x03, 0xE8, 0xFF], 1002),
        ] as [([UInt8], UInt16)])
    func `a close frame is answered with the same code, or with 1002 if it is invalid`(payload: [UInt8], code: UInt16)
        async throws
    {
        for path in ["/v1", "/v1/_echo"] {
            let answer = try await Self.answer(RawSocket.frame(0x88, payload), path: path)
            #expect(answer.ends(with: Frame.close(code, "")), "\(path)")
        }
    }

    @Test func `the echo endpoint exists only if it was enabled`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("anna", .customer)
                let answer = try await blocking {
                    let socket = try RawSocket.upgraded(port: gateway.port, token: token, path: "/v1/_echo")
                    socket.finish()
                    return String(decoding: try socket.readToEnd(), as: UTF8.self)
                }
                #expect(answer.hasPrefix("HTTP/1.1 404 "))
            }
        }
    }

    @Test(arguments: [
        ("GET", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8", 426),
        ("GET", "Connection: Upgrade", "Connection: keep-alive", 400),
        ("GET", "Upgrade: websocket", "Accept: */*", 426), ("GET", "Upgrade: websocket", "Upgrade: h2c", 426),
        ("GET", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "X-Key: none", 400),
        ("GET", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: short", 400),
        ("GET", "HTTP/1.1", "HTTP/1.0", 400), ("POST", "GET", "POST", 400),
        ("GET", "enroute.v1", "enroute.v9", 400),
    ])
    func `an invalid opening handshake is refused with the reason`(
        method: String, good: String, bad: String, status: Int
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let request = RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n")
                    .replacingOccurrences(of: good, with: bad)
                let answer = try await blocking {
                    let socket = try RawSocket(port: gateway.port)
                    try socket.send(request)
                    socket.finish()
                    return String(decoding: try socket.readToEnd(), as: UTF8.self)
                }
                #expect(answer.contains(" \(status) ") && answer.contains("application/problem+json"))
                if status == 426 { #expect(answer.lowercased().contains("sec-websocket-version: 13")) }
            }
        }
    }

    @Test func `Sec-WebSocket-Accept equals the example of RFC 6455`() {
        #expect(WebSocketUpgrade.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }
}

extension Collection<UInt8> {
    /// Returns whether a frame that starts with `head` contains this close code.
    func contains(_ head: [UInt8], withCode code: UInt16) -> Bool {
        let bytes = Array(self)
        return bytes.indices.dropLast(3).contains { index in
            bytes[index] == head[0] && bytes[index + 2] == UInt8(code >> 8) && bytes[index + 3] == UInt8(code & 0xFF)
        }
    }
}
