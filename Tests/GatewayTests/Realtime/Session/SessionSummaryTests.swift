import EnrouteWire
import Foundation
import Logging
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// The line that the log contains for each closed session.
@Suite struct SessionSummaryTests {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let traceparent = "traceparent: 00-\(traceID)-00f067aa0ba902b7-01\r\n"

    @Test func `the line contains role, times, counts, trace and who closed the session, but no person`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                let token = try await gateway.token("anna", .customer)
                try await blocking { [port = gateway.port] in
                    let anna = try RawSocket.session(port: port, token: token, Self.traceparent)
                    try anna.send(
                        RawSocket.frame(
                            0x81, Array(#"{"type":"subscribe","job":"\#(job)","since":{"epoch":"x","id":"1-1"}}"#.utf8))
                    )
                    // The epoch is unknown, so the whole state follows.
                    _ = try anna.readUntil(Array(#""type":"reset""#.utf8))
                    // Code 1000, and a reason that must not be logged.
                    try anna.send(RawSocket.frame(0x88, [0x03, 0xE8] + Array("lat 51.987654".utf8)))
                    _ = try anna.readToEnd()
                }
                let line = try await lines.summary(0)
                #expect(line.level == .info)
                let text = line.metadata.mapValues { "\($0)" }
                #expect(text["role"] == "customer" && text["kind"] == "websocket")
                #expect(text["code"] == "1000" && text["initiator"] == "client")
                #expect(text["reason"] == "close frame received")
                #expect(text["received"] == "1" && text["resumes"] == "1")
                #expect(Int(text["sent"] ?? "") ?? 0 >= 2 && Int(text["sent_bytes"] ?? "") ?? 0 > 200)
                #expect(Int(text["received_bytes"] ?? "") ?? 0 > 60)
                #expect(Double(text["seconds"] ?? "") != nil)
                #expect(text["trace"] == Self.traceID)
                #expect(text["session"]?.isEmpty == false)
                #expect(!text.values.contains { $0.contains("anna") || $0.contains("51.98") || $0.contains(token) })
            }
        }
    }

    @Test func `a session that the gateway closes, one that never signs in, and one whose connection is lost`()
        async throws
    {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let token = try await gateway.token("anna", .customer)
                try await blocking { [port = gateway.port] in
                    let binary = try RawSocket.session(port: port, token: token)
                    try binary.send(RawSocket.frame(0x82, [1]))
                    _ = try binary.read()
                    try binary.sayGoodbye()
                }
                let refused = try await lines.summary(0).metadata
                #expect(refused["code"] == "1003" && refused["initiator"] == "gateway")
                #expect(refused["reason"] == "binary messages are not supported" && refused["trace"] == nil)
                try await blocking { [port = gateway.port] in
                    let stranger = try RawSocket(port: port)
                    try stranger.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
                    _ = try stranger.readUntil(Array("\r\n\r\n".utf8))
                    stranger.finish()
                }
                let anonymous = try await lines.summary(1).metadata
                #expect(anonymous["role"] == "none" && anonymous["code"] == "1006")
                #expect(anonymous["initiator"] == "client" && anonymous["reason"] == "connection closed")
            }
        }
    }

    @Test func `an event stream has a line too, with the trace of its request`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                let token = try await gateway.token("anna", .customer)
                try await blocking { [port = gateway.port] in
                    let stream = try RawSocket(port: port)
                    try stream.send(
                        "GET /api/v1/jobs/\(job)/events HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
                            + Self.traceparent + "\r\n")
                    _ = try stream.readUntil(Array(#""type":"subscribed""#.utf8))
                    stream.finish()
                }
                let line = try await lines.summary(0).metadata
                #expect(line["kind"] == "event_stream" && line["role"] == "customer")
                #expect(line["trace"] == "\(Self.traceID)")
            }
        }
    }

    @Test func `the limit admits a burst, then a rate, and reports what it suppressed`() {
        var limit = SessionSummaryLimit(loops: 2)
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        let burst = SessionSummaryLimit.linesBurst / 2
        #expect((0..<500).count { _ in limit.admits(at: start) } == burst)
        #expect(limit.report(at: start) == 500 - burst)
        #expect(limit.report(at: start) == nil)
        #expect(
            (0..<500).count { _ in limit.admits(at: start + .seconds(1)) } == SessionSummaryLimit.linesPerSecond / 2)
        #expect(limit.report(at: start + .seconds(1)) == nil)
        let rest = 500 - SessionSummaryLimit.linesPerSecond / 2
        #expect(limit.report(at: start + SessionSummaryLimit.reportInterval) == rest)
        _ = (0..<500).count { _ in limit.admits(at: start + SessionSummaryLimit.reportInterval) }
        #expect(limit.report(at: start + SessionSummaryLimit.reportInterval, isLast: true) != nil)
        var many = SessionSummaryLimit(loops: 256)
        #expect(many.admits(at: start) && !many.admits(at: start))
    }
}

/// Redis stops, and then 500 clients disconnect at once.
@Suite(.needsMachine(for: .faults)) struct LogFloodTests {
    private static let clients = 500

    @Test func `an outage and a mass disconnect log a bounded number of lines, which account for every session`()
        async throws
    {
        let lines = RecordedLines()
        try await RestartableRedis.running { redis in
            let address = try redis.address
            var logger = lines.logger
            logger.logLevel = .info
            try await RunningGateway.run(isSecure: false, at: (address, address), logger: logger) {
                $0.limits.sessionsPerPerson = Self.clients
                ($0.limits.newConnectionsPerSecond, $0.limits.connectionsPerAddress) = (0, 0)
            } _: { gateway in
                let token = try await gateway.token("anna", .customer)
                let sockets = try await blocking { [port = gateway.port] in
                    Boxed(try (0..<Self.clients).map { _ in try RawSocket.session(port: port, token: token) })
                }
                let began = ContinuousClock.now
                let before = lines.all.count
                await redis.crash()
                try await becomes("the outage is logged") {
                    lines.all.contains { $0.message == "redis unavailable or refusing writes" }
                }
                try await blocking { for socket in sockets.value { socket.finish() } }
                // The gateway cannot be stopped before the last line is counted, so this waits for the next report.
                try await becomes("every session is accounted for") { Self.accounted(lines) == Self.clients }
                let seconds = Int((ContinuousClock.now - began).components.seconds) + 1
                let summaries = lines.all.count { $0.message == "session closed" }
                print("\(summaries) summaries and \(lines.all.count - before) lines in \(seconds) s")
                #expect(
                    summaries <= SessionSummaryLimit.linesBurst + seconds * SessionSummaryLimit.linesPerSecond)
                // All other lines: the outage itself, on each loop and role.
                #expect(lines.all.count - before - summaries <= 40, "\(lines.all.suffix(60).map(\.message))")
            }
        }
    }

    private static func accounted(_ lines: RecordedLines) -> Int {
        lines.all.reduce(0) { sum, line in
            switch line.message {
            case "session closed": sum + 1
            case "session summaries suppressed by rate limit": sum + (Int("\(line.metadata["count"]!)") ?? 0)
            default: sum
            }
        }
    }
}

extension RecordedLines {
    /// Waits for the line of a closed session.
    fileprivate func summary(_ index: Int) async throws -> Line {
        try await becomes("session \(index) is logged") {
            self.all.count { $0.message == "session closed" } > index
        }
        return self.all.filter { $0.message == "session closed" }[index]
    }
}
