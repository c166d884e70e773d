import EnrouteWire
import Foundation
import NIOCore
import TestSupport
import Testing
import TrafficControl

@testable import Gateway

/// The listener behind a layer-4 balancer: every connection starts with a PROXY protocol header.
@Suite struct ProxyProtocolTests {
    private static let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    private static let local: [UInt8] =
        [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x20, 0x00, 0x00, 0x00]

    private static func header(of client: String) -> String { "PROXY TCP4 \(client) 198.51.100.7 56324 443\r\n" }

    private static func running(
        isSecure: Bool = false, from balancers: [String] = ["127.0.0.1"],
        changing change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        let balancers = try TrustedProxies(balancers)
        try await within {
            try await RunningGateway.run(isSecure: isSecure) {
                $0.proxyProtocol = balancers
                change(&$0)
            } _: {
                try await body($0)
            }
        }
    }

    /// Everything that a connection receives after it has sent `bytes`.
    private static func answer(_ gateway: RunningGateway, to bytes: [UInt8]) async throws -> String {
        let port = gateway.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send(bytes)
            return String(decoding: try socket.readToEndOrReset(), as: UTF8.self)
        }
    }

    private static func refused(_ gateway: RunningGateway, _ reason: String) async throws -> Int {
        let text = try await gateway.manage("/metrics").text
        let line = try #require(
            text.split(separator: "\n").first {
                $0.hasPrefix(#"enroute_proxy_headers_refused_total{reason="\#(reason)"} "#)
            })
        return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }

    @Test func `a request after a header of version 1 or 2 is answered`() async throws {
        try await Self.running { gateway in
            for header in [Array(Self.header(of: "192.0.2.1").utf8), Self.local] {
                let answer = try await Self.answer(gateway, to: header + Array(Self.request.utf8))
                #expect(answer.hasPrefix("HTTP/1.1 404"), "\(answer)")
            }
        }
    }

    @Test func `a header in single bytes, and the request after it in another packet, are read`() async throws {
        try await Self.running { gateway in
            let port = gateway.port
            let answer = try await blocking {
                let socket = try RawSocket(port: port)
                for byte in Array(Self.header(of: "192.0.2.1").utf8) { try socket.send([byte]) }
                try socket.send(Self.request)
                return String(decoding: try socket.readToEnd(), as: UTF8.self)
            }
            #expect(answer.hasPrefix("HTTP/1.1 404"), "\(answer)")
        }
    }

    @Test(arguments: [
        (Array(request.utf8), "missing"), ([0x16, 0x03, 0x01, 0x02, 0x00], "missing"),
        (Array("PROXY TCP4 192.0.2.1\r\n".utf8), "malformed"),
        (Array("PROXY TCP4 \(String(repeating: "1", count: 200))".utf8), "malformed"),
    ])
    func `a connection without a valid header is closed without an answer, and counted`(bytes: [UInt8], reason: String)
        async throws
    {
        try await Self.running { gateway in
            let answer = try await Self.answer(gateway, to: bytes)
            #expect(answer == "")
            let refusals = try await Self.refused(gateway, reason)
            #expect(refusals == 1)
        }
    }

    @Test(arguments: [
        (
            isRequired: true, from: "127.0.0.1", bytes: request,
            message: "connection closed; it has no PROXY protocol header"
        ),
        (true, "127.0.0.1", "PROXY TCP4 nonsense\r\n", "connection closed; its PROXY protocol header is malformed"),
        (true, "192.0.2.0/24", request, "connection closed; its address may not send a PROXY protocol header"),
        (
            false, "127.0.0.1", header(of: "192.0.2.1"),
            "connection starts with a PROXY protocol header, which is not expected"
        ),
        (false, "127.0.0.1", "PATCH / HTTP/1.1\r\n\r\n", ""),
    ])
    func `a mismatch of balancer and gateway is logged once a minute, with the remedy`(
        isRequired: Bool, from: String, bytes: String, message: String
    ) async throws {
        let (lines, balancers) = (RecordedLines(), try TrustedProxies([from]))
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                $0.proxyProtocol = isRequired ? balancers : nil
            } _: { gateway in
                for _ in 0..<3 { _ = try await Self.answer(gateway, to: Array(bytes.utf8)) }
            }
        }
        let found = lines.all.filter { $0.message.contains("PROXY protocol") }
        #expect(found.map(\.message) == (message.isEmpty ? [] : [message]))
        for line in found {
            #expect(line.level == .warning && line.metadata["peer"] == "127.0.0.1" && line.metadata["count"] == "1")
            #expect("\(line.metadata["reason"]!)".contains("PROXY protocol"))
        }
    }

    @Test func `a header that takes too long closes the connection, and is counted`() async throws {
        try await Self.running(changing: {
            $0.limits.proxyHeaderSeconds = 1
        }) { gateway in
            let answer = try await Self.answer(gateway, to: Array("PROXY TCP4 ".utf8))
            #expect(answer == "")
            let refusals = try await Self.refused(gateway, "timeout")
            #expect(refusals == 1)
        }
    }

    @Test(arguments: [
        ("", "connection closed; its PROXY protocol header did not arrive in time"),
        ("PROXY TCP4 ", "connection closed; its PROXY protocol header did not arrive in time"),
    ])
    func `a header that takes too long is logged once a minute, with the remedy`(start: String, message: String)
        async throws
    {
        let (lines, balancers) = (RecordedLines(), try TrustedProxies(["127.0.0.1"]))
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                $0.proxyProtocol = balancers
                $0.limits.proxyHeaderSeconds = 1
            } _: { gateway in
                for _ in 0..<2 { _ = try await Self.answer(gateway, to: Array(start.utf8)) }
            }
        }
        let found = lines.all.filter { $0.message.contains("PROXY protocol") }
        #expect(found.map(\.message) == [message])
        #expect(found.allSatisfy { $0.level == .warning && $0.metadata["peer"] == "127.0.0.1" })
        #expect(found.allSatisfy { "\($0.metadata["reason"]!)".contains("management port") })
    }

    @Test func `a connection that its peer closes within the header is in the log, and one without a byte is not`()
        async throws
    {
        let (lines, balancers) = (RecordedLines(), try TrustedProxies(["127.0.0.1"]))
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                $0.proxyProtocol = balancers
            } _: { gateway in
                let port = gateway.port
                try await blocking { _ = try RawSocket(port: port) }
                try await blocking { try RawSocket(port: port).send("PROXY TCP4 ") }
                #expect(try await eventually { try await Self.refused(gateway, "malformed") == 1 })
            }
        }
        let found = lines.all.filter { $0.message.contains("PROXY protocol") }
        #expect(found.map(\.message) == ["connection closed; its PROXY protocol header is malformed"])
    }

    @Test func `a peer that is not a trusted balancer is refused, header or not`() async throws {
        try await Self.running(from: ["192.0.2.0/24"]) { gateway in
            let header = Array((Self.header(of: "192.0.2.1") + Self.request).utf8)
            let answer = try await Self.answer(gateway, to: header)
            #expect(answer == "")
            let refusals = try await Self.refused(gateway, "untrusted")
            #expect(refusals == 1)
        }
    }

    @Test func `a balancer that only opens the port to check it is not counted as a fault`() async throws {
        try await Self.running { gateway in
            _ = try RawSocket(port: gateway.port)
            let isClosed = try await gateway.eventually("/metrics") {
                $0.text.contains("\nenroute_connections_open 1.0\n")
            }
            #expect(isClosed)
            for reason in ["missing", "malformed", "timeout", "untrusted"] {
                let refusals = try await Self.refused(gateway, reason)
                #expect(refusals == 0, "\(reason)")
            }
        }
    }

    @Test func `limits per address count the client in the header, and not the balancer`() async throws {
        try await Self.running(changing: {
            $0.limits.connectionsPerAddress = 1
        }) { gateway in
            let port = gateway.port
            let held = try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send(Self.header(of: "192.0.2.1") + "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                return SendableSocket(socket)
            }
            let second = Array((Self.header(of: "192.0.2.1") + Self.request).utf8)
            let answer = try await Self.answer(gateway, to: second)
            #expect(answer == "")
            let other = Array((Self.header(of: "192.0.2.2") + Self.request).utf8)
            #expect(try await Self.answer(gateway, to: other).hasPrefix("HTTP/1.1 404"))
            // The balancer's own checks are not limited.
            for _ in 0..<3 {
                #expect(
                    try await Self.answer(gateway, to: Self.local + Array(Self.request.utf8)).hasPrefix("HTTP/1.1 404"))
            }
            #expect(
                try await gateway.manage("/metrics").text.contains(
                    "enroute_connections_refused_total{limit=\"connections_per_address\"} 1\n"))
            held.close()
        }
    }

    @Test func `REST limits the client in the header`() async throws {
        try await Self.running(changing: {
            $0.limits.refusedTokensPerAddressPerSecond = 1
            $0.limits.refusedTokensPerAddressBurst = 2
        }) { gateway in
            func status(of client: String) async throws -> String {
                let request =
                    "GET /api/v1/jobs/j1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\nConnection: close\r\n\r\n"
                let answer = try await Self.answer(gateway, to: Array((Self.header(of: client) + request).utf8))
                return String(answer.dropFirst(9).prefix(3))
            }
            var statuses: Set<String> = []
            for _ in 0..<6 { statuses.insert(try await status(of: "192.0.2.1")) }
            #expect(statuses.contains("429"))
            let statusOfOther = try await status(of: "192.0.2.2")
            #expect(statusOfOther == "401")
        }
    }

    @Test func `TLS starts after the header`() async throws {
        try await Self.running(isSecure: true) { gateway in
            let hello = Array(Self.header(of: "192.0.2.1").utf8) + [0x16, 0x03, 0x01, 0x00, 0x05, 1, 2, 3, 4, 5]
            // libssl answers a broken ClientHello with a fatal alert: record type 21.
            let port = gateway.port
            let answer = try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send(hello)
                return try socket.readToEndOrReset()
            }
            #expect(answer.first == 21)
            let refusals = try await Self.refused(gateway, "missing")
            #expect(refusals == 0)
        }
    }
}

/// A socket that moves between threads, used by one at a time.
private final class SendableSocket: @unchecked Sendable {
    private var socket: RawSocket?
    init(_ socket: RawSocket) { self.socket = socket }
    func close() { self.socket = nil }
}
