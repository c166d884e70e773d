// The folder lua/ of the repository, found by searching upwards from this file.

import FoundationEssentials
import Testing

enum LuaFolder {
    /// The scripts: their names without `.lua`, and their sources.
    static func scripts() throws -> [(name: String, text: String)] {
        let folder = try self.path()
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().filter { $0.hasSuffix(".lua") }.map
        {
            (String($0.dropLast(4)), try self.text(folder + "/" + $0))
        }
    }

    static func readme() throws -> String { try self.text(self.path() + "/README.md") }

    /// A command of the README and the comment above it.
    struct Command {
        var comment: String
        var line: String
    }

    /// The commands in the README's code blocks of one language, in order. A backslash at the end of a line continues it.
    ///
    /// - Parameter heading: only blocks below this heading, up to the next one.
    static func commands(_ language: String, below heading: String? = nil) throws -> [Command] {
        var (commands, comment, pending) = ([Command](), "", "")
        var (isInBlock, isBelow) = (false, heading == nil)
        for line in try self.readme().split(separator: "\n", omittingEmptySubsequences: false).map({ String($0) }) {
            if line.hasPrefix("```") {
                isInBlock = line == "```" + language && isBelow
            } else if !isInBlock {
                if let heading, line.hasPrefix("#") { isBelow = line.drop { $0 == "#" || $0 == " " } == heading }
            } else if line.hasPrefix("# ") {
                comment = String(line.dropFirst(2))
            } else if line.hasSuffix("\\") {
                pending += line.dropLast().drop { $0 == " " }
            } else if !line.isEmpty {
                commands.append(Command(comment: comment, line: pending + line.drop { $0 == " " }))
                pending = ""
            }
        }
        return commands
    }

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
