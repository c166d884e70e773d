// A private redis-server for the demonstration and the tests. It listens on a Unix socket in a temporary folder, writes nothing
// to disk, and is killed when this process ends, however it ends. Not for production.

private import FoundationEssentials
private import Subprocess

#if canImport(System)
    private import System
#else
    private import SystemPackage
#endif

/// A running redis-server, reached through its Unix socket.
package struct RedisServer: Sendable {
    package let socketPath: String
    package let processID: Int32

    package var url: String { "unix:\(self.socketPath)" }

    /// Why the server did not start.
    package enum Failure: Error, CustomStringConvertible {
        case notInstalled(String)
        case ended(lastWords: String)
        /// The path of the folder is too long for a socket in it.
        case pathTooLong(String)

        package var description: String {
            switch self {
            case .notInstalled(let reason):
                "redis-server could not be started: \(reason). Install it with: apt-get install redis-server"
            case .ended(let lastWords): "redis-server exited before it was ready: \(lastWords)"
            case .pathTooLong(let path):
                "The path of redis-server's socket has \(path.utf8.count) bytes; the maximum is "
                    + "\(RedisServer.longestSocketPath): \(path). Set TMPDIR to a shorter path."
            }
        }
    }

    /// Runs a server while `body` runs.
    ///
    /// - Parameters:
    ///   - configuration: a configuration file, which then decides about persistence; without one, nothing is written.
    ///   - options: additional command-line arguments of redis-server, such as `["--maxmemory", "64mb"]`.
    /// - Throws: `Failure`, or the error that `body` throws.
    package nonisolated(nonsending) static func running<Result: Sendable>(
        configuration: String? = nil, options: [String] = [], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.holding("enroute-redis") { folder in
            let words = Self.arguments(in: folder, isEphemeral: configuration == nil)
            return try await Self.running(in: folder, words: [configuration].compactMap { $0 } + words + options, body)
        }
    }

    /// Returns the arguments of a server that persists nothing and listens only on a Unix socket in its folder. Arguments
    /// that follow these take precedence.
    ///
    /// - Parameter isEphemeral: `false` leaves persistence to a configuration file.
    package static func arguments(in folder: String, isEphemeral: Bool = true) -> [String] {
        [
            "--port", "0", "--unixsocket", Self.socketPath(in: folder), "--dir", folder, "--pidfile",
            "\(folder)/redis.pid", "--loglevel", "notice",
        ] + (isEphemeral ? ["--save", "", "--appendonly", "no"] : [])
    }

    /// The longest socket path that SwiftNIO accepts, in bytes (`sockaddr_un`).
    static let longestSocketPath = 103

    /// - Throws: `Failure.pathTooLong`. Without this check clients fail to connect without saying why.
    static func check(_ socketPath: String) throws(Failure) {
        guard socketPath.utf8.count <= Self.longestSocketPath else { throw .pathTooLong(socketPath) }
    }

    private static func socketPath(in folder: String) -> String { "\(folder)/redis.sock" }

    /// Runs a server in an existing folder while `body` runs. The server is killed when `body` ends and has exited when
    /// this method returns.
    ///
    /// - Parameter words: the complete command line of redis-server, which can also run as a Sentinel.
    /// - Throws: `Failure`, or the error that `body` throws.
    package nonisolated(nonsending) static func running<Result: Sendable>(
        in folder: String, words: [String], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        if let option = words.firstIndex(of: "--unixsocket"), option + 1 < words.count {
            try Self.check(words[option + 1])
        }
        // setpriv makes the kernel kill the server when this process ends, even if it is killed.
        let words = ["--pdeathsig", "KILL", "redis-server"] + words
        var platform = PlatformOptions()
        platform.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))]
        // A separate process group, so that Ctrl-C reaches only this process and it can shut the server down in order.
        platform.processGroupID = 0
        do {
            let outcome = try await Subprocess.run(
                .name("setpriv"), arguments: Arguments(words), platformOptions: platform, input: .none,
                output: .sequence, error: .combinedWithOutput
            ) { execution in
                let log = execution.standardOutput.strings()
                let server = RedisServer(
                    socketPath: Self.socketPath(in: folder), processID: execution.processIdentifier.value)
                let (opening, continuation) = AsyncStream.makeStream(of: String.self)
                return try await withThrowingTaskGroup(of: Void.self) { group in
                    // Read to the end: a server blocks once its log fills the pipe.
                    group.addTask { await Self.read(log, opening: continuation) }
                    // Kill it here, before the task group waits for the end of the log.
                    defer { try? execution.send(signal: .kill) }
                    try await Self.waitUntilReady(opening)
                    return try await body(server)
                }
            }
            return outcome.closureResult
        } catch let error as SubprocessError {
            throw Failure.notInstalled("\(error)")
        }
    }

    /// Passes on the lines up to the one that reports readiness, and discards the rest.
    private static func read(
        _ log: some AsyncSequence<String, any Error> & Sendable, opening: AsyncStream<String>.Continuation
    ) async {
        defer { opening.finish() }
        do {
            var isOpening = true
            for try await line in log where isOpening {
                opening.yield(line)
                guard Self.isReady(line) else { continue }
                isOpening = false
                opening.finish()
            }
        } catch {
            // The server was killed in the middle of a log line.
        }
    }

    /// A configuration error spans this many lines: the line it is in, the option, the reason.
    private static let lastWordLines = 3

    private static func waitUntilReady(_ opening: AsyncStream<String>) async throws(Failure) {
        var lines: [String] = []
        for await line in opening {
            if Self.isReady(line) { return }
            if !line.isEmpty { lines.append(line) }
        }
        throw .ended(lastWords: lines.suffix(Self.lastWordLines).joined(separator: " "))
    }

    /// A Sentinel logs the second pattern, once it is listening.
    private static func isReady(_ line: String) -> Bool {
        ["eady to accept connections", "Sentinel ID is "].contains { line.contains($0) }
    }
}
