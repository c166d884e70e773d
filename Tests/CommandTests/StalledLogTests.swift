import Embedded
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// `enroute serve` whose standard error or output cannot be written to.
@Suite(.needsMachine(for: .volume)) struct StalledLogTests {
    /// A named pipe that this process holds open, so that a gateway can open it too.
    private final class NamedPipe: Sendable {
        let path: String
        private let descriptor: Int32

        init(in folder: String) throws {
            self.path = "\(folder)/stderr"
            try #require(mkfifo(self.path, 0o600) == 0)
            self.descriptor = open(self.path, O_RDWR | O_NONBLOCK)
            try #require(self.descriptor >= 0)
        }

        /// Writes until the pipe accepts no more.
        func fill() {
            let line = [UInt8](repeating: UInt8(ascii: "x"), count: 1)
            while write(self.descriptor, line, 1) == 1 {}
        }

        /// Everything that is in the pipe now.
        func contents() -> String {
            var (text, chunk) = ("", [UInt8](repeating: 0, count: 65_536))
            while case let count = read(self.descriptor, &chunk, chunk.count), count > 0 {
                text += String(decoding: chunk[..<count], as: UTF8.self)
            }
            return text
        }

        deinit { close(self.descriptor) }
    }

    private static let refusal = "GET /v1 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

    /// Connections that the gateway logs, several of them on its only event loop.
    private static func invalidConnections(_ count: Int, to port: Int) async throws {
        try await blocking {
            for _ in 0..<count {
                let socket = try RawSocket(port: port)
                try socket.send(Self.refusal)
                _ = try? socket.readToEnd()
            }
        }
    }

    private static func works(_ served: ServeTests.Served) async throws {
        for path in ["/livez", "/readyz", "/metrics"] {
            #expect(try await served.get(path).hasPrefix("HTTP/1.1 200 "), "\(path)")
        }
        #expect(try await served.get("/track/j", isPublic: true).hasPrefix("HTTP/1.1 200 "))
        #expect(try await served.get("/api/v1/jobs/j", isPublic: true).hasPrefix("HTTP/1.1 401 "))
    }

    @Test func `a gateway starts, serves, and stops on SIGTERM even if nobody reads its log`() async throws {
        try await TemporaryFolder.holding("enroute-stalled") { folder in
            let pipe = try NamedPipe(in: folder)
            pipe.fill()
            let status = try await ServeTests.serve(
                ["ENROUTE_LOG_LEVEL": "trace", "ENROUTE_DRAIN_SECONDS": "1"], arguments: "2> \(pipe.path)"
            ) { served in
                try await Self.invalidConnections(50, to: served.port)
                try await Self.works(served)
                try served.send(.terminate)
            }
            #expect(status == .exited(0))
            #expect(!pipe.contents().contains("msg="))
        }
    }

    @Test func `when the log is read again, logging continues, and the last lines are not lost`() async throws {
        try await TemporaryFolder.holding("enroute-stalled") { folder in
            let pipe = try NamedPipe(in: folder)
            pipe.fill()
            let status = try await ServeTests.serve(
                ["ENROUTE_LOG_LEVEL": "debug", "ENROUTE_DRAIN_SECONDS": "20"], arguments: "2> \(pipe.path)"
            ) { served in
                try await Self.works(served)
                var log = ""
                try await becomes("the log has its first lines", every: .milliseconds(10)) {
                    log += pipe.contents()
                    return log.contains("msg=listening")
                }
                try await Self.works(served)
                try served.send(.terminate)
            }
            #expect(status == .exited(0))
            #expect(pipe.contents().contains("draining; a second signal stops immediately"))
        }
    }

    @Test(arguments: ["2> /dev/full", "2>&-", "2>&- <&-"])
    func `a full disk or a closed standard error does not stop a gateway`(redirection: String) async throws {
        let status = try await ServeTests.serve(
            ["ENROUTE_LOG_LEVEL": "trace", "ENROUTE_DRAIN_SECONDS": "1"], arguments: redirection
        ) { served in
            let descriptor = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(served.process)/fd/2")
            // Not a socket that was opened later: otherwise log lines would be sent to its peer.
            #expect(["/dev/null", "/dev/full"].contains(descriptor), "\(descriptor)")
            try await Self.invalidConnections(10, to: served.port)
            try await Self.works(served)
            try served.send(.terminate)
        }
        #expect(status == .exited(0))
    }

    @Test(arguments: ["> /dev/full", ">&-"])
    func `a gateway that cannot write to standard output logs it, and its exit code stays 0`(redirection: String)
        async throws
    {
        try await RedisServer.running { redis in
            try await TemporaryFolder.holding("enroute-stalled") { folder in
                let log = "\(folder)/log"
                let environment: [Environment.Key: String] = [
                    "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_TLS": "off",
                    "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_MODE": "development",
                    "ENROUTE_MANAGEMENT": "off", "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_DRAIN_SECONDS": "1",
                ]
                let command = "exec \(CommandTests.binary) serve --host 127.0.0.1 --port 0 \(redirection) 2> \(log)"
                let outcome = try await Subprocess.run(
                    .path("/bin/sh"), arguments: ["-c", command], environment: .custom(environment), input: .none,
                    output: .discarded, error: .discarded
                ) { execution in
                    let limit = ServeTests.limit(of: execution.processIdentifier.value)
                    do {
                        try await becomes("the failure is logged, and the gateway listens", every: .milliseconds(20)) {
                            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                            return text.contains("cannot write to standard output") && text.contains("msg=listening")
                        }
                        try execution.send(signal: .terminate)
                    } catch {
                        limit.cancel()
                        throw error
                    }
                    return limit
                }
                outcome.closureResult.cancel()
                #expect(outcome.terminationStatus == .exited(0))
                let text = try String(contentsOfFile: log, encoding: .utf8)
                #expect(text.contains("draining; a second signal stops immediately"), "\(text)")
            }
        }
    }

    @Test func `the log says that a second signal stopped the gateway`() async throws {
        try await TemporaryFolder.holding("enroute-stalled") { folder in
            let log = "\(folder)/log"
            let status = try await ServeTests.serve(
                ["ENROUTE_LOG_LEVEL": "info", "ENROUTE_DRAIN_ACCEPT_SECONDS": "600"], arguments: "2> \(log)"
            ) { served in
                try served.send(.terminate)
                #expect(try await served.eventually("/readyz", "stopping"))
                try served.send(.terminate)
            }
            #expect(status == .exited(128 + SIGTERM))
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(text.contains("second signal received; stopping immediately"), "\(text)")
        }
    }
}
