import Foundation
import Synchronization

/// The project's own files, as text.
enum Project {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct File {
        /// From the project root.
        let path: String
        let text: String
        var lines: [Substring] { self.text.split(separator: "\n", omittingEmptySubsequences: false) }
        var imports: [String] {
            self.lines.filter { $0.hasPrefix("import ") || $0.contains(" import ") && !$0.hasPrefix("//") }
                .compactMap { $0.split(separator: " ").last.map(String.init) }
        }
        /// Whether the text contains the word, even as a part of another one. Much faster than a regular expression.
        func contains(_ word: String) -> Bool { Data(self.text.utf8).range(of: Data(word.utf8)) != nil }
        var name: String { self.path.split(separator: "/").last.map(String.init) ?? self.path }
    }

    /// Why a rule could not be checked.
    struct NothingFound: Error, CustomStringConvertible {
        let description: String
    }

    /// Files below `folder` that end in `suffix`, without those in hidden folders such as `.build`.
    ///
    /// - Throws: if there is no such file, because every rule for files would hold.
    static func files(_ folder: String, _ suffix: String) throws -> [File] {
        let top = self.root.appending(path: folder)
        let paths = (FileManager.default.enumerator(atPath: top.path)?.compactMap { $0 as? String } ?? []).filter {
            $0.hasSuffix(suffix) && !$0.hasPrefix(".") && !$0.contains("/.")
        }
        guard !paths.isEmpty else { throw NothingFound(description: "\(folder) has no file *\(suffix)") }
        return try paths.sorted().map { try self.file("\(folder)/\($0)") }
    }

    /// All text files that `isIncluded`, without hidden folders, installed packages and results of benchmarks.
    static func texts(_ isIncluded: (String) -> Bool) throws -> [File] {
        let skipped: Set = ["node_modules", "results", "__pycache__"]
        guard let found = FileManager.default.enumerator(atPath: self.root.path) else {
            throw NothingFound(description: "\(self.root.path) cannot be read")
        }
        var paths: [String] = []
        while let path = found.nextObject() as? String {
            let name = path.split(separator: "/").last ?? ""
            if name.hasPrefix(".") || skipped.contains(String(name)) {
                found.skipDescendants()
            } else if isIncluded(path), found.fileAttributes?[.type] as? FileAttributeType == .typeRegular {
                paths.append(path)
            }
        }
        return try paths.sorted().map { try self.file($0) }
    }

    static func file(_ path: String) throws -> File {
        if let read = self.read.withLock({ $0[path] }) { return read }
        let file = File(path: path, text: try String(contentsOf: self.root.appending(path: path), encoding: .utf8))
        self.read.withLock { $0[path] = file }
        return file
    }

    /// The files that tests have read; most of them are read by several.
    private static let read = Mutex<[String: File]>([:])
}
