import Foundation
import TestSupport
import Testing

@testable import enroute

/// `ENROUTE_LOG_FORMAT=json`: every line is one JSON object.
@Suite struct LogFormatTests {
    private static func parse(_ line: some StringProtocol) -> [String: String]? {
        try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
    }

    @Test(arguments: [
        "\"", "\\", "a\"b\\\"c", "line\nline\r\n", "\u{0}\u{1B}[31m\u{7F}", "\u{2028}\u{2029}", "é😀\u{FFFD}",
        "{\"a\":1}", "",
        String(decoding: [0x61, 0xFF, 0xC3, 0x28, 0xED, 0xA0, 0x80] as [UInt8], as: UTF8.self),
    ])
    func `a value of any characters is one JSON string and unchanged`(value: String) throws {
        let line = LogLine.text(
            at: Date(timeIntervalSince1970: 0), .info, value, ["k": value, value: "v"], source: value, as: .json)
        #expect(!line.contains("\n") && !line.contains("\r"))
        let object = try #require(Self.parse(line))
        #expect(object["msg"] == value && object["k"] == value && object["source"] == value)
        #expect(object["level"] == "info" && object["time"] == "1970-01-01T00:00:00.000Z")
    }

    @Test(arguments: ["time", "level", "msg", "source"])
    func `metadata cannot repeat a field of the line`(key: String) throws {
        let line = LogLine.text(at: .now, .error, "m", [key: "forged"], source: "s", as: .json)
        #expect(line.matches(of: try Regex("\"\(key)\":")).count == 1)
        let object = try #require(Self.parse(line))
        #expect(object[key] != "forged" && object["\(key)_"] == "forged")
    }

    @Test(arguments: [LogFormat.logfmt, .json])
    func `characters that start a line, override the direction or control a terminal are escaped`(
        format: LogFormat
    ) throws {
        let values: [UInt32] = [0, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069]
        for value in values {
            let scalar = try #require(Unicode.Scalar(value))
            let text = "https://e\(scalar)x"
            let line = LogLine.text(at: .now, .error, "m", ["origin": text], source: "s", as: format)
            let digits = String(value, radix: 16)
            let escape = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            #expect(line.contains("\"https://e\(escape)x\""), "\(line)")
            #expect(!line.unicodeScalars.contains(scalar))
            if format == .json { #expect(Self.parse(line)?["origin"] == text) }
        }
        let line = LogLine.text(at: .now, .error, "m", ["origin": "caf\u{E9}-\u{1F6F5}"], source: "s", as: format)
        #expect(line.contains("caf\u{E9}-\u{1F6F5}"), "\(line)")
    }

    @Test func `both formats have the same keys in the same order`() {
        let time = Date(timeIntervalSince1970: 1)
        let metadata = ["role": "live", "reason": "it broke", "job": ""]
        #expect(
            LogLine.text(at: time, .warning, "a message", metadata, source: "Redis", as: .json)
                == #"{"time":"1970-01-01T00:00:01.000Z","level":"warning","msg":"a message","job":"","#
                + #""reason":"it broke","role":"live","source":"Redis"}"#)
    }

    /// The lines of a gateway that does not start, in development, with a Redis of its own.
    private static func failedStart(_ settings: [String: String]) async throws -> (code: Int32, lines: [Substring]) {
        try await withServer { server in
            let outcome = try await CommandTests.run(
                ["serve"],
                environment: [
                    "ENROUTE_MODE": "development", "ENROUTE_TLS": "off", "ENROUTE_EVENT_LOOPS": "1",
                    "ENROUTE_MANAGEMENT": "off", "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "0",
                    "ENROUTE_REDIS_LIVE_URL": server.url,
                ].merging(settings) { $1 })
            return (outcome.code, outcome.error.split(separator: "\n"))
        }
    }

    @Test func `in JSON, the error that ends a gateway is a log line, with the remedy`() async throws {
        try await FakePort.running(greeting: nil) { port in
            let settings = [
                "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_LISTEN_PORT": "\(port)",
            ]
            let (code, lines) = try await Self.failedStart(settings.merging(["ENROUTE_LOG_FORMAT": "json"]) { $1 })
            let last = try #require(lines.last.flatMap { Self.parse($0) }, "\(lines)")
            #expect(code == 69 && last["level"] == "critical" && last["msg"] == "exiting after an error")
            #expect(last["reason"]?.contains("\(port)") == true, "\(last)")
            #expect(last["reason"]?.contains("ENROUTE_LISTEN_PORT") == true, "\(last)")
            #expect(lines.allSatisfy { Self.parse($0) != nil }, "\(lines)")
            let plain = try await Self.failedStart(settings)
            #expect(plain.code == 69 && plain.lines.last?.hasPrefix("enroute: ") == true, "\(plain)")
        }
    }

    @Test func `previous keys are not mentioned for an issuer that never responded`() async throws {
        let (code, lines) = try await Self.failedStart([
            "ENROUTE_TOKEN_JWKS_URL": "https://127.0.0.1:\(try await freePort())/keys", "ENROUTE_LOG_FORMAT": "json",
        ])
        let parsed = lines.compactMap { Self.parse($0) }
        #expect(code == 69 && parsed.count == lines.count, "\(lines)")
        #expect(parsed.contains { $0["msg"] == "JWKS fetch failed; no keys of the issuer are known yet" }, "\(lines)")
        #expect(!lines.contains { $0.contains("keeping previous keys") })
        let last = try #require(parsed.last)
        #expect(
            last["level"] == "critical" && last["reason"]?.hasPrefix("No token verification key is available.") == true)
    }

