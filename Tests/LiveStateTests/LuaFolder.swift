// The folder lua/ as it lies in the repository, found from this file upwards.

import FoundationEssentials
import Testing

enum LuaFolder {
    /// Names without `.lua`, and texts.
    static func scripts() throws -> [(name: String, text: String)] {
        let folder = try self.path()
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().filter { $0.hasSuffix(".lua") }.map
        {
            (String($0.dropLast(4)), try self.text(folder + "/" + $0))
        }
    }

    static func readme() throws -> String { try self.text(self.path() + "/README.md") }

    private static func text(_ path: String) throws -> String {
        String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
    }

    private static func path(from file: String = #filePath) throws -> String {
        var folder = file[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            if FileManager.default.fileExists(atPath: folder + "/lua/create_job.lua") { return folder + "/lua" }
        }
        throw CocoaError(.fileNoSuchFile)
    }
}
