// A redis-server of one's own, for the demonstration and the tests: on a unix socket in a folder of its own, nothing on
// disk, and ended with us however we end. Not for production.

private import FoundationEssentials
private import Subprocess

#if canImport(System)
    private import System
#else
    private import SystemPackage
#endif

/// A running redis-server, reached through its unix socket.
package struct RedisServer: Sendable {
    package let socketPath: String
    package let processID: Int32

    package var url: String { "unix:\(self.socketPath)" }

    /// Why it did not start.
    package enum Failure: Error, CustomStringConvertible {
        case notInstalled(String)
        case ended(lastWords: String)
        /// The folder's name is too long for a socket in it.
        case pathTooLong(String)

        package var description: String {
            switch self {
            case .notInstalled(let reason):
                "redis-server could not be started: \(reason). Install it: apt-get install redis-server."
            case .ended(let lastWords): "redis-server ended before it was ready: \(lastWords)"
            case .pathTooLong(let path):
                "The path of redis-server's socket has \(path.utf8.count) bytes, and at most "
                    + "\(RedisServer.longestSocketPath) are possible: \(path). Set TMPDIR to a shorter path."
            }
        }
    }

    /// Runs a server for as long as `body` does.
    ///
    /// - Parameters:
    ///   - configuration: a configuration file, which then decides what is written to disk; without one, nothing is.
    ///   - options: further words of redis-server's command line, such as `["--maxmemory", "64mb"]`.
    /// - Throws: `Failure`, and what `body` throws.
    package nonisolated(nonsending) static func running<Result: Sendable>(
        configuration: String? = nil, options: [String] = [], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.holding("enroute-redis") { folder in
            let words = Self.words(in: folder, keepsNothing: configuration == nil)
            return try await Self.running(in: folder, words: [configuration].compactMap { $0 } + words + options, body)
        }
    }

    /// What a server is told that keeps nothing and listens at a unix socket in its folder only. Words that follow
    /// these go before them.
    ///
    /// - Parameter keepsNothing: `false` leaves it to a configuration file what is written to disk.
    package static func words(in folder: String, keepsNothing: Bool = true) -> [String] {
        [
            "--port", "0", "--unixsocket", Self.socketPath(in: folder), "--dir", folder, "--pidfile",
            "\(folder)/redis.pid", "--loglevel", "notice",
        ] + (keepsNothing ? ["--save", "", "--appendonly", "no"] : [])
    }

    /// Bytes of a socket's path that SwiftNIO takes (`sockaddr_un`).
    static let longestSocketPath = 103

    /// - Throws: `Failure.pathTooLong`. Without this check nobody could connect, and nobody would say why.
    static func check(_ socketPath: String) throws(Failure) {
        guard socketPath.utf8.count <= Self.longestSocketPath else { throw .pathTooLong(socketPath) }
    }

    private static func socketPath(in folder: String) -> String { "\(folder)/redis.sock" }

    /// Runs a server in a folder that outlives it, for as long as `body` does; it is killed when `body` ends, and gone
    /// when this returns.
    ///
    /// - Parameter words: all of redis-server's command line; a Sentinel is one too.
    /// - Throws: `Failure`, and what `body` throws.
    package nonisolated(nonsending) static func running<Result: Sendable>(
        in folder: String, words: [String], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        if let option = words.firstIndex(of: "--unixsocket"), option + 1 < words.count {
            try Self.check(words[option + 1])
        }
        // setpriv has the kernel end the server when we are gone, even when we are killed.
        let words = ["--pdeathsig", "KILL", "redis-server"] + words
        var platform = PlatformOptions()
        platform.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))]
        // Its own process group, so that the Ctrl-C meant for us does not end it before we have said goodbye.
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
                    // Read to the end: a server whose log nobody reads hangs once the pipe is full.
                    group.addTask { await Self.read(log, opening: continuation) }
                    // Before the group waits for the end of the log.
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

    /// Hands on the lines up to the one that says that it is ready, and reads the rest.
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
            // It was killed with its log half read.
        }
    }

    /// A mistake in the configuration takes as many: the line it is in, the option, the reason.
    private static let lastWordLines = 3

    private static func waitUntilReady(_ opening: AsyncStream<String>) async throws(Failure) {
        var lines: [String] = []
        for await line in opening {
            if Self.isReady(line) { return }
            if !line.isEmpty { lines.append(line) }
        }
        throw .ended(lastWords: lines.suffix(Self.lastWordLines).joined(separator: " "))
    }

    /// The last: a Sentinel's, which listens by then.
    private static func isReady(_ line: String) -> Bool {
        ["eady to accept connections", "Sentinel ID is "].contains { line.contains($0) }
    }
}
