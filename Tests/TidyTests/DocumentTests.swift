import Foundation
import Testing

/// Documents name files and folders; these exist.
@Suite struct DocumentTests {
    /// All documents of the project, without those of installed packages.
    private static func documents() throws -> [Project.File] {
        let top = try ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map {
            try Project.file($0)
        }
        return try ["Sources", "Tests", "lua", "deploy"].reduce(top) { try $0 + Project.files($1, ".md") }
            + [Project.file("benchmarks/README.md")]
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Project.root.appending(path: path).path)
    }

    @Test func `ARCHITECTURE.md has at most 200 lines`() throws {
        #expect(try Project.file("ARCHITECTURE.md").lines.count <= 200)
    }

    @Test func `README.md has at most 150 lines`() throws {
        #expect(try Project.file("README.md").lines.count <= 151)
    }

    /// Checks paths from the top of the project, and `Target/Name`, which may omit folders in between and the extension.
    @Test func `every file named in ARCHITECTURE.md, CONTRIBUTING.md or a target's README exists`() throws {
        let all = try FileManager.default.subpathsOfDirectory(atPath: Project.root.appending(path: "Sources").path)
        let targets = Set(
            try FileManager.default.contentsOfDirectory(atPath: Project.root.appending(path: "Sources").path))
        var named = 0
        for document in try Self.documents() where document.saysWhereCodeIs {
            for match in document.text.matches(of: /`([\w.-]+(?:\/[\w.-]+)+)`/) {
                let path = String(match.1)
                let parts = path.split(separator: "/").map(String.init)
                named += 1
                if ["Sources", "Tests", "lua", "deploy", "benchmarks"].contains(parts[0]) {
                    #expect(Self.exists(path), "\(document.path) names \(path), which does not exist")
                } else if targets.contains(parts[0]), let name = parts.last {
                    let found = all.contains { other in
                        guard other.hasPrefix(parts[0] + "/"), let last = other.split(separator: "/").last else {
                            return false
                        }
                        return last == name || last.hasPrefix(name + ".")
                    }
                    #expect(found, "\(document.path) names \(path), which does not exist")
                }
            }
        }
        #expect(named > 50)
    }

    @Test func `each decision record has a date, context, decision, measurements and alternatives`() throws {
        let records = try Project.files("Sources", ".md").filter { $0.path.contains("/decisions/") }
        #expect(records.count >= 15)
        for record in records {
            #expect(record.lines.first?.hasPrefix("# ") == true, "\(record.path)")
            #expect(record.text.firstMatch(of: /(?m)^20\d\d-\d\d-\d\d\b/) != nil, "\(record.path) has no date")
            let titles = record.lines.filter { $0.hasPrefix("## ") }
            #expect(
                titles == ["## Context", "## Decision", "## Measurements", "## Alternatives"]
                    || titles.starts(with: ["## Context", "## Decision", "## Measurements", "## Alternatives"]),
                "\(record.path)")
        }
    }

    /// SwiftPM warns about files of a target that are neither sources nor excluded.
    @Test func `the manifest excludes READMEs, guides and folders of decisions`() throws {
        let manifest = try Project.file("Package.swift").text
        let list = try #require(manifest.firstMatch(of: /let notSources = \[([^\]]+)\]/)).output.1
        let excluded = Set(list.matches(of: /"([^"]+)"/).map { String($0.1) })
        let sources = Project.root.appending(path: "Sources")
        for target in try FileManager.default.contentsOfDirectory(atPath: sources.path) {
            let names = try FileManager.default.contentsOfDirectory(atPath: sources.appending(path: target).path)
            for name in names where name.hasSuffix(".md") || name == "decisions" {
                #expect(excluded.contains(name), "Sources/\(target)/\(name)")
            }
        }
    }

    @Test func `the answers to ten newcomers' questions name existing files`() throws {
        let text = try Project.file("CONTRIBUTING.md").text
        let rows = text.matches(of: /(?m)^- \*\*(Where (?s:.+?)\?)\*\* ((?:.+(?:\n  )?)+)$/)
        #expect(rows.count == 10)
        for row in rows {
            let files = row.2.matches(of: /`((?:Sources|lua|Tests)\/[^`]+)`/).map { String($0.1) }
            #expect(!files.isEmpty, "\(row.1)")
            for file in files { #expect(Self.exists(file), "\(row.1): \(file)") }
        }
    }
}

extension Project.File {
    fileprivate var saysWhereCodeIs: Bool {
        ["ARCHITECTURE.md", "CONTRIBUTING.md"].contains(self.path)
            || self.path.hasPrefix("Sources/") && (self.name == "README.md" || self.path.contains("/decisions/"))
    }
}
