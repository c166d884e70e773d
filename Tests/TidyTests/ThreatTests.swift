import Foundation
import Testing

/// Checks deploy/threats.md against the tests, and proves the threats that can be ruled out by reading the sources.
@Suite struct ThreatTests {
    /// The ids of all threats.
    private static let rows =
        [
            "S1", "S2", "S3", "S4", "S5", "S6", "T1", "T2", "T3", "T4", "R1", "I1", "I2", "I3", "I4", "I5", "I6", "I7",
            "I8",
        ]
        + ["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "E1"]

    /// The names of all tests that are sentences.
    private static func tests() throws -> [String] {
        let name = /func `([^`]+)`/
        return try Project.files("Tests", ".swift").flatMap { file in
            file.text.matches(of: name).map { String($0.1) }
        }
    }

    @Test func `every threat has a test whose name begins with its id`() throws {
        let tests = try Self.tests()
        for row in Self.rows {
            #expect(tests.contains { $0.hasPrefix("\(row): ") }, "\(row) has no test")
        }
    }

    @Test func `every threat is described with suites that contain its tests`() throws {
        let suites = Dictionary(
            grouping: try Project.files("Tests", ".swift"), by: { $0.name.dropLast(".swift".count) })
        let document = try Project.file("deploy/threats.md").text
        let threats = document.matches(of: /(?m)^## ([A-Z]\d): .+\n\n(?s:.+?)\n\nTests: ((?s:.+?))\.$/)
        #expect(threats.map { String($0.1) } == Self.rows)
        for threat in threats {
            let named = threat.2.matches(of: /`(\w+)`/).map(\.1)
            #expect(!named.isEmpty, "\(threat.1) names no suite")
            for suite in named {
                let texts = (suites[suite] ?? []).map(\.text)
                #expect(texts.contains { $0.contains("func `\(threat.1): ") }, "\(suite) has no test of \(threat.1)")
            }
        }
    }

    @Test func `T4: no script is built from strings`() throws {
        let constant = /package static let \w+ = Self\.script\("([a-z_]+)"\)/
        // A literal without a backslash contains no interpolation.
        let literal = /RedisScript\(\s*name: "[a-z_]+",\s*source: Array\(\s*"""[^\\]*?"""/
        var embedded: [String] = []
        for file in try Project.files("Sources", ".swift") {
            guard file.contains("RedisScript(") else { continue }
            let all = file.text.matches(of: /RedisScript\(/).count
            // Only this file creates scripts from the embedded sources, and it names each of them.
            let isScripts = file.path == "Sources/LiveState/Scripts.swift"
            #expect(
                all == file.text.matches(of: literal).count + (isScripts ? 1 : 0),
                "\(file.path) creates a script that is not a constant")
            if isScripts { embedded += file.text.matches(of: constant).map { String($0.1) } }
        }
        let scripts = try Project.files("lua", ".lua")
        let names = scripts.map { String($0.name.dropLast(4)) }
        #expect(Set(names).isSubset(of: embedded))
        for script in scripts {
            // No code is compiled at run time, and the name of each command is a literal.
            #expect(
                script.text.firstMatch(of: /\b(loadstring|load|dofile|loadfile|setfenv)\s*\(/) == nil, "\(script.path)")
            let calls = script.text.matches(of: /redis\.p?call\(\s*(.)/)
            #expect(calls.allSatisfy { $0.1 == "'" || $0.1 == "\"" }, "\(script.path)")
        }
    }

    @Test func `T3: no source and no ACL subscribes by a pattern`() throws {
        let files = try Project.files("Sources", ".swift") + Project.files("lua", ".lua")
        // InspectionAccess checks whether a user has permissions that no user should have, so it names the command.
        for file in files where file.name != "InspectionAccess.swift" {
            #expect(!file.text.uppercased().contains("PSUBSCRIBE"), "\(file.path)")
        }
        for list in try Project.files("deploy/redis", ".acl") {
            let users = list.lines.filter { $0.hasPrefix("user ") }
            #expect(users.contains { $0.hasPrefix("user enroute ") }, "\(list.path)")
            for user in users { #expect(!user.lowercased().contains("psubscribe"), "\(list.path)") }
        }
    }
}
