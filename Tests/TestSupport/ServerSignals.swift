// Faults of servers: they freeze, die, and restart.

package import Embedded

private import FoundationEssentials

#if canImport(Glibc)
    private import Glibc
#elseif canImport(Musl)
    private import Musl
#else
    private import Darwin
#endif

extension RedisServer {
    /// Freezes it: until `thaw` it keeps its connections but does not respond.
    package func freeze() { _ = kill(self.processID, SIGSTOP) }
    package func thaw() { _ = kill(self.processID, SIGCONT) }
    /// Kills it without a shutdown.
    package func crash() { _ = kill(self.processID, SIGKILL) }

    /// Restarts after a crash: another server at the same socket file, while `body` runs.
    package func successor(options: [String] = [], _ body: () async throws -> Void) async throws {
        try await RedisServer.running(options: options) { successor in
            try FileManager.default.removeItem(atPath: self.socketPath)
            try FileManager.default.createSymbolicLink(
                atPath: self.socketPath, withDestinationPath: successor.socketPath)
            try await body()
        }
    }
}
