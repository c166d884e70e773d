import Embedded
import Foundation
import TestSupport
import Testing

@testable import enroute

/// Secret values from files that `<name>_FILE` specifies.
@Suite struct SecretFileTests {
    private static let secrets = SettingsTable.all.filter { $0.fileSetting != nil }

    private static func sources(_ environment: [String: String]) -> SettingSources {
        SettingSources(environment: environment)
    }

    @Test func `every setting that may contain a secret can come from a file, and no other`() {
        for setting in SettingsTable.all {
            let isSecret = setting.secrecy != .visible
            #expect((SettingsTable.setting(setting.name + "_FILE")?.summary.contains("value of") ?? false) == isSecret)
        }
        let names = Self.secrets.map(\.name)
        for name in [
            "ENROUTE_REDIS_LIVE_URL", "ENROUTE_REDIS_LEDGER_URL", "ENROUTE_REDIS_LIVE_ADMIN_URL",
            "ENROUTE_REDIS_LEDGER_ADMIN_URL", "ENROUTE_TOKEN_SECRET", "AWS_SECRET_ACCESS_KEY", "ENROUTE_TILES_URL",
        ] {
            #expect(names.contains(name), "\(name)")
        }
    }

    @Test(arguments: secrets.map(\.name))
    func `the value is the content of the file without white space at its ends`(name: String) async throws {
        try await TemporaryFolder.holding("enroute-secret") { folder in
            let file = "\(folder)/value"
            for content in ["redis://u:hunter2@h", "redis://u:hunter2@h\n", " redis://u:hunter2@h\r\n\n"] {
                try content.write(toFile: file, atomically: true, encoding: .utf8)
                let sources = Self.sources([name + "_FILE": file])
                #expect(sources.text(name) == "redis://u:hunter2@h" && sources.fileFaults(for: nil).isEmpty)
                #expect(sources.origin(of: name) == .content(path: file))
                let effective = EffectiveConfiguration(ProcessConfiguration(sources))
                for text in [effective.text, effective.environmentFile, try effective.json(problems: [])] {
                    #expect(!text.contains("hunter2") && text.contains(file))
                }
                // The env format can be read again: it sets the path of the file, and contains the value only in a comment.
                let values = try SettingsFile(effective.environmentFile).values
                #expect(values == [name + "_FILE": file])
            }
        }
    }

    @Test(arguments: secrets.map(\.name))
    func `a file that cannot be used is an error that names the setting and the file, and not the content`(
        name: String
    ) async throws {
        try await TemporaryFolder.holding("enroute-secret") { folder in
            let file = "\(folder)/value"
            func fault(_ content: Data?) throws -> String {
                try? FileManager.default.removeItem(atPath: file)
                if let content { try content.write(to: URL(filePath: file)) }
                let sources = Self.sources([name + "_FILE": file])
                #expect(sources.text(name) == nil)
                return try #require(sources.fileFaults(for: nil).first)
            }
            let rows: [(Data?, String)] = [
                (nil, "cannot be read"), (Data("\n".utf8), "is empty"),
                (Data("hunter2\nhunter2".utf8), "a single line"),
                (Data([0x68, 0, 0x69]), "a single line"), (Data([0xFF, 0xFE]), "not UTF-8"),
                (Data(repeating: 0x61, count: SecretFile.maxBytes + 1), "at most 65536 bytes"),
            ]
            for (content, reason) in rows {
                let text = try fault(content)
                #expect(text.hasPrefix("\(name)_FILE names \(file), which ") && text.contains(reason), "\(text)")
                #expect(!text.contains("hunter2"))
            }
            #expect(
                Self.sources([name + "_FILE": folder]).fileFaults(for: nil).first?.contains("cannot be read") == true)
        }
    }

    @Test(arguments: secrets.map(\.name))
    func `a value and a file for it are a contradiction; an empty one counts as not set`(name: String) async throws {
        try await TemporaryFolder.holding("enroute-secret") { folder in
            let file = "\(folder)/value"
            try "b".write(toFile: file, atomically: true, encoding: .utf8)
            let both = Self.sources([name: "a", name + "_FILE": file])
            #expect(
                both.fileFaults(for: nil) == [
                    "\(name) and \(name)_FILE are both set. Remove one of them, or set it to nothing."
                ])
            #expect(Self.sources([name: "", name + "_FILE": file]).text(name) == "b")
            let value = Self.sources([name: "a", name + "_FILE": ""])
            #expect(value.text(name) == "a" && value.fileFaults(for: nil).isEmpty)
        }
    }

    @Test func `a command does not read files that it does not need`() async throws {
        let settings = [
            "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_ETA_AZURE_KEY_FILE": "/no.txt",
        ]
        let token = try await CommandTests.run(["token", "anna", "--role", "service"], environment: settings)
        #expect(token.code == 0, "\(token)")
        for command in [["audit"], ["explain", "job-1"]] {
            let outcome = try await CommandTests.run(command, environment: settings)
            #expect(
                outcome.all.contains("ENROUTE_REDIS_LIVE_URL is not set") && !outcome.all.contains("/no.txt"),
                "\(outcome)")
        }
        for command in ["serve", "check", "config"] {
            let outcome = try await CommandTests.run([command], environment: settings)
            #expect(
                outcome.code == 78 && outcome.all.contains("ENROUTE_ETA_AZURE_KEY_FILE names /no.txt"), "\(outcome)")
        }
    }

    @Test func `an unreadable file is reported once, not as a missing setting too`() async throws {
        let outcome = try await CommandTests.run(["config"], environment: ["ENROUTE_REDIS_LIVE_URL_FILE": "/no.txt"])
        #expect(outcome.code == 78, "\(outcome)")
        let lines = outcome.error.split(separator: "\n").filter { $0.contains("ENROUTE_REDIS_LIVE_URL") }
        #expect(lines.count == 1 && lines[0].contains("names /no.txt, which cannot be read"), "\(outcome.error)")
    }

    @Test func `a gateway connects to a Redis whose URL is a credential`() async throws {
        try await TemporaryFolder.holding("enroute-secret") { folder in
            try await RedisServer.running { redis in
                try (redis.url + "\n").write(toFile: "\(folder)/live", atomically: true, encoding: .utf8)
                let output = try await CommandTests.serve(
                    [
                        "ENROUTE_REDIS_LIVE_URL_FILE": "\(folder)/live", "ENROUTE_TLS": "off",
                        "ENROUTE_MODE": "development",
                        "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
                    ], until: ["enroute: listening"])
                #expect(output.contains("enroute: listening"), "\(output)")
            }
        }
    }
}