    @Test func `every line of a gateway's run is one JSON object, whatever clients send`() async throws {
        _ = try await DeployedSite.findings(with: ["ENROUTE_LOG_FORMAT": "json"]) {
            []
        } after: { site in
            let anna = try await site.token("anna", "customer")
            let origins: [[UInt8]] = [
                Array(#"https://"evil\".example\"#.utf8), [0x68, 0xFF, 0xFE, 0xC3, 0x28],
                Array("\t{\"level\":\"x\"}".utf8),
                Array("é\u{2028}".utf8),
            ]
            try await blocking { [port = site.port] in
                for origin in origins {
                    let socket = try RawSocket(port: port)
                    let request = RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\nOrigin: @\r\n")
                    let parts = request.split(separator: "@").map { Array($0.utf8) }
                    try socket.send(parts[0] + origin + parts[1])
                    _ = try? socket.readToEnd()
                }
                let session = try RawSocket.session(port: port, token: anna)
                try session.send(RawSocket.frame(0x81, [0xFF, 0x22, 0x0A]))
                try? session.sayGoodbye()
            }
            _ = try await site.rest("GET", "/api/v1/jobs/%22%0A%FF", as: anna)
            _ = try await site.rest("POST", "/api/v1/jobs/\"/status", as: anna, "\u{0}\n\"")
            // The redis-server has exited. The log reports that in the gateway's own texts and in those of the system.
            site.ledger.send(SIGKILL)
            let log = site.gateway.log
            try await becomes("the outage is logged") {
                try String(contentsOfFile: log, encoding: .utf8).contains("redis unavailable")
            }
            site.gateway.send(SIGTERM)
            try await becomes("the gateway has stopped", every: .milliseconds(20)) {
                // It remains as a zombie until its parent waits for it.
                let stat = try? String(contentsOfFile: "/proc/\(site.gateway.processID)/stat", encoding: .utf8)
                return stat?.contains(") Z ") ?? true
            }
            let bytes = try Data(contentsOf: URL(filePath: log))
            let text = try #require(String(data: bytes, encoding: .utf8), "the log is UTF-8")
            let lines = text.split(separator: "\n").filter { !$0.contains("probes and metrics on port") }
            for line in lines { #expect(Self.parse(line) != nil, "\(line)") }
            let messages = Set(lines.compactMap { Self.parse($0)?["msg"] })
            for expected in ["listening", "websocket refused: origin not allowed", "session closed"] {
                #expect(messages.contains(expected), "\(messages)")
            }
        }
    }
}
