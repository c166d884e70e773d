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

        package var description: String {
            switch self {
            case .notInstalled(let reason):
                "redis-server could not be started: \(reason). Install it: apt-get install redis-server."
            case .ended(let lastWords): "redis-server ended before it was ready: \(lastWords)"
            }
        }
    }

    /// Runs a server for as long as `body` does.
    ///
    /// - Parameter options: further words of redis-server's command line, such as `["--maxmemory", "64mb"]`.
    /// - Throws: `Failure`, and what `body` throws.
    package nonisolated(nonsending) static func running<Result: Sendable>(
        options: [String] = [], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "enroute-redis-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let socketPath = folder.appending(path: "redis.sock").path
        // setpriv has the kernel end the server when we are gone, even when we are killed.
        let words =
            [
                "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", socketPath, "--save", "",
                "--appendonly", "no", "--dir", folder.path, "--pidfile", folder.appending(path: "redis.pid").path,
                "--loglevel", "notice",
            ] + options
        var platform = PlatformOptions()
        platform.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))]
        // Its own process group, so that the Ctrl-C meant for us does not end it before we have said goodbye.
        platform.processGroupID = 0
        do {
            let outcome = try await Subprocess.run(
                .name("setpriv"), arguments: Arguments(words), platformOptions: platform, input: .none,
                output: .sequence, error: .combinedWithOutput
            ) { execution in
                var lines = execution.standardOutput.strings().makeAsyncIterator()
                var lastWords = ""
                while let line = try await lines.next() {
                    lastWords = line
                    if line.contains("ready to accept connections") || line.contains("Ready to accept connections") {
                        break
                    }
                }
                let server = RedisServer(
                    socketPath: socketPath, processID: execution.processIdentifier.value)
                guard FileManager.default.fileExists(atPath: socketPath) else {
                    throw Failure.ended(lastWords: lastWords)
                }
                let result = try await body(server)
                try? execution.send(signal: .kill)
                return result
            }
            return outcome.closureResult
        } catch let error as SubprocessError {
            throw Failure.notInstalled("\(error)")
        }
    }
}
