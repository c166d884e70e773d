// What happens to servers: they hang, they die, they are started again.

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
    /// It keeps its connections and says nothing until `thaw`.
    package func freeze() { _ = kill(self.processID, SIGSTOP) }
    package func thaw() { _ = kill(self.processID, SIGCONT) }
    /// It is gone without a goodbye.
    package func crash() { _ = kill(self.processID, SIGKILL) }

    /// After a crash: another server, reached at the same socket file, for as long as `body` runs.
    package func successor(options: [String] = [], _ body: () async throws -> Void) async throws {
        try await RedisServer.running(options: options) { successor in
            try FileManager.default.removeItem(atPath: self.socketPath)
            try FileManager.default.createSymbolicLink(
                atPath: self.socketPath, withDestinationPath: successor.socketPath)
            try await body()
        }
    }
}
