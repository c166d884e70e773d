import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Attacks on memory, CPU time and secrets, over real sockets.
@Suite struct HostileClientTests {
    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ talk: @escaping @Sendable (_ port: Int, _ token: String) throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                let token = try await gateway.token("anna", .service)
                try await blocking { try talk(gateway.port, token) }
            }
        }
    }

    @Test(
        arguments: [
            [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 1, 0, 0, 0, 0], [0x80, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `D1: a frame header that announces up to 2^63 bytes closes the session before the payload arrives`(
        length: [UInt8]
    ) async throws {
        try await Self.run { port, token in
            let session = try RawSocket.session(port: port, token: token)
            try session.send([0x81, 0x80 | 127] + length + [0, 0, 0, 0])
            let received = try session.read()
            // A length with its most significant bit set is invalid (RFC 6455 section 5.2).
            let code: UInt16 = length[0] == 0x80 ? 1002 : 1009
            #expect(received.count >= 4 && received[0] == 0x88)
            let isCode = received.dropFirst(2).prefix(2).elementsEqual([UInt8(code >> 8), UInt8(code & 0xFF)])
            #expect(isCode || received.dropFirst(2).prefix(2).elementsEqual([0x03, 0xF1]))
        }
    }

    @Test func `D2: compression is never negotiated, and a compressed frame closes the session`() async throws {
        try await Self.run {
            $0.limits.closeSeconds = 0
        } _: { port, token in
            for offer in ["permessage-deflate", "permessage-deflate; client_max_window_bits", "x-webkit-deflate-frame"]
            {
                let socket = try RawSocket.upgraded(port: port, token: token, "Sec-WebSocket-Extensions: \(offer)\r\n")
                let head = String(decoding: try socket.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
                #expect(head.hasPrefix("HTTP/1.1 101 "))
                #expect(!head.lowercased().contains("extensions"))
                // RSV1 marks a compressed frame.
                try socket.send(RawSocket.frame(0xC1, [0x4B, 0x04, 0x00]))
                // 1002, after the welcome.
                let received = try socket.readToEnd()
                #expect(received.indices.contains { received[$0...].starts(with: [0x03, 0xEA]) })
            }
            let page = try RawSocket(port: port)
            try page.send("GET /track/j HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n")
            #expect(!String(decoding: try page.readToEnd(), as: UTF8.self).lowercased().contains("content-encoding"))
        }
    }

    @Test func `D3: hundreds of slow requests do not keep other clients out`() async throws {
        try await Self.run {
            ($0.limits.connectionsPerAddress, $0.limits.requestHeadSeconds) = (0, 60)
        } _: { port, token in
            let drips = try (0..<300).map { _ in try RawSocket(port: port) }
            for byte in "GET /v1 HT" {
                for drip in drips { try drip.send(String(byte)) }
                try RawSocket.session(port: port, token: token).sayGoodbye()
            }
            withExtendedLifetime(drips) {}
        }
    }

    @Test func `D8: deeply nested, ambiguous or endless JSON is a bad request, and the session continues`() async throws
    {
        try await Self.run { port, token in
            let session = try RawSocket.session(port: port, token: token)
            for message in [
                #"{"type":"ping","x":\#(String(repeating: "[", count: 2000))"#,
                #"{"type":"ping","x":\#(String(repeating: "[", count: 9))1\#(String(repeating: "]", count: 9))}"#,
                #"{"type":"subscribe","job":"a","job":"b"}"#,
                #"{"type":"ping","x":\#(String(repeating: "9", count: 129))}"#,
            ] {
                try session.send(RawSocket.longFrame(0x81, Array(message.utf8)))
                let answer = String(decoding: try session.readUntil(Array("}".utf8)), as: UTF8.self)
                #expect(answer.contains(#""code":"bad_request""#), "\(answer)")
            }
            try session.sayGoodbye()
        }
    }
}
