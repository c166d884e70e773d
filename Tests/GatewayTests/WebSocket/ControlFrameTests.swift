import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// Control frames, and frames after a close frame.
@Suite struct ControlFrameTests {
    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void,
        _ body: @escaping @Sendable (RunningGateway, String) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                try await body(gateway, try await gateway.token("anna", .customer))
            }
        }
    }

    @Test(arguments: [UInt8(0x8A), 0x89])
    func `B24: a flood of control frames closes the session like a flood of messages`(head: UInt8) async throws {
        try await Self.run {
            ($0.limits.messagesPerSecond, $0.limits.messagesBurst) = (0, 3)
        } _: { gateway, token in
            let port = gateway.port
            for isSignedIn in [true, false] {
                let received = try await blocking {
                    let socket =
                        isSignedIn ? try RawSocket.session(port: port, token: token) : try RawSocket(port: port)
                    if !isSignedIn {
                        try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
                        _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                    }
                    // Three are within the burst, six are tolerated, and the next one is too many.
                    for _ in 0..<10 { try socket.send(RawSocket.frame(head, [1, 2, 3])) }
                    try socket.send(RawSocket.frame(0x88, [0x0F, 0xA6]))
                    return try socket.readToEnd()
                }
                #expect(received.ends(with: Frame.close(4006, "message rate limit exceeded repeatedly")))
                let text = String(decoding: received, as: UTF8.self)
                #expect(text.components(separatedBy: "rate_limited").count == (head == 0x89 ? 7 : 1))
            }
        }
    }

    @Test func `B24: a client that keeps sending after its close frame is disconnected`() async throws {
        try await Self.run {
            $0.limits.closeSeconds = 600
        } _: { gateway, token in
            let port = gateway.port
            let received = try await blocking {
                let socket = try RawSocket.session(port: port, token: token)
                try socket.send(RawSocket.frame(0x82, [1]))
                let close = try socket.read()
                let pongs = [[UInt8]](repeating: RawSocket.frame(0x8A, [UInt8](repeating: 0, count: 100)), count: 20)
                let piece = pongs.flatMap { $0 }
                // Closed by the gateway: nothing else closes it within the time limit of this test.
                for _ in 0...2 * Limits.closingBytes / piece.count where (try? socket.send(piece)) == nil { break }
                _ = try socket.readToEndOrReset()
                return close
            }
            #expect(received.starts(with: [0x88]))
            try await gateway.waitForSessions(0)
        }
    }

    /// Each frame violates another rule; the bytes after its header are skipped.
    private static let broken: [[UInt8]] = [
        RawSocket.frame(0x82, [UInt8](repeating: 1, count: 300)),
        RawSocket.frame(0x81, Array("{}".utf8), masked: false),
        RawSocket.frame(0xC1, Array("{}".utf8)), RawSocket.frame(0x83, [1, 2, 3]),
        RawSocket.frame(0x89, [UInt8](repeating: 0, count: 126)),
        RawSocket.frame(0x81, [UInt8](repeating: 0x20, count: 5000)),
        RawSocket.frame(0x81, [UInt8](repeating: 0x20, count: 30_000)),
        RawSocket.frame(0x80, [0x20]),
    ]

    @Test(arguments: Self.broken.indices)
    func `B54: the socket closes after the client replies to the close frame of a violation`(
        index: Int
    ) async throws {
        try await Self.run {
            $0.limits.closeSeconds = 600
        } _: { gateway, token in
            let port = gateway.port
            try await blocking {
                let socket = try RawSocket.session(port: port, token: token)
                let answer = RawSocket.frame(0x88, [0x03, 0xEA])
                try socket.send(Self.broken[index] + RawSocket.frame(0x81, Array("{}".utf8)))
                for byte in answer { try socket.send([byte]) }
                // Otherwise it would stay open until the close timeout, for which this test does not wait.
                let received = try socket.readToEnd()
                #expect(received.starts(with: [0x88]))
            }
            let metrics = try await gateway.manage("/metrics").text
            #expect(!metrics.contains(#"enroute_timeouts_total{phase="close"} 1"#))
        }
    }
}
