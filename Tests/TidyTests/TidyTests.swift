import Foundation
import Testing

/// Style rules that tests enforce.
@Suite struct TidyTests {
    @Test func `no file is over 400 lines`() throws {
        let files = try ["Sources", "Tests"].flatMap { try Project.files($0, ".swift") } + Project.files("lua", ".lua")
        for file in files {
            #expect(file.lines.count <= 400, "\(file.path) has \(file.lines.count) lines: split it")
        }
    }

    /// Compilers write headers and modules into the current folder if they are called without an output path.
    @Test func `the top level contains only the folders and files that belong there`() throws {
        let known = Set(
            ["Package.swift", "Package.resolved", "package.json", "Makefile", "LICENSE"]
                + ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY"].map { "\($0).md" }
                + ["Sources", "Tests", "lua", "deploy", "benchmarks"])
        let names = try FileManager.default.contentsOfDirectory(atPath: Project.root.path)
        let others = names.filter { !$0.hasPrefix(".") && !known.contains($0) }.sorted()
        #expect(others.isEmpty, "\(others)")
    }

    @Test func `no type is named Manager, Helper, Utils or Common`() throws {
        let words = ["Manager", "Helper", "Utils", "Common"]
        let declaration = /\b(class|struct|enum|actor|protocol)\s+\w*(Manager|Helper|Utils|Common)\b/
        // Apple chose the names of the stubs.
        for file in try ["Sources", "Tests"].flatMap({ try Project.files($0, ".swift") })
        where !file.path.hasPrefix("Sources/Client/Tests/Apple/") && words.contains(where: file.contains) {
            #expect(file.text.firstMatch(of: declaration) == nil, "\(file.path): name the type after what it does")
        }
    }

    @Test func `every source file starts with a comment that explains its purpose`() throws {
        for file in try Project.files("Sources", ".swift") {
            let opening = file.lines.prefix { $0.hasPrefix("//") }.joined(separator: " ")
            #expect(opening.count > 30, "\(file.path): start with a comment that explains the purpose of the file")
        }
    }

    @Test func `Redis names are spelled in Keyspace and nowhere else`() throws {
        let name = /"[^"\n]*\b(job|rider|riders|request|home|ticket|signin|link|idempotency):[{\\]|"[^"\n ]*\)control"/
        let files = try Project.files("Sources", ".swift")
        #expect(files.first { $0.name == "Keyspace.swift" }?.text.firstMatch(of: name) != nil)
        for file in files where file.name != "Keyspace.swift" {
            #expect(file.text.firstMatch(of: name) == nil, "\(file.path): build Redis names in Keyspace")
        }
    }

    @Test func `no pattern subscriptions, no scripts built from strings`() throws {
        for file in try Project.files("Sources", ".swift") {
            #expect(!file.contains("PSUBSCRIBE"), "\(file.path): subscribe to exact channels")
            #expect(
                !file.contains("\"EVAL\"")
                    || ["RedisScript.swift", "HashSlot.swift", "InspectionAccess.swift"].contains(file.name)
                    || file.contains(".text(\"EVAL\")"))
        }
    }

    @Test func `JSON documents of REST are encoded, never concatenated`() throws {
        let files = try Project.files("Sources/REST", ".swift")
        #expect(files.count > 20)
        for file in files { #expect(!file.text.contains(##"#"{""##), "\(file.path): encode a value instead") }
    }

    @Test func `no thrown value is force-unwrapped, and every unchecked Sendable states its reason`() throws {
        for file in try Project.files("Sources", ".swift") {
            #expect(file.text.firstMatch(of: /\bthrow \w+!/) == nil, "\(file.path) throws a force-unwrapped value")
            guard file.contains(": @unchecked Sendable") else { continue }
            #expect(
                file.text.contains("/// `@unchecked Sendable`: "),
                "\(file.path): explain `@unchecked Sendable` in its doc comment")
        }
    }

    @Test func `the version is spelled only once in the sources`() throws {
        let version = try #require(
            try Project.file("Sources/EnrouteWire/EnrouteVersion.swift").text.firstMatch(of: /current = "([0-9.]+)"/)
        ).1
        for file in try Project.files("Sources", ".swift") where file.name != "EnrouteVersion.swift" {
            #expect(!file.contains("\"\(version)\""), "\(file.path): use EnrouteVersion.current")
        }
    }

    // MARK: Hot path

    /// The files of the stations listed in HotPath; HotPathTests sends a location through them.
    private static func stations() throws -> [String] {
        try Project.file("Sources/HotPath/HotPath.swift").text.matches(of: /case (\w+) = "([^"]+)"/).map { match in
            let name = match.2.split(separator: "/").last.map { $0.split(separator: ".")[0].filter { $0 != "_" } }
            #expect(name?.lowercased() == match.1.lowercased(), "\(match.1) is not named after \(match.2)")
            return String(match.2)
        }
    }

    @Test func `each station of the hot path names its step and its neighbors`() throws {
        let stations = try Self.stations()
        #expect(stations.count >= 10)
        for (index, path) in stations.enumerated() {
            let opening = try Project.file(path).lines.prefix(16).joined(separator: "\n")
            #expect(opening.contains("Step \(index + 1) of \(stations.count) of the hot path. Before: "), "\(path)")
            for (word, neighbour) in [("Before", index - 1), ("Next", index + 1)]
            where stations.indices.contains(neighbour) {
                let name = stations[neighbour].replacing("Sources/", with: "")
                #expect(opening.contains("\(word): \(name)"), "\(path) does not name \(name)")
            }
        }
    }

    @Test func `the stations of the hot path never await`() throws {
        for path in try Self.stations() where path.hasSuffix(".swift") {
            let code = try Project.file(path).lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            #expect(
                !code.contains { $0.contains("await ") || $0.contains(" async ") || $0.contains("Task {") },
                "\(path) awaits")
        }
    }

    // MARK: Lua

    @Test func `every script documents its keys, arguments, errors, results and cost, and is embedded`() throws {
        let scripts = try Project.files("lua", ".lua")
        #expect(scripts.count == 53)
        let embedded = try Project.file("Sources/LiveState/Scripts.swift").text
        for script in scripts {
            let name = String(script.name.dropLast(4))
            let header = script.lines.dropFirst().prefix { $0.hasPrefix("--") }.joined(separator: "\n")
            #expect(script.lines.first?.wholeMatch(of: /#!lua( flags=[a-z,-]+)?/) != nil, "\(name)")
            #expect(header.hasPrefix("-- \(name): "), "\(name)")
            for title in ["Role ", "KEYS[1]", "Errors   'ERR \(name): ", "Returns ", "Cost "] {
                #expect(header.contains("-- \(title)"), "\(name) lacks \(title)")
            }
            for (title, count) in [("KEYS", script.count(of: "KEYS")), ("ARGV", script.count(of: "ARGV"))] {
                let described = (0...count + 1).filter { header.contains("\(title)[\($0)]") }
                #expect(count == 0 ? described.isEmpty : described.last == count, "\(name) \(title)")
            }
            #expect(embedded.contains("Self.script(\"\(name)\")"), "\(name)")
        }
    }
}

extension Project.File {
    /// The number of keys or arguments that the script requires: `#KEYS ~= n`.
    fileprivate func count(of list: String) -> Int {
        self.text.firstMatch(of: try! Regex("#\(list) ~= (\\d+)")).flatMap { Int($0.output[1].substring ?? "") } ?? 0
    }
}
