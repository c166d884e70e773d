import Foundation
import Subprocess
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// `enroute demo` from its first line to its last.
@Suite struct DemoTests {
    /// Runs the demonstration until it has printed its link, then ends it with a signal.
    ///
    /// - Returns: the link, what it printed, and the redis-servers whose folder it made and that still live.
    private static func run(_ words: [String], ending signal: Signal) async throws -> (
        link: String, lines: [String], left: [String]
    ) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var environment = Environment.inherit
        environment = environment.updating(["TMPDIR": folder.path])
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        var (link, lines): (String?, [String]) = (nil, [])
        var redis: Int32?
        let outcome = try await Subprocess.run(
            .path(.init(CommandTests.binary)), arguments: Arguments(["demo"] + words), environment: environment,
            platformOptions: platform, input: .none, output: .sequence, error: .discarded
        ) { execution in
            for try await line in execution.standardOutput.strings() {
                lines.append(line)
                guard link == nil, let found = line.firstMatch(of: /https?:\/\/\S+/) else { continue }
                link = String(found.output)
                redis = try Self.redisServer(in: folder)
                try execution.send(signal: signal)
            }
        }
        _ = outcome
        // The kernel ends the server when its parent is gone; that may be a moment later.
        let pid = try #require(redis)
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(5)
        while kill(pid, 0) == 0, clock.now < deadline { await Task.yield() }
        let left = kill(pid, 0) == 0 ? ["\(pid)"] : []
        return (try #require(link), lines, left)
    }

    /// The process that wrote its id below `folder`.
    private static func redisServer(in folder: URL) throws -> Int32? {
        let made = try FileManager.default.contentsOfDirectory(atPath: folder.path).first {
            $0.hasPrefix("enroute-redis-")
        }
        let file = folder.appending(path: made ?? "").appending(path: "redis.pid")
        return Int32(try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines))
    }

    @Test(arguments: [Signal.interrupt, .terminate, .kill])
    func `it prints a link, and its redis-server is gone however it ends`(signal: Signal) async throws {
        let (link, lines, left) = try await Self.run(["--port", "18443"], ending: signal)
        #expect(link.contains("/track/demo#"))
        #expect(left == [])
        #expect(lines.contains { $0.contains("generated trip 1") } || signal == .kill)
    }

    @Test func `a taken port moves to the next, with a word about it`() async throws {
        let taken = try Taken(from: 19443)
        let (link, lines, _) = try await Self.run(["--plain", "--port", "\(taken.port)"], ending: .interrupt)
        #expect(link.hasPrefix("http://localhost:"))
        #expect(!link.contains(":\(taken.port)/"))
        #expect(lines.contains { $0.contains("port \(taken.port) is taken; trying ") })
    }
}

/// A port of loopback that somebody listens on, as long as this lives.
private final class Taken {
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
