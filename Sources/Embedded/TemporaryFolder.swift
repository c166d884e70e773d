// A private folder in the system's temporary directory for the files of a server or a certificate, deleted with its content
// afterwards.

private import FoundationEssentials

/// Provides a folder that only the owner can enter while a body of code runs.
package enum TemporaryFolder {
    /// - Parameter name: prefix of the folder's name. Keep it short: a Unix socket's path has at most 107 bytes.
    /// - Throws: the error of creating the folder, or the error that `body` throws.
    package nonisolated(nonsending) static func holding<Result: Sendable>(
        _ name: String, _ body: (_ path: String) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder.path)
    }
}
