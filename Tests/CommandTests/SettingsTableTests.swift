import EnrouteWire
import Foundation
import Testing

@testable import enroute

/// The table of settings against the code that reads them, the documents generated from it, and the tests.
@Suite struct SettingsTableTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }

    private static func files(in folder: String, _ endings: [String]) throws -> [String] {
        let paths = FileManager.default.enumerator(atPath: self.root.appending(path: folder).path)?.allObjects ?? []
        let found = paths.compactMap { $0 as? String }.filter { path in endings.contains { path.hasSuffix($0) } }
        try #require(!found.isEmpty, "\(folder)")
        return found.map { "\(folder)/\($0)" }
    }

    private static let names = SettingsTable.all.map(\.name)

    @Test func `every name is declared once`() {
        #expect(Set(Self.names).count == Self.names.count)
        #expect(Self.names.count > 100)
    }

    @Test func `code reads every declared setting, and no other`() throws {
        var read = Set<String>()
        for path in try Self.files(in: "Sources/enroute", [".swift"]) where !path.contains("/Settings/") {
            for match in try Self.text(path).matches(of: /"((ENROUTE|AWS)_[A-Z_]*[A-Z])"/) {
                read.insert(String(match.1))
            }
        }
        // The code composes these names.
        read.formUnion(SettingsTable.all.compactMap(\.fileSetting?.name))
        read.formUnion(["LIVE", "LEDGER"].map { "ENROUTE_REDIS_\($0)_ADMIN_URL" })
        read.formUnion(LimitSetting.all.map(\.setting.name))
        #expect(Set(Self.names).subtracting(read).isEmpty, "declared, but not read")
        #expect(read.subtracting(Self.names).isEmpty, "read, but not declared")
    }

    /// Whether the text has the word, and not only as the start of a longer one. Much faster than `String.contains`.
    private static func contains(_ word: String, in text: Data) -> Bool {
        var rest = text[...]
        while let found = rest.range(of: Data(word.utf8)) {
            rest = text[found.upperBound...]
            let next = rest.first ?? 0
            if next != UInt8(ascii: "_"), !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(next) { return true }
        }
        return false
    }

    @Test func `a test names every setting`() throws {
        var tests = Data()
        for path in try Self.files(in: "Tests", [".swift", ".py", ".mjs", "run"]) {
            tests += try Data(contentsOf: Self.root.appending(path: path))
        }
        // SecretFileTests sets every one of these.
        let files = Set(SettingsTable.all.compactMap(\.fileSetting?.name))
        for name in Self.names where !name.hasPrefix(LimitSetting.prefix) && !files.contains(name) {
            let short = "\"\(name.dropFirst(SettingsTable.prefix.count))\""
            #expect(Self.contains(name, in: tests) || Self.contains(short, in: tests), "no test names \(name)")
        }
    }

    @Test func `only the process names environment variables in its errors`() throws {
        let sources = try Self.files(in: "Sources", [".swift"])
        // The client's tests start a gateway, so they name variables too.
        for path in sources where !path.hasPrefix("Sources/enroute/") && !path.hasPrefix("Sources/Client/Tests/") {
            let text = try Self.text(path)
            // Most files name none, and regular expressions are slow.
            guard Data(text.utf8).range(of: Data("ENROUTE_".utf8)) != nil else { continue }
            let lines = text.split(separator: "\n").filter { !$0.contains("//") }
            let named = lines.filter { $0.contains(/ENROUTE_[A-Z]+_/) && !$0.contains(/_H\b/) }
            #expect(named.isEmpty, "\(path): \(named)")
        }
    }

    @Test func `defaults are allowed values`() throws {
        for setting in SettingsTable.all {
            guard let value = setting.fallback.text else { continue }
            switch setting.type {
            case .integer(let range, _): #expect(Int(value).map(range.contains) == true, "\(setting.name)=\(value)")
            case .choice(let choices): #expect(choices.contains(value), "\(setting.name)=\(value)")
            case .text, .list: #expect(!value.isEmpty, "\(setting.name)")
            }
        }
    }

    @Test func `a former name is refused with the current name`() throws {
        for (former, current) in FormerSettings.currentNames {
            #expect(SettingsTable.setting(former) == nil, "\(former)")
            #expect(SettingsTable.setting(current) != nil, "\(current)")
        }
        let faults = UnknownSettings.faults(environment: ["ENROUTE_LOOPS": "1"], file: nil)
        #expect(faults == ["ENROUTE_LOOPS is now called ENROUTE_EVENT_LOOPS."])
    }

    // MARK: documents

    @Test(arguments: [
        ("deploy/configuration.md", SettingsReference.page, "--reference"),
        ("deploy/enroute.env.example", SettingsReference.example, "--example"),
    ])
    func `a generated document is up to date`(path: String, expected: String, option: String) throws {
        let text = try Self.text(path)
        #expect(text == expected, "run: enroute config \(option) > \(path)")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test func `the example file sets nothing, and sets every setting once its comments are removed`() throws {
        #expect(try SettingsFile(SettingsReference.example).settings.isEmpty)
        let lines = SettingsReference.example.split(separator: "\n").filter { $0.contains(/^#[A-Z]/) }
        let settings = try SettingsFile(lines.map { $0.dropFirst() }.joined(separator: "\n")).settings
        #expect(settings.map(\.name) == Self.names)
    }

    @Test func `help for serve lists its settings within 80 columns`() async throws {
        let help = try await CommandTests.run(["serve", "--help"], environment: ["COLUMNS": "80"]).output
        for setting in SettingsTable.all where setting.commands.contains("serve") {
            #expect(help.contains("  \(setting.name)"), "\(setting.name)")
        }
        #expect(help.contains("LISTENER:") && help.contains("  ENROUTE_LISTEN_PORT=8443\n"))
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(try await !CommandTests.run(["check", "--help"]).output.contains("ENROUTE_LISTEN_PORT"))
    }
}
