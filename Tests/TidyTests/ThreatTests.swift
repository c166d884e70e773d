import Foundation
import Testing

/// SECURITY.md is kept true, and what can be shown by reading the sources is shown so.
@Suite struct ThreatTests {
    /// The rows of the threats.
    private static let rows =
        ["S1", "S2", "S3", "S4", "S5", "S6", "T1", "T2", "T3", "T4", "R1", "I1", "I2", "I3", "I4", "I5", "I6"]
        + ["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "E1"]

    /// Names of all tests that are sentences.
    private static func tests() throws -> [String] {
        let name = /func `([^`]+)`/
        return try Project.files("Tests", ".swift").flatMap { file in
            file.text.matches(of: name).map { String($0.1) }
        }
    }

    @Test func `every row of the threats has a test whose name begins with its id`() throws {
        let tests = try Self.tests()
        for row in Self.rows {
            #expect(tests.contains { $0.hasPrefix("\(row): ") }, "\(row) has no test")
        }
    }

    @Test func `every test that SECURITY.md names exists, in the row it shows`() throws {
        let (tests, file) = (Set(try Self.tests()), try Project.file("SECURITY.md"))
        let rows = file.lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| row ") }
        #expect(rows.count >= 21)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let names = cells[2].matches(of: /`([^`]+)`/).map { String($0.1) }
            #expect(!names.isEmpty && Self.rows.contains(cells[0]), "\(row)")
            for name in names { #expect(tests.contains(name) && name.hasPrefix("\(cells[0]): "), "\(name)") }
        }
    }

    @Test func `T4: no script is built from strings`() throws {
        let constant = /package static let \w+ = Self\.script\("([a-z_]+)"\)/
        // Without a backslash nothing is filled in.
        let literal = /RedisScript\(\s*name: "[a-z_]+",\s*source: Array\(\s*"""[^\\]*?"""/
        var embedded: [String] = []
        for file in try Project.files("Sources", ".swift") {
            let all = file.text.matches(of: /RedisScript\(/).count
            // One place makes scripts of the embedded files, each of which is named there.
            let isScripts = file.path == "Sources/LiveState/Scripts.swift"
            #expect(
                all == file.text.matches(of: literal).count + (isScripts ? 1 : 0),
                "\(file.path) makes a script that is no constant")
            if isScripts { embedded += file.text.matches(of: constant).map { String($0.1) } }
        }
        let scripts = try Project.files("lua", ".lua")
        let names = scripts.map { String($0.name.dropLast(4)) }
        #expect(Set(names).isSubset(of: embedded))
        for script in scripts {
            // Nothing is compiled at run time, and which command is called is a constant.
            #expect(
                script.text.firstMatch(of: /\b(loadstring|load|dofile|loadfile|setfenv)\s*\(/) == nil, "\(script.path)")
            let calls = script.text.matches(of: /redis\.p?call\(\s*(.)/)
            #expect(calls.allSatisfy { $0.1 == "'" || $0.1 == "\"" }, "\(script.path)")
        }
    }

    @Test func `T3: no source and no access list subscribes by a pattern`() throws {
        let files = try Project.files("Sources", ".swift") + Project.files("lua", ".lua")
        // Which asks whether a user may what none should.
        for file in files where file.name != "InspectionAccess.swift" {
            #expect(!file.text.uppercased().contains("PSUBSCRIBE"), "\(file.path)")
        }
        for list in try Project.files("deploy/redis", ".acl") {
            for user in list.lines where user.hasPrefix("user enroute ") {
                #expect(!user.lowercased().contains("psubscribe"), "\(list.path)")
            }
        }
    }
}
