import EnrouteWire
import Foundation
import NIOCore
import TestSupport
import Testing
import WebSocket

@testable import Gateway

/// The end of a graceful stop: every session gets its close frame, and the last log line contains a summary.
@Suite struct DrainTests {
    private static func stopped(_ lines: RecordedLines) throws -> [String: String] {
        let line = try #require(lines.all.last { $0.message == "stopped" })
        return line.metadata.mapValues { "\($0)" }
    }

    @Test func `with a drain time of 0, every session is asked to reconnect now and closed with 4000`() async throws {
        let lines = RecordedLines()
        let outcomes = Inboxed<[[UInt8]]>()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                $0.drain = .zero
            } _: { gateway in
                let token = try await gateway.token("anna", .service)
                let sessions = try await blocking {
                    Boxed(try (0..<8).map { _ in try RawSocket.session(port: gateway.port, token: token) })
                }
                gateway.drain()
                outcomes.value = try await blocking {
                    try sessions.value.map { try $0.readToEnd() }
                }
            }
        }
        let received = try #require(outcomes.value)
        for bytes in received {
            #expect(String(decoding: bytes, as: UTF8.self).contains(#"{"type":"goaway","retryInMs":"#))
            #expect(bytes.ends(with: Frame.close(4000, "going away")))
        }
        #expect(try Self.stopped(lines)["sessions"] == "8")
    }

    @Test func `a request that is not finished delays the stop for a second at most, and the last line counts it`()
        async throws
    {
        let lines = RecordedLines()
        let elapsed = Inboxed<TimeAmount>()
        try await within {
            let held = Inboxed<Boxed<RawSocket>>()
            let begun = Inboxed<NIODeadline>()
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                $0.drain = .zero
            } _: { gateway in
                held.value = try await blocking {
                    let socket = try RawSocket(port: gateway.port)
                    // The body never arrives. Its own deadline is 30 s.
                    try socket.send("POST /api/v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n{")
                    return Boxed(socket)
                }
                let isOpen = try await gateway.eventually("/metrics") {
                    $0.text.contains("\nenroute_connections_open 2.0\n")
                }
                #expect(isOpen)
                begun.value = .now()
                gateway.drain()
                let isStopped = await eventually { lines.all.contains { $0.message == "stopped" } }
                #expect(isStopped)
                elapsed.value = .now() - (begun.value ?? .now())
            }
            _ = held.value
        }
        #expect(try Self.stopped(lines) == ["sessions": "0", "connections": "1"])
        // Long before the request's own deadline.
        #expect(try #require(elapsed.value) < .seconds(20))
    }
}
