// A folder of one's own under the temporary one: what a server or a certificate is given to write into, and what is
// gone afterwards with everything in it.

private import FoundationEssentials

/// A folder that only the owner may enter, there for as long as a body of code runs.
package enum TemporaryFolder {
    /// - Parameter name: what its name begins with. Short: the path of a unix socket in it has at most 107 bytes.
    /// - Throws: what creating it throws, and what `body` throws.
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
