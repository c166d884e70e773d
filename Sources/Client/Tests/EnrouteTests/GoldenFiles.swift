// Reads the golden files that the tests of the gateway and of enroute.js read too.

import Foundation

/// The golden files of the main repository, which the gateway's tests and those of enroute.js read too.
enum GoldenFiles {
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../..").standardized

    /// A mirror of this package has no golden files; the main repository's CI runs with them.
    static let areHere = FileManager.default.fileExists(atPath: Self.folder("client").path)

    private static func folder(_ direction: String) -> URL {
        Self.repository.appending(path: "Tests/EnrouteWireTests/Golden/\(direction)")
    }

    /// The lines of each kind of message.
    static func lines(_ direction: String) throws -> [String: [String]] {
        var kinds: [String: [String]] = [:]
        for file in try FileManager.default.contentsOfDirectory(
            at: Self.folder(direction), includingPropertiesForKeys: nil)
        where file.pathExtension == "jsonl" {
            let text = try String(contentsOf: file, encoding: .utf8)
            kinds[file.deletingPathExtension().lastPathComponent] = text.split(separator: "\n").map(String.init)
        }
        return kinds
    }

    static func first(_ kind: String) throws -> String {
        guard let line = try Self.lines("server")[kind]?.first else { throw CocoaError(.fileNoSuchFile) }
        return line
    }
}
