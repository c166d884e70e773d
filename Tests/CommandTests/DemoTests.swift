import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Subprocess
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// `enroute demo` from start to stop.
@Suite struct DemoTests {
    /// A running demo.
    struct Running {
        let lines: [String]
        let panel: String
        /// A folder that the command line of each of its processes contains.
        let folder: String
        let client: HTTPClient

        var customer: String { self.lines.first { $0.contains("/track/") } ?? "" }

        func state() async throws -> [String: Any] { try await self.ask(.GET, "state") }

        @discardableResult
        func ask(_ method: HTTPMethod, _ path: String, _ body: String = "{}", header: (String, String)? = nil)
            async throws
            -> [String: Any]
        {
            var request = HTTPClientRequest(url: self.panel + path)
            request.method = method
            if method == .POST {
                request.headers.add(name: "content-type", value: "application/json")
                request.body = .bytes(Array(body.utf8))
            }
            if let header { request.headers.replaceOrAdd(name: header.0, value: header.1) }
            let answer = try await self.client.execute(request, timeout: .seconds(30))
            let bytes = Data(buffer: try await answer.body.collect(upTo: 1 << 20))
            let members = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
            return (members ?? [:]).merging(["code": Int(answer.status.code)]) { $1 }
        }

        /// Waits until the panel's state matches.
        func shows(_ what: ([String: Any]) -> Bool) async throws -> Bool {
            let deadline = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < deadline { if what(try await self.state()) { return true } }
            return false
        }
    }

    /// Runs the demo for as long as `body` takes, then stops it with a signal.
    ///
    /// - Returns: its output, the number of processes it started, and those that are still running.
    static func run(
        _ words: [String], ending signal: Signal, _ body: (Running) async throws -> Void = { _ in }
    ) async throws -> (lines: [String], started: Int, left: [String]) {
        // Short, because the path of a unix socket has at most 103 bytes.
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let environment = Environment.inherit.updating(["TMPDIR": folder.path])
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        let client = HTTPClient(
            configuration: .init(redirectConfiguration: .disallow, timeout: .init(connect: .seconds(30))))
        var lines: [String] = []
        var started = 0
        do {
            _ = try await Subprocess.run(
                .path(.init(CommandTests.binary)), arguments: Arguments(["demo"] + words), environment: environment,
                platformOptions: platform, input: .none, output: .sequence, error: .discarded
            ) { execution in
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    guard let found = line.firstMatch(of: /Panel: +(\S+)/) else { continue }
                    started = try Self.processes(naming: folder.path).count
                    try await body(Running(lines: lines, panel: String(found.1), folder: folder.path, client: client))
                    try execution.send(signal: signal)
                }
            }
        } catch {
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        // Without this, a demo that did not start would pass tests whose expectations are all in `body`.
        #expect(lines.contains { $0.contains("Panel:") }, "the demo did not start: \(lines)")
        // The kernel kills them when their parent is gone, which may take a moment.
        let deadline = ContinuousClock.now + .seconds(30)
        var left = try Self.processes(naming: folder.path)
        while !left.isEmpty, ContinuousClock.now < deadline { left = try Self.processes(naming: folder.path) }
        return (lines, started, left)
    }

    /// The processes whose command line contains a folder.
    static func processes(naming folder: String, _ word: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard Int(name) != nil, let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            let line = String(decoding: words, as: UTF8.self)
            return line.contains(folder) && (word.isEmpty || line.contains(word))
        }
    }

    @Test(arguments: [Signal.interrupt, .terminate, .kill])
    func `it prints four links, and leaves no process behind however it is stopped`(signal: Signal) async throws {
        let (lines, started, left) = try await Self.run(["--port", "18443"], ending: signal) { running in
            #expect(running.customer.contains("https://localhost:"))
            #expect(running.lines.contains { $0.contains("/rider#in.") })
            #expect(running.lines.contains { $0.contains("/ops#in.") })
        }
        // Two gateways and two redis-servers; the path of their sockets contains the folder.
        #expect(started == 4)
        #expect(left == [])
        #expect(lines.contains { $0.contains("generated trip 1") } || signal == .kill)
    }

    @Test func `a port in use makes it listen on the next one, and print that`() async throws {
        let taken = try PortInUse(from: 19443)
        let outcome = try await Self.run(["--no-tls", "--port", "\(taken.port)"], ending: .interrupt) { running in
            #expect(running.customer.contains("http://localhost:"))
            #expect(!running.customer.contains(":\(taken.port)/"))
        }
        #expect(outcome.lines.contains { $0.contains("port \(taken.port) is in use; trying ") })
    }

    /// With TLS, as by default: a killed gateway closes connections without a TLS alert.
    @Test func `its panel changes the trip and kills servers, and locations arrive again`() async throws {
        _ = try await Self.run(["--port", "20443"], ending: .interrupt) { running in
            #expect(try await running.shows { $0["p95Ms"] is Double })
            #expect(try await running.ask(.POST, "set", #"{"speed":4}"#)["speed"] as? Double == 4)
            #expect(try await running.ask(.POST, "set", #"{"speed":400}"#)["speed"] as? Double == 8)
            #expect(
                try await running.ask(.POST, "set", #"{"unavailableReason":"no_fix"}"#)["unavailableReason"] as? String
                    == "no_fix")
            #expect(try await running.ask(.POST, "set", #"{"unavailableReason":""}"#)["unavailableReason"] == nil)
            #expect(try await running.ask(.POST, "kill-gateway")["code"] as? Int == 204)
            #expect(
                try await running.shows { $0["gatewayKills"] as? Int == 1 && $0["gatewaysUp"] as? Int == 2 })
            #expect(try await running.ask(.POST, "restart-redis")["code"] as? Int == 204)
            #expect(try await running.shows { $0["redisRestarts"] as? Int == 1 })
            let before = try #require(try await running.state()["shown"] as? Int)
            #expect(try await running.shows { ($0["shown"] as? Int ?? 0) > before + 3 })
            // A gateway that exits unexpectedly is restarted too.
            let gateway = try #require(try DemoTests.processes(naming: running.folder, "demo-gateway").first)
            kill(try #require(pid_t(gateway)), SIGKILL)
            #expect(
                try await running.shows { $0["gatewayKills"] as? Int == 2 && $0["gatewaysUp"] as? Int == 2 })
            let again = try #require(try await running.state()["shown"] as? Int)
            #expect(try await running.shows { ($0["shown"] as? Int ?? 0) > again + 10 })
            #expect(try await running.state()["gatewayKills"] as? Int == 2)
            #expect(try await running.ask(.GET, "open/rider")["code"] as? Int == 303)
            #expect(try await running.ask(.GET, "open/nothing")["code"] as? Int == 404)
        }
    }

    @Test func `pages of other sites cannot press its buttons, not even with DNS rebinding`() async throws {
        _ = try await Self.run(["--no-tls", "--port", "21443"], ending: .interrupt) { running in
            for (name, value) in [("origin", "https://elsewhere.example"), ("host", "elsewhere.example")] {
                let answer = try await running.ask(.POST, "restart-redis", header: (name, value))
                #expect(answer["code"] as? Int == 403, "\(name)")
            }
            #expect(try await running.state()["redisRestarts"] as? Int == 0)
        }
    }
}

/// A port on loopback that is in use as long as this value exists.
private final class PortInUse {
    let port: Int
    private let descriptor: Int32

    init(from first: Int) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        for port in first..<first + 100 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(port)).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let isBound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isBound, listen(descriptor, 1) == 0 {
                self.port = port
                return
            }
        }
        throw CommandTests.Crashed()
    }

    deinit { close(self.descriptor) }
}
