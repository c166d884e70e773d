import Embedded
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// `enroute serve` as a process: descriptors, signals, management listener.
@Suite(.needsMachine(for: .volume)) struct ServeTests {
    struct Served: Sendable {
        let port: Int
        let management: Int
        let process: Int32
        let send: @Sendable (Signal) throws -> Void

        /// The response of the management listener, or of the public one.
        func get(_ path: String, isPublic: Bool = false) async throws -> String {
            let port = isPublic ? self.port : self.management
            return try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return String(decoding: try socket.readToEnd(), as: UTF8.self)
            }
        }

        func eventually(_ path: String, _ text: String) async throws -> Bool {
            try await becomes("\(path) says \(text)", every: .milliseconds(10)) {
                try await self.get(path).contains(text)
            }
            return true
        }
    }

    /// The longest run of a gateway. A test's own limit would include the wait for the machine.
    private static let longestRun = Duration.seconds(300)

    /// Kills a gateway that hangs, so that its test fails. Cancel it when the gateway has ended.
    static func limit(of process: pid_t) -> Task<Void, Never> {
        Task {
            let end = ContinuousClock.now + Self.longestRun
            while !Task.isCancelled, ContinuousClock.now < end { await pause(.seconds(1)) }
            if !Task.isCancelled { kill(process, SIGKILL) }
        }
    }

    /// Runs a gateway without TLS for as long as `body` takes, then kills it if it still runs.
    static func serve(
        _ more: [Environment.Key: String] = [:], descriptors: Int = 4096, arguments: String = "",
        _ body: @escaping @Sendable (Served) async throws -> Void
    ) async throws -> TerminationStatus {
        let status = Handed<TerminationStatus>()
        try await RedisServer.running { redis in
            let environment: [Environment.Key: String] = [
                "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_TLS": "off",
                "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_LOG_LEVEL": "critical",
                "ENROUTE_DRAIN_SECONDS": "20", "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_MODE": "development",
                "ENROUTE_MANAGEMENT_PORT": "0", "ENROUTE_EVENT_LOOPS": "1",
                // A machine busy with other tests must not count as overloaded.
                "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000",
            ]
            var platform = PlatformOptions()
            platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
            let command =
                "ulimit -n \(descriptors); exec \(CommandTests.binary) serve --host 127.0.0.1 --port 0 \(arguments)"
            let outcome = try await Subprocess.run(
                .path("/bin/sh"), arguments: ["-c", command],
                environment: .custom(environment.merging(more) { $1 }), platformOptions: platform, input: .none,
                output: .sequence, error: .discarded
            ) { execution in
                let limit = Self.limit(of: execution.processIdentifier.value)
                defer { limit.cancel() }
                var lines = execution.standardOutput.strings().makeAsyncIterator()
                let line = try #require(try await lines.next())
                let ports = try #require(line.firstMatch(of: /port (\d+).*probes and metrics on port (\d+)/))
                let process = execution.processIdentifier.value
                let served = Served(
                    port: try #require(Int(ports.1)), management: try #require(Int(ports.2)), process: process,
                    send: { kill(process, $0.rawValue) })
                try await body(served)
                while try await lines.next() != nil {}
            }
            status.value = outcome.terminationStatus
        }
        return try #require(status.value)
    }

    @Test func `D7: without free descriptors new connections wait, /readyz fails, and they are accepted later`()
        async throws
    {
        let status = try await Self.serve(["ENROUTE_LIMIT_CONNECTIONS_PER_ADDRESS": "0"], descriptors: 200) { served in
            // 200 descriptors, 64 of them reserved: 136 are left, and the process itself needs a few of them.
            let crowd = try await blocking { Handed(try (0..<150).map { _ in try RawSocket(port: served.port) }) }
            #expect(try await served.eventually("/readyz", "overloaded"))
            // Paused once for descriptors, and perhaps again because the machine is busy.
            #expect(try await !served.get("/metrics").contains("enroute_accept_pauses_total 0"))
            // Accepted by the kernel, but not by the gateway yet.
            let late = try await blocking {
                let late = try RawSocket(port: served.port)
                try late.send("GET /track/j HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return Handed(late)
            }
            crowd.value = nil
            let answer = try await blocking { try late.value?.readToEnd() ?? [] }
            #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
            #expect(try await served.eventually("/readyz", "HTTP/1.1 200 "))
            try served.send(.kill)
        }
        #expect(status == .signaled(SIGKILL))
    }

    @Test func `B25: a connection that pipelines requests and does not read costs the memory of one response`()
        async throws
    {
        let status = try await Self.serve(["ENROUTE_LIMIT_WRITE_STALL_SECONDS": "1"]) { served in
            // Documents are loaded on the first request.
            #expect(try await served.get("/openapi.json", isPublic: true).hasPrefix("HTTP/1.1 200 "))
            let before = try Self.maxMemoryKilobytes(served.process)
            let crowd = try await blocking {
                let requests = String(repeating: "GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n", count: 400)
                return Handed(
                    try (0..<20).map { _ in
                        let socket = try RawSocket(port: served.port)
                        try socket.send(requests)
                        return socket
                    })
            }
            // All have been closed because of the write stall.
            #expect(try await served.eventually("/metrics", #"enroute_timeouts_total{phase="write"} 20"#))
            let grown = try Self.maxMemoryKilobytes(served.process) - before
            // It was 1,123 MB when pipelined requests were answered concurrently.
            #expect(grown < 40_000, "\(grown) KB")
            withExtendedLifetime(crowd) {}
            try served.send(.kill)
        }
        #expect(status == .signaled(SIGKILL))
    }

    /// The peak resident memory of the process (proc(5), status).
    private static func maxMemoryKilobytes(_ process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: /VmHWM:\s+([0-9]+) kB/).flatMap { Int($0.1) })
    }

    @Test func `SIGHUP does not stop a gateway without TLS`() async throws {
        let status = try await Self.serve { served in
            for _ in 0..<2 {
                try served.send(Signal(rawValue: SIGHUP))
                #expect(try await served.get("/livez").hasPrefix("HTTP/1.1 200 "))
            }
            try served.send(.kill)
        }
        #expect(status == .signaled(SIGKILL))
    }

    @Test func `a name that the configuration file sets twice is logged`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-serve-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (file, log) = ("\(folder)/enroute.env", "\(folder)/log")
        try Data("ENROUTE_LISTEN_PORT=1\nENROUTE_LISTEN_PORT=2\n".utf8).write(to: URL(filePath: file))
        _ = try await Self.serve(["ENROUTE_LOG_LEVEL": "warning"], arguments: "--config \(file) 2> \(log)") { served in
            try served.send(.kill)
        }
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("ENROUTE_LISTEN_PORT is set in lines 1, 2. The last one applies."), "\(text)")
    }

    @Test func `a second signal stops a draining gateway immediately`() async throws {
        // This session stays open: draining ends when the last session closes.
        let session = Handed<RawSocket>()
        let status = try await Self.serve { served in
            let token = try await CommandTests.run(
                ["token", "anna", "--role", "service"],
                environment: ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"]
            ).output.trimmingCharacters(in: .whitespacesAndNewlines)
            session.value = try await blocking { Handed(try RawSocket.session(port: served.port, token: token)) }.value
            try served.send(.terminate)
            #expect(try await served.eventually("/readyz", "stopping"))
            #expect(try await served.get("/livez").contains("live"))
            try served.send(.terminate)
        }
        #expect(status == .exited(128 + SIGTERM))
        session.value = nil
    }

    @Test func `B15: a stopping gateway accepts connections for a while after /readyz fails`() async throws {
        let session = Handed<RawSocket>()
        let status = try await Self.serve(["ENROUTE_DRAIN_ACCEPT_SECONDS": "600"]) { served in
            let token = try await CommandTests.run(
                ["token", "anna", "--role", "service"],
                environment: ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"]
            ).output.trimmingCharacters(in: .whitespacesAndNewlines)
            try served.send(.terminate)
            #expect(try await served.eventually("/readyz", "stopping"))
            // A connection from a balancer that has not noticed yet.
            #expect(try await served.get("/track/j", isPublic: true).hasPrefix("HTTP/1.1 200 "))
            session.value = try await blocking { Handed(try RawSocket.session(port: served.port, token: token)) }.value
            #expect(try await served.get("/readyz").hasPrefix("HTTP/1.1 503 "))
            try served.send(.terminate)
        }
        #expect(status == .exited(128 + SIGTERM))
        session.value = nil
    }

    @Test func `B15: after that it accepts no connection and serves existing ones`() async throws {
        let session = Handed<RawSocket>()
        let status = try await Self.serve { served in
            let token = try await CommandTests.run(
                ["token", "anna", "--role", "service"],
                environment: ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"]
            ).output.trimmingCharacters(in: .whitespacesAndNewlines)
            session.value = try await blocking { Handed(try RawSocket.session(port: served.port, token: token)) }.value
            try served.send(.terminate)
            let isClosed = await eventually { (try? await blocking { _ = try RawSocket(port: served.port) }) == nil }
            #expect(isClosed)
            #expect(try await served.get("/readyz").contains("stopping"))
            try served.send(.terminate)
        }
        #expect(status == .exited(128 + SIGTERM))
        session.value = nil
    }

    @Test func `I4: the public listener serves no probes and no metrics`() async throws {
        _ = try await Self.serve { served in
            for path in ["/livez", "/readyz", "/healthz", "/metrics"] {
                #expect(try await served.get(path, isPublic: true).hasPrefix("HTTP/1.1 404 "))
                #expect(try await served.get(path).hasPrefix("HTTP/1.1 200 "))
            }
            for path in ["/debug", "/debug/pprof", "/debug/vars", "/v1/_echo", "/admin", "/.env"] {
                #expect(try await served.get(path, isPublic: true).hasPrefix("HTTP/1.1 404 "), "\(path)")
            }
            #expect(try await served.get("/api/v1/jobs/j").hasPrefix("HTTP/1.1 404 "))
            #expect(try await served.get("/v1").hasPrefix("HTTP/1.1 404 "))
            try served.send(.kill)
        }
    }
}

/// A value that one task hands to another; used by one at a time.
private final class Handed<Value>: @unchecked Sendable {
    var value: Value?
    init(_ value: Value? = nil) { self.value = value }
}
