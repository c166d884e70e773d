import Foundation
import TestSupport
import Testing

@testable import enroute

/// `enroute config`: values and their origins, masked secrets, and everything that is wrong.
@Suite struct ConfigCommandTests {
    private static let lines = [
        "ENROUTE_REDIS_LIVE_URL=rediss://gateway:hunter2@redis.example:6379/3?ca=/etc/ca.pem", "ENROUTE_TLS=off",
        "ENROUTE_TOKEN_SECRET='a secret of at least thirty-two bytes'", "ENROUTE_LISTEN_PORT=9000",
        "ENROUTE_TILES_URL=https://tiles.example/{z}/{x}/{y}.png?key=hunter2",
        "ENROUTE_TILES_ATTRIBUTION=\"Map people # and others\"",
    ]

    private static func run(
        _ words: [String] = [], _ lines: [String] = lines, environment: [String: String] = [:],
        command: String = "config"
    ) async throws -> (outcome: CommandTests.Outcome, path: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID()).env")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        let outcome = try await CommandTests.run(
            [command, "--config", file.path] + words, environment: environment)
        return (outcome, file.path)
    }

    private struct Document: Decodable {
        struct Entry: Decodable {
            let name: String
            let value: String?
            let source: String
            let file: String?
            let line: Int?
        }

        let settings: [Entry]
        let problems: [String]
        let warnings: [String]
    }

    @Test func `by default there are as many event loops as cores that the process may use`() async throws {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let core = try #require(status.firstMatch(of: /Cpus_allowed_list:\s*(\d+)/)?.1)
        let outcome = try await CommandTests.run(
            ["--cpu-list", "\(core)", CommandTests.binary, "config", "--format", "json"], binary: "/usr/bin/taskset")
        let document = try JSONDecoder().decode(Document.self, from: Data(outcome.output.utf8))
        #expect(document.settings.first { $0.name == "ENROUTE_EVENT_LOOPS" }?.value == "1")
    }

    @Test(arguments: [
        ("Cpus_allowed:\tff,ffffffff\nCpus_allowed_list:\t0-39\n", 40), ("Cpus_allowed:\t00000005\n", 2),
        ("Threads:\t4\n", nil),
    ])
    func `the cores that a process may use are the bits of its CPU affinity`(status: String, cores: Int?) {
        #expect(UsableCores.affinity(in: status) == cores)
    }

    @Test func `each value has its source: the environment, a line of the file, or the default`() async throws {
        let (outcome, path) = try await Self.run(
            ["--format", "json"], environment: ["ENROUTE_LISTEN_PORT": "9001", "ENROUTE_LOG_LEVEL": "debug"])
        #expect(outcome.code == 0 && outcome.error.isEmpty, "\(outcome)")
        let document = try JSONDecoder().decode(Document.self, from: Data(outcome.output.utf8))
        #expect(document.settings.map(\.name) == SettingsTable.all.map(\.name) && document.problems.isEmpty)
        func entry(_ name: String) throws -> Document.Entry {
            try #require(document.settings.first { $0.name == name })
        }
        let port = try entry("ENROUTE_LISTEN_PORT")
        #expect(port.value == "9001" && port.source == "environment" && port.line == nil)
        let tls = try entry("ENROUTE_TLS")
        #expect(tls.value == "off" && tls.source == "file" && tls.file == path && tls.line == 2)
        let host = try entry("ENROUTE_LISTEN_HOST")
        #expect(host.value == "0.0.0.0" && host.source == "default")
        let pages = try entry("ENROUTE_PAGES_DIR")
        #expect(pages.value == nil && pages.source == "default")
    }

    @Test(arguments: ["text", "json", "env"])
    func `secrets, passwords and access keys are masked`(format: String) async throws {
        let environment = [
            "ENROUTE_ETA_AZURE_KEY": "hunter2", "ENROUTE_REPLAY_TOKEN": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter2",
            "ENROUTE_REDIS_LEDGER_URL": "redis+sentinel://:hunter2@a:1,b:2/m?sentinel_password=hunter2",
        ]
        let (outcome, _) = try await Self.run(["--format", format], environment: environment)
        #expect(outcome.code == 0, "\(outcome)")
        #expect(!outcome.all.contains("hunter2") && !outcome.all.contains("thirty-two"), "\(outcome)")
        #expect(outcome.output.contains("rediss://gateway:****@redis.example:6379/3?ca=/etc/ca.pem"), "\(outcome)")
        #expect(outcome.output.contains("redis+sentinel://:****@a:1,b:2/m?sentinel_password=****"), "\(outcome)")
    }

    @Test(arguments: [
        ("redis://h:1", "redis://h:1"), ("redis://u:p@h", "redis://u:****@h"), ("redis://token@h", "redis://****@h"),
        ("redis://u:p@q@h", "redis://u:****@h"), ("redis://u:p?q@h", "redis://u:****@h"),
        ("redis://u:p/q@h/0", "redis://u:****@h/0"), ("unix:/a.sock?database=3", "unix:/a.sock?database=3"),
        ("https://a.example/?key=p", "https://a.example/?key=****"),
        ("https://a.example/?p", "https://a.example/?****"),
        ("https://a.example/?z={z}&k=p", "https://a.example/?z={z}&k=****"), ("nonsense", "nonsense"),
        ("u:p@h", "u:****@h"),
    ])
    func `a URL is shown without its possibly secret parts`(url: String, shown: String) {
        #expect(SettingMask.url(url) == shown)
    }

    @Test func `the env format is a configuration file with the same values`() async throws {
        let (outcome, _) = try await Self.run(["--format", "env"])
        let values = try SettingsFile(outcome.output).values
        #expect(
            values == [
                "ENROUTE_TLS": "off", "ENROUTE_LISTEN_PORT": "9000",
                "ENROUTE_TILES_ATTRIBUTION": "Map people # and others",
            ], "\(outcome.output)")
    }

    @Test func `all mistakes are reported at once`() async throws {
        let wrong = [
            "ENROUTE_REDIS_LIVE_URL=http://x", "ENROUTE_LISTEN_PORT=99999", "ENROUTE_LISTEN_PORTT=1",
            "ENROUTE_LIMIT_QUEUE_BYTES=1", "ENROUTE_LIMIT_PING_INTERVAL_SECONDS=x", "ENROUTE_ORIGINS=https://a.example",
            "ENROUTE_PAGES_DIR=/nonexistent", "ENROUTE_ETA_CA_FILE=/nonexistent", "ENROUTE_TOKEN_SECRET=short",
        ]
        let (outcome, path) = try await Self.run([], wrong)
        #expect(outcome.code == 78)
        for reason in [
            "ENROUTE_REDIS_LIVE_URL: ", "ENROUTE_LISTEN_PORT is 99999; it must be a whole number from 0 to 65535.",
            "\(path), line 3: ENROUTE_LISTEN_PORTT is not a setting; did you mean ENROUTE_LISTEN_PORT?",
            "ENROUTE_LIMIT_QUEUE_BYTES is 1", "ENROUTE_LIMIT_PING_INTERVAL_SECONDS is x",
            "line 6: ENROUTE_ORIGINS is now called ENROUTE_LISTEN_ALLOWED_ORIGINS.",
            "ENROUTE_PAGES_DIR names /nonexistent", "ENROUTE_ETA_CA_FILE names /nonexistent", "ENROUTE_TOKEN_SECRET: ",
            "ENROUTE_TLS_CERTIFICATE_FILE is not set",
        ] {
            #expect(outcome.error.contains(reason), "\(reason)\n\(outcome.error)")
        }
        // Everything else is printed nevertheless.
        #expect(outcome.output.contains("ENROUTE_LISTEN_HOST") && outcome.output.contains("0.0.0.0"))
        let lines = outcome.error.split(separator: "\n")
        #expect(Set(lines).count == lines.count && lines.allSatisfy { $0.hasPrefix("enroute: ") }, "\(outcome.error)")
    }

    /// A value that no text or list allows, where it is restricted.
    private static let nonsense = "/nowhere ?,*"

    @Test(arguments: SettingsTable.all.filter { $0.type.isText && $0.commands.contains("serve") }.map(\.name))
    func `an invalid setting is reported even if another one is invalid too`(name: String) async {
        let needed = [
            "ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1", "ENROUTE_TLS": "off",
            "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
            "ENROUTE_LISTEN_PROXY_PROTOCOL": "required",
            "ENROUTE_LISTEN_PROXY_PROTOCOL_FROM": "10.0.0.1",
        ].merging([name: Self.nonsense]) { $1 }
        func problems(_ more: [String: String] = [:]) async -> [String] {
            let sources = SettingSources(environment: needed.merging(more) { $1 })
            return await ProcessConfiguration(sources).problems().map { "\($0.error)" }
        }
        let (alone, beside) = (await problems(), await problems(["ENROUTE_LOG_LEVEL": "loud"]))
        #expect(beside.contains { $0.contains("ENROUTE_LOG_LEVEL") })
        #expect(Set(alone).isSubset(of: beside), "\(alone) \(beside)")
    }

    @Test func `settings that depend on others are reported beside other mistakes`() async throws {
        let wrong = [
            "ENROUTE_LISTEN_PROXY_PROTOCOL=required", "ENROUTE_WEBHOOK_RETRY_SECONDS=5,x",
            "ENROUTE_PUSH_KEY_FILE=/nowhere.pem", "ENROUTE_LISTEN_PORT=99999",
        ]
        let (outcome, _) = try await Self.run([], Self.lines.filter { !$0.contains("PORT") } + wrong)
        #expect(outcome.code == 78)
        for reason in [
            "ENROUTE_LISTEN_PROXY_PROTOCOL_FROM is not set", "ENROUTE_WEBHOOK_RETRY_SECONDS: x is not",
            "ENROUTE_PUSH_KEY_FILE is /nowhere.pem", "ENROUTE_LISTEN_PORT is 99999",
        ] {
            #expect(outcome.error.contains(reason), "\(reason)\n\(outcome.error)")
        }
    }

    @Test func `a file that cannot be used does not make settings look missing`() async throws {
        let (malformed, path) = try await Self.run([], Self.lines + ["garbage", "more garbage"])
        let missing = try await CommandTests.run(["config", "--config", "/nowhere.env"])
        for outcome in [malformed, missing] {
            #expect(outcome.code == 78 && !outcome.error.contains("is not set"), "\(outcome)")
            #expect(outcome.error.contains("The values of settings were not checked"), "\(outcome)")
            #expect(outcome.error.split(separator: "\n").allSatisfy { $0.hasPrefix("enroute: ") })
        }
        for line in [7, 8] {
            #expect(malformed.error.contains("\(path), line \(line): not NAME=value"), "\(malformed)")
        }
        #expect(missing.error.contains("The configuration file /nowhere.env cannot be read"))
    }

    @Test(arguments: [["--config", "/tmp"], []])
    func `a folder where a file is expected is reported as a folder`(arguments: [String]) async throws {
        let settings = arguments.isEmpty ? ["ENROUTE_TOKEN_SECRET_FILE": "/tmp"] : [:]
        let outcome = try await CommandTests.run(["config"] + arguments, environment: settings)
        #expect(outcome.code == 78 && outcome.error.contains("it is a folder. Name the file in it."), "\(outcome)")
        #expect(!outcome.error.contains("NSCocoaErrorDomain"), "\(outcome)")
    }

    @Test func `a name that the file sets twice causes a warning, and the last line applies`() async throws {
        let again = Self.lines + ["ENROUTE_LISTEN_PORT=9001", "ENROUTE_LISTEN_PORT=9002"]
        let (outcome, path) = try await Self.run([], again)
        #expect(outcome.code == 0)
        let warning = "\(path): ENROUTE_LISTEN_PORT is set in lines 4, 7, 8. The last one applies."
        #expect(outcome.error == "enroute: warning: \(warning)\n")
        #expect(outcome.output.contains(/ENROUTE_LISTEN_PORT +9002/))
        let (json, file) = try await Self.run(["--format", "json"], again)
        let document = try JSONDecoder().decode(Document.self, from: Data(json.output.utf8))
        #expect(document.problems.isEmpty && document.warnings.map { $0.replacing(file, with: path) } == [warning])
        let (check, checked) = try await Self.run([], again, command: "check")
        #expect(check.output.contains("warning gateway configuration \(checked): ENROUTE_LISTEN_PORT is set in lines"))
        let (once, _) = try await Self.run()
        #expect(once.error.isEmpty)
    }

    @Test(arguments: ["serve", "check"])
    func `serve and check report all mistakes, too`(command: String) async throws {
        let settings = [
            "ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1", "ENROUTE_TLS": "off", "ENROUTE_LISTEN_PORT": "99999",
            "ENROUTE_TOKEN_SECRET": "short", "ENROUTE_LOG_LEVEL": "loud",
        ]
        let outcome = try await CommandTests.run([command], environment: settings)
        #expect(outcome.code == 78)
        for name in ["ENROUTE_LISTEN_PORT is", "ENROUTE_TOKEN_SECRET: ", "ENROUTE_LOG_LEVEL is"] {
            #expect(outcome.all.contains(name), "\(outcome)")
        }
    }
}

extension SettingType {
    fileprivate var isText: Bool {
        switch self {
        case .text, .list: true
        case .integer, .choice: false
        }
    }
}
