import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST
@testable import TrafficControl

/// HTTP over real sockets: one request at a time, on persistent connections.
@Suite struct HTTPExchangeTests {
    /// Runs a gateway, and returns its metrics after `talk`.
    @discardableResult
    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ talk: @escaping @Sendable (_ gateway: RunningGateway, _ token: String) throws -> Void
    ) async throws -> String {
        let metrics = Inboxed<String>()
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                let token = try await gateway.token("anna", .customer)
                try await blocking { try talk(gateway, token) }
                metrics.value = try await gateway.manage("/metrics").text
            }
        }
        return metrics.value ?? ""
    }

    private static func get(_ path: String, _ headers: String = "", method: String = "GET") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: h\r\n\(headers)\r\n"
    }

    /// Returns the status line and headers, after reading a body of the announced length.
    private static func answer(_ socket: RawSocket, hasBody: Bool = true) throws -> String {
        let head = String(decoding: try socket.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
        var left = head.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) } ?? 0
        while hasBody, left > 0 {
            let bytes = try socket.read(atMost: left)
            if bytes.isEmpty { throw Missing() }
            left -= bytes.count
        }
        return head
    }

    // MARK: B25

    @Test func `B25: pipelined requests are answered one after the other, in order`() async throws {
        try await Self.run { gateway, _ in
            let socket = try RawSocket(port: gateway.port, kernelBytes: 8192)
            let traces = (1...60).map { String(repeating: "0", count: 29) + String($0 + 100) }
            let requests = traces.enumerated().map { index, trace in
                // With and without a body, with long and short responses.
                let headers = "traceparent: 00-\(trace)-0000000000000001-00\r\n"
                return switch index % 3 {
                case 0: Self.get("/openapi.json", headers)
                case 1: Self.get("/nothing", headers + "Content-Length: 3\r\n", method: "POST") + "abc"
                default:
                    Self.get("/nothing", headers + "Transfer-Encoding: chunked\r\n", method: "PUT")
                        + "3;x=y\r\nabc\r\n0\r\n\r\n"
                }
            }.joined()
            let sender = Boxed(socket)
            Thread.detachNewThread { try? sender.value.send(requests) }
            for (index, trace) in traces.enumerated() {
                let head = try Self.answer(socket)
                #expect(head.contains("traceresponse: 00-\(trace)-"), "\(index): \(head)")
            }
        }
    }

    @Test func `B25: a client that reads its response too slowly is disconnected`() async throws {
        let metrics = try await Self.run {
            ($0.limits.writeStallSeconds, $0.limits.minResponseBytesPerSecond) = (1, 1_000_000_000)
            $0.limits.socketSendBytes = 4096
            $0.streets = [UInt8](repeating: 32, count: 16 << 20)
        } _: { gateway, _ in
            let socket = try RawSocket(port: gateway.port, kernelBytes: 4096)
            try socket.send(Self.get("/assets/streets.geojson"))
            var isClosed = false
            while !isClosed {
                _ = try? socket.read(atMost: 600)
                let asked = try RawSocket(port: gateway.management)
                try asked.send(Self.get("/metrics", "Connection: close\r\n"))
                isClosed = String(decoding: try asked.readToEnd(), as: UTF8.self).contains(
                    #"enroute_timeouts_total{phase="write"} 1"#)
            }
        }
        #expect(metrics.contains(#"enroute_timeouts_total{phase="write"} 1"#))
    }

    @Test func `a request is answered after the client has closed its side`() async throws {
        try await Self.run { gateway, _ in
            let socket = try RawSocket(port: gateway.port)
            try socket.send(String(repeating: Self.get("/openapi.json"), count: 20) + Self.get("/nothing"))
            socket.finish()
            for _ in 0..<20 { #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 200 ")) }
            #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 404 "))
            #expect(try socket.readToEnd() == [])
        }
    }

    // MARK: B32

    @Test func `B32: any request on a connection can upgrade it to a WebSocket`() async throws {
        try await Self.run { gateway, token in
            let upgrade = RawSocket.upgrade(
                "/v1", "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer \(token)\r\n")
            let socket = try RawSocket(port: gateway.port)
            for path in ["/openapi.json", "/nothing"] {
                try socket.send(Self.get(path))
                _ = try Self.answer(socket)
            }
            try socket.send(upgrade)
            #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 101 "))
            _ = try socket.readUntil(Array(#""type":"welcome""#.utf8))
            try socket.sayGoodbye()
            // All in one packet, followed by a frame.
            let hasty = try RawSocket(port: gateway.port)
            try hasty.send(
                Array(
                    (Self.get("/openapi.json") + Self.get("/nothing", "Upgrade: h2c\r\nConnection: upgrade\r\n")).utf8)
                    + Array(upgrade.utf8) + RawSocket.frame(0x89, [7]) + RawSocket.frame(0x88, [0x03, 0xE8]))
            for status in [200, 404, 101] { #expect(try Self.answer(hasty).hasPrefix("HTTP/1.1 \(status) ")) }
            let received = try hasty.readToEnd()
            #expect(received.ends(with: [0x8A, 1, 7, 0x88, 2, 0x03, 0xE8]))
        }
    }

    @Test func `a whole URL as the target of a request is accepted, also for a WebSocket`() async throws {
        try await Self.run { gateway, token in
            let socket = try RawSocket(port: gateway.port)
            try socket.send(Self.get("http://h/openapi.json"))
            #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 200 "))
            try socket.send(
                RawSocket.upgrade(
                    "http://h/v1", "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer \(token)\r\n"))
            #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 101 "))
            _ = try socket.readUntil(Array(#""type":"welcome""#.utf8))
            try socket.sayGoodbye()
            // The origin of a page is compared with the host of the target (RFC 9112 section 3.2.2).
            for (target, status) in [("http://h.example/v1", 101), ("http://other.example/v1", 403)] {
                let page = try RawSocket(port: gateway.port)
                let offer = "Sec-WebSocket-Protocol: enroute.v1\r\nOrigin: http://h.example\r\n"
                try page.send(RawSocket.upgrade(target, offer))
                #expect(try Self.answer(page).hasPrefix("HTTP/1.1 \(status) "), "\(target)")
            }
        }
    }

    @Test func `B32: a request that is not upgraded leaves the connection usable, or closes it with an error`()
        async throws
    {
        try await Self.run { gateway, _ in
            let socket = try RawSocket(port: gateway.port)
            for headers in [
                "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQ\r\n",
                "Upgrade: websocket\r\nConnection: upgrade\r\n", "Upgrade: TLS/1.0\r\nConnection: upgrade\r\n", "",
            ] {
                try socket.send(Self.get("/openapi.json", headers))
                #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 200 "), "\(headers)")
            }
            try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v9\r\n") + Self.get("/nothing"))
            let refused = String(decoding: try socket.readToEnd(), as: UTF8.self)
            #expect(refused.hasPrefix("HTTP/1.1 400 ") && refused.lowercased().contains("connection: close"))
            #expect(!refused.contains("404"))
        }
    }

    // MARK: B26, B52

    @Test func `B52: a body has a deadline that received bytes do not extend`() async throws {
        let metrics = try await Self.run {
            $0.limits.requestBodySeconds = 1
        } _: { gateway, _ in
            let socket = try RawSocket(port: gateway.port)
            try socket.send(Self.get("/nothing", "Content-Length: 60000\r\n", method: "POST"))
            try Self.drip(socket, until: #"enroute_timeouts_total{phase="body"} 1"#, gateway)
            let answer = String(decoding: try socket.readToEndOrReset(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
        #expect(metrics.contains(#"enroute_timeouts_total{phase="body"} 1"#))
    }

    @Test func `B52: the head of a later request has a deadline, and an idle connection stays open`()
        async throws
    {
        try await Self.run {
            $0.limits.requestHeadSeconds = 1
        } _: { gateway, _ in
            let (idle, drips) = (try RawSocket(port: gateway.port), try RawSocket(port: gateway.port))
            for socket in [idle, drips] {
                try socket.send(Self.get("/nothing"))
                _ = try Self.answer(socket)
            }
            try drips.send("GET /nothing HTTP/1.1\r\nX: ")
            try Self.drip(drips, until: #"enroute_timeouts_total{phase="first_request"} 1"#, gateway)
            #expect(try drips.readToEndOrReset() == [])
            try idle.send(Self.get("/nothing"))
            #expect(try Self.answer(idle).hasPrefix("HTTP/1.1 404 "))
        }
    }

    /// Sends one byte at a time until the metrics contain the line.
    private static func drip(_ socket: RawSocket, until line: String, _ gateway: RunningGateway) throws {
        while true {
            try? socket.send("a")
            let asked = try RawSocket(port: gateway.management)
            try asked.send(Self.get("/metrics", "Connection: close\r\n"))
            if String(decoding: try asked.readToEnd(), as: UTF8.self).contains(line) { return }
        }
    }

    @Test func `a body that is too long is 413, announced or not, and the connection closes`() async throws {
        try await Self.run { gateway, _ in
            let request = "POST /api/v1/sign-ins/redeem HTTP/1.1\r\nHost: h\r\n"
            let chunk = "8000\r\n" + String(repeating: "x", count: 0x8000) + "\r\n"
            for rest in [
                "Content-Length: 65537\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n\(chunk)\(chunk)\(chunk)0\r\n\r\n",
            ] {
                let socket = try RawSocket(port: gateway.port)
                try socket.send(request + rest)
                let answer = String(decoding: try socket.readToEnd(), as: UTF8.self)
                #expect(
                    answer.hasPrefix("HTTP/1.1 413 ") && answer.lowercased().contains("connection: close"), "\(answer)")
            }
        }
    }

    // MARK: B28, B53, B57

    @Test func `B28: a malformed request is answered with 4xx or 501, in order, and the connection closes`()
        async throws
    {
        let metrics = try await Self.run { gateway, _ in
            for (bytes, status) in [
                ("\u{16}\u{3}\u{1}\u{2}", 400), ("GET\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
                ("GET / HTTP/1.1\r\nHost: h\r\nA b: c\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\n: c\r\n\r\n", 400),
                ("FOO BAR\r\n\r\n", 400), ("GET / HTTP/9.9\r\nHost: h\r\n\r\n", 400),
                ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
                ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                ("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
                ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
                ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
                ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
                ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400),
                ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
                ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400),
                (
                    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;"
                        + String(repeating: "x", count: 5000), 400
                ),
                ("GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "a: b\r\n", count: 70) + "\r\n", 431),
                ("GET / HTTP/1.1\r\nHost: h\r\nA: " + String(repeating: "b", count: 9000) + "\r\n\r\n", 431),
                ("GET /x?%74oken=1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ] as [(String, Int)] {
                for before in ["", Self.get("/nothing")] {
                    let socket = try RawSocket(port: gateway.port)
                    try socket.send(before + bytes)
                    if !before.isEmpty { #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 404 ")) }
                    let answer = String(decoding: try socket.readToEnd(), as: UTF8.self)
                    #expect(answer.dropFirst(9).hasPrefix("\(status) "), "\(bytes.prefix(70)): \(answer)")
                    #expect(
                        answer.contains("application/problem+json") && answer.lowercased().contains("connection: close")
                    )
                    #expect(answer.ranges(of: "traceresponse").count == 1)
                }
            }
            // Half a request, after which the client closes its side.
            for half in ["GET / HT", "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"] {
                let socket = try RawSocket(port: gateway.port)
                try socket.send(half)
                socket.finish()
                #expect(String(decoding: try socket.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
            }
        }
        #expect(!metrics.contains(#"enroute_requests_refused_total{reason="malformed"} 0"#))
    }

    @Test func `B53: a response to HEAD has no body`() async throws {
        try await Self.run { gateway, _ in
            let socket = try RawSocket(port: gateway.port)
            for (path, status) in [
                ("/nothing", 404), ("/api/v1/sign-ins/redeem", 405), ("/openapi.json", 200),
                ("/api/v1/jobs/a%20b", 401), ("/track/j1", 200),
            ] {
                try socket.send(Self.get(path, method: "HEAD") + Self.get("/nothing"))
                let head = try Self.answer(socket, hasBody: false)
                #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(path): \(head)")
                #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 404 "), "\(path)")
            }
            try socket.send(Self.get("/x?token=1", method: "HEAD"))
            #expect(String(decoding: try socket.readToEnd(), as: UTF8.self).hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `B57: an HTTP/1.0 connection closes after one response, and its event streams are not chunked`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let token = try await gateway.token("anna", .customer)
                try await blocking {
                    let plain = try RawSocket(port: gateway.port)
                    try plain.send("GET /nothing HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    let answer = String(decoding: try plain.readToEnd(), as: UTF8.self)
                    #expect(answer.hasPrefix("HTTP/1.0 404 ") && answer.lowercased().contains("connection: close"))
                    let events = try RawSocket(port: gateway.port)
                    try events.send("GET /api/v1/jobs/\(job)/events HTTP/1.0\r\nAuthorization: Bearer \(token)\r\n\r\n")
                    let head = String(decoding: try events.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
                    #expect(head.hasPrefix("HTTP/1.0 200 ") && !head.lowercased().contains("transfer-encoding"))
                    let body = String(decoding: try events.readUntil(Array("\"subscribed\"".utf8)), as: UTF8.self)
                    #expect(body.hasPrefix("retry: "))
                    let lines = body.split(separator: "\n")
                    #expect(lines.allSatisfy { ["retry", "data", "id"].contains($0.prefix { $0 != ":" }) }, "\(body)")
                }
            }
        }
    }

    @Test func `an event stream leaves no session behind if the client has closed its side`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let token = try await gateway.token("anna", .customer)
                try await blocking {
                    // More than the limit of concurrent sessions.
                    for _ in 0..<8 {
                        let socket = try RawSocket(port: gateway.port)
                        try socket.send(
                            Self.get("/api/v1/jobs/\(job)/events", "Authorization: Bearer \(token)\r\n"))
                        socket.finish()
                        _ = try socket.readToEndOrReset()
                    }
                }
                try await gateway.waitForSessions(0)
            }
        }
    }

    // MARK: B18, B34, B39

    @Test func `B18, B34: a refusal is counted by reason, and 0 disables a limit per address`() async throws {
        let metrics = try await Self.run {
            $0.limits.refusedTokensPerAddressBurst = 0
            ($0.limits.anonymousRequestsPerAddressPerSecond, $0.limits.anonymousRequestsPerAddressBurst) = (0, 1)
            ($0.limits.tilesPerAddressPerSecond, $0.limits.tilesPerAddressBurst) = (0, 1)
        } _: { gateway, token in
            let socket = try RawSocket(port: gateway.port)
            func status(_ request: String) throws -> String {
                try socket.send(request)
                return String(try Self.answer(socket).dropFirst(9).prefix(3))
            }
            for _ in 0..<30 {
                #expect(try status(Self.get("/api/v1/jobs/j1", "Authorization: Bearer no.good.token\r\n")) == "401")
            }
            #expect(try status(Self.get("/api/v1/jobs/j1", "Authorization: Bearer \(token)\r\n")) == "404")
            for expected in ["404", "429"] {
                #expect(try status(Self.get("/assets/tiles/1/1/1")) == expected)
                let code =
                    Self.get("/api/v1/sign-ins/redeem", "Content-Length: 15\r\n", method: "POST") + #"{"code":"none"}"#
                #expect(try status(code) == expected)
            }
            let stranger = try RawSocket.upgraded(
                port: gateway.port, token: token, "Origin: https://evil.example\r\n")
            #expect(String(decoding: try stranger.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 403 "))
        }
        for (reason, count) in [
            ("invalid_token", 31), ("tiles_per_address", 1), ("anonymous_requests_per_address", 1), ("origin", 1),
        ] {
            #expect(metrics.contains(#"enroute_requests_refused_total{reason="\#(reason)"} \#(count)"#), "\(metrics)")
        }
    }

    @Test func `B39: a forwarded address with a port is limited, and so is an invalid one`() async throws {
        try await Self.run {
            $0.trustedProxies = try! TrustedProxies(["127.0.0.0/8"])
            ($0.limits.refusedTokensPerAddressPerSecond, $0.limits.refusedTokensPerAddressBurst) = (0, 2)
        } _: { gateway, _ in
            for forwarded in ["203.0.113.9:51234", "[2001:db8::9]:4711", "_hidden"] {
                let socket = try RawSocket(port: gateway.port)
                for expected in [401, 401, 429] {
                    try socket.send(
                        Self.get("/api/v1/jobs/j1", "Authorization: Bearer a.b.c\r\nX-Forwarded-For: \(forwarded)\r\n"))
                    #expect(try Self.answer(socket).hasPrefix("HTTP/1.1 \(expected) "), "\(forwarded)")
                }
            }
        }
    }
}
