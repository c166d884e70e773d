import Access
import EnrouteWire
import Foundation
import HTTPValues
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Identifiers with characters that have a meaning in Redis, JSON or a path.
@Suite struct NameInjectionTests {
    private static let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-".utf8)
    private static let places = 0..<3
    private static let foreign = (UInt8.min...UInt8.max).filter { !Self.allowed.contains($0) }

    /// Returns an identifier of three characters, one of which is this byte, encoded for its place in a request.
    private static func name(_ byte: UInt8, at place: Int, _ spelled: (UInt8) -> String) -> String {
        ["a", "b", "c"].enumerated().map { $0.offset == place ? spelled(byte) : $0.element }.joined()
    }

    private static func escaped(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// Checks that Redis receives no command for a job while `body` runs.
    private static func withoutAskingRedis(
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.allowManyMessages()
                $0.limits.malformedMessages = 100_000
                ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (1_000_000, 1_000_000)
            } _: { gateway in
                let redis = try #require(gateway.redis)
                let before = try await gateway.client.dump()
                try await RawRedis.talking(to: .unix(path: redis.socketPath)) { monitor in
                    try await monitor.run("MONITOR")
                    try await body(gateway)
                    _ = try await gateway.client.run("ECHO", "the end of it")
                    var received: [String] = []
                    while received.last?.contains("the end of it") != true {
                        received.append(try await monitor.next().text ?? "")
                    }
                    #expect(!received.contains { $0.contains("job:") || $0.contains("EVAL") })
                }
                let after = try await gateway.client.dump()
                // The health report of the gateway changes every few seconds.
                let isOfClients = { (key: String) in !key.hasPrefix("gateway") }
                #expect(after.filter { isOfClients($0.key) } == before.filter { isOfClients($0.key) })
            }
        }
    }

    @Test func `T3: a message with any other byte in an identifier is a bad request, and never reaches Redis`()
        async throws
    {
        try await Self.withoutAskingRedis { gateway in
            let token = try await gateway.token("rider-1", .rider)
            try await blocking {
                let session = try RawSocket.session(port: gateway.port, token: token)
                for place in Self.places {
                    for byte in Self.foreign {
                        let name = Self.name(byte, at: place, Self.escaped)
                        let fix = #"{"at":\#(WallClock.nowMilliseconds),"lat":1,"lon":1}"#
                        let messages = [
                            #"{"type":"subscribe","job":"\#(name)"}"#, #"{"type":"unsubscribe","job":"\#(name)"}"#,
                            #"{"type":"travel","job":"\#(name)","active":true}"#,
                            #"{"type":"location","job":"\#(name)","seq":1,"fixes":[\#(fix)]}"#,
                        ]
                        try session.send(messages.flatMap { RawSocket.frame(0x81, Array($0.utf8)) })
                        for _ in messages {
                            let answer = String(decoding: try session.readUntil(Array("}".utf8)), as: UTF8.self)
                            try #require(answer.contains(#""code":"bad_request""#), "\(byte) at \(place): \(answer)")
                        }
                    }
                }
            }
        }
    }

    @Test func `T3: a request with any other byte in an identifier is refused, and never reaches Redis`() async throws {
        try await Self.withoutAskingRedis { gateway in
            let token = try await gateway.token("service", .service)
            try await blocking {
                let socket = try RawSocket(port: gateway.port)
                for place in Self.places {
                    for byte in Self.foreign {
                        let inPath = Self.name(byte, at: place) { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                        let inBody = Self.name(byte, at: place, Self.escaped)
                        let body = #"{"job":"\#(inBody)","kind":"service","customer":"anna"}"#
                        for request in [
                            "GET /api/v1/jobs/\(inPath) HTTP/1.1\r\n\r\n",
                            "PUT /api/v1/jobs/\(inPath)/travel HTTP/1.1\r\n\r\n",
                            "POST /api/v1/jobs HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
                        ] {
                            let headers = "HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
                            try socket.send(request.replacing("HTTP/1.1\r\n", with: headers, maxReplacements: 1))
                            let answer = String(decoding: try socket.readUntil(Array("}".utf8)), as: UTF8.self)
                            let isRefused = ["400", "403", "404", "422"].contains {
                                answer.hasPrefix("HTTP/1.1 \($0) ")
                            }
                            try #require(isRefused, "\(request): \(answer)")
                        }
                    }
                }
            }
        }
    }
}
