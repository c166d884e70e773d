import Access
import EnrouteWire
import Foundation
import Logging
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// W3C traces, and the problem documents that contain them.
@Suite struct RequestTraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    @Test func `a caller's trace is continued with a new span and the caller's sampled flag`() throws {
        let trace = RequestTrace([Self.parent])
        #expect(trace.traceID == Self.trace && trace.isSampled && trace.spanID != "00f067aa0ba902b7")
        #expect(trace.traceresponse == "00-\(Self.trace)-\(trace.spanID)-01")
        #expect(!RequestTrace(["00-\(Self.trace)-00f067aa0ba902b7-02"]).isSampled)
        // Later versions have the same first four fields.
        #expect(RequestTrace(["cc-\(Self.trace)-00f067aa0ba902b7-01-more"]).traceID == Self.trace)
    }

    @Test(arguments: [
        [], [""], ["00"], [Self.parent, Self.parent], [Self.parent + "-more"], [Self.parent + "0"],
        ["ff" + Self.parent.dropFirst(2)], ["0x" + Self.parent.dropFirst(2)], [Self.parent.uppercased()],
        ["00-\(String(repeating: "0", count: 32))-00f067aa0ba902b7-01"], ["00-\(Self.trace)-0000000000000000-01"],
        ["00-\(Self.trace)\"00f067aa0ba902b7-01"], ["00-\(Self.trace.dropLast())-00f067aa0ba902b7-010"],
    ])
    func `an invalid traceparent starts a new trace`(headers: [String]) throws {
        let (one, other) = (RequestTrace(headers), RequestTrace(headers))
        #expect(one.traceresponse.wholeMatch(of: /00-[0-9a-f]{32}-[0-9a-f]{16}-00/) != nil, "\(one.traceresponse)")
        #expect(one.traceID != Self.trace && one.traceID != other.traceID)
    }

    @Test func `every response contains the trace, and every problem document a stable type`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                let anna = try await gateway.token("anna", .customer)
                let header = ["traceparent: \(Self.parent)"]
                let good = try await gateway.rest("GET", "/api/v1/jobs/\(job)", as: anna, headers: header)
                #expect(good.status == 200)
                #expect(good.headers["traceresponse"]?.hasPrefix("00-\(Self.trace)-") == true)

                let refusals: [(String, String, String?, String?, Int, String)] = [
                    ("GET", "/api/v1/jobs/none", anna, nil, 404, "not_found"),
                    ("GET", "/api/v1/jobs/a%20b", anna, nil, 400, "bad_request"),
                    ("GET", "/api/v1/jobs/\(job)", nil, nil, 401, "unauthorized"),
                    ("POST", "/api/v1/jobs", anna, "{}", 403, "forbidden"),
                    ("GET", "/nothing", nil, nil, 404, "not_found"),
                    ("GET", "/api/v1/jobs/\(job)?token=x", nil, nil, 400, "bad_request"),
                ]
                for (method, path, token, body, status, code) in refusals {
                    let answer = try await gateway.rest(method, path, as: token, body, headers: header)
                    #expect(answer.status == status && answer.member("status") == status, "\(path): \(answer)")
                    #expect(answer.headers["content-type"] == "application/problem+json")
                    #expect(answer.member("type") == "urn:enroute:problem:\(code)" && answer.member("code") == code)
                    #expect(answer.member("traceId") == Self.trace)
                    #expect(answer.member("instance") == "urn:enroute:trace:\(Self.trace)")
                    #expect(answer.headers["traceresponse"]?.hasPrefix("00-\(Self.trace)-") == true, "\(path)")
                }
                let without = try await gateway.rest("GET", "/api/v1/jobs/none", as: anna)
                let made: String = try #require(without.member("traceId"))
                #expect(without.headers["traceresponse"]?.hasPrefix("00-\(made)-") == true && made != Self.trace)
            }
        }
        let answered = lines.all.filter { $0.message == "answered" && $0.metadata["trace"] == "\(Self.trace)" }
        #expect(answered.count >= 6)
        #expect(answered.contains { $0.metadata["status"] == "404" } && answered.allSatisfy { $0.level == .trace })
    }

    @Test func `an internal error is logged with its trace`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { settings in
                settings.redisTiming.answer = .seconds(2)
            } _: { gateway in
                let redis = try #require(gateway.redis).processID
                kill(redis, SIGSTOP)
                defer { kill(redis, SIGCONT) }
                let answer = try await gateway.rest(
                    "GET", "/api/v1/jobs/j1", by: "anna", .customer, headers: ["traceparent: \(Self.parent)"])
                #expect(answer.status == 503 && answer.member("traceId") == Self.trace)
            }
        }
        #expect(
            lines.all.contains {
                $0.level == .debug && $0.metadata["trace"] == "\(Self.trace)" && $0.metadata["status"] == "503"
            })
    }
}

/// Collects log lines.
final class RecordedLines: @unchecked Sendable {
    struct Line {
        let level: Logger.Level
        let message: String
        let metadata: [String: Logger.MetadataValue]
    }

    private let lock = NSLock()
    private var lines: [Line] = []

    var all: [Line] { self.lock.withLock { self.lines } }

    var logger: Logger { Logger(label: "recorded") { _ in Recorder(lines: self) } }

    fileprivate func add(_ line: Line) { self.lock.withLock { self.lines.append(line) } }
}

private struct Recorder: LogHandler {
    let lines: RecordedLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(lines: RecordedLines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
        self.lines.add(RecordedLines.Line(level: event.level, message: "\(event.message)", metadata: all))
    }
}
