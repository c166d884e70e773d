import Foundation
import Testing

@testable import enroute

/// The format of configuration files, and the names in them.
@Suite struct SettingsFileTests {
    @Test(arguments: [
        ("A=1", "A", "1"), ("  A = 1  ", "A", "1"), ("export ENROUTE_LISTEN_PORT=1234", "ENROUTE_LISTEN_PORT", "1234"),
        ("A=", "A", ""),
        ("A=\"127.0.0.1\"", "A", "127.0.0.1"), ("A='a b' # why", "A", "a b"), ("A=\"a # b\"", "A", "a # b"),
        ("A=a # why", "A", "a"), ("A=a#b", "A", "a#b"), ("A=# why", "A", ""), ("A=b=c==", "A", "b=c=="),
        (#"A="one\ntwo \"three\" \\ \$x""#, "A", "one\ntwo \"three\" \\ $x"), (#"A='one\n'"#, "A", #"one\n"#),
        ("A=$HOME", "A", "$HOME"), ("A=1\r", "A", "1"), ("export=1", "export", "1"), ("A=it's", "A", "it's"),
        ("A=redis://u:p%23@h:1/0?ca=/a.pem", "A", "redis://u:p%23@h:1/0?ca=/a.pem"),
    ])
    func `B14: a line is read as in other .env files`(line: String, name: String, value: String) throws {
        let settings = try SettingsFile(line).settings
        #expect(settings == [.init(name: name, value: value, line: 1)])
    }

    @Test func `blank lines and comments are skipped, lines are numbered, and the later of two values applies`() throws
    {
        let file = try SettingsFile("\u{FEFF}# Enroute\r\n\r\nA=1\n   # more\n\nA=2\nB=3\n")
        #expect(file.settings.map(\.line) == [3, 6, 7])
        #expect(file.values == ["A": "2", "B": "3"])
        #expect(try SettingsFile("").settings.isEmpty)
    }

    @Test(arguments: [
        ("garbage line", "not NAME=value"), ("port: 8443", "YAML"), ("---", "YAML"), ("port:", "YAML"),
        ("=1", "no valid name"), ("1A=2", "no valid name"), ("a b=2", "not NAME=value"),
        ("A=\"open", "closing quote is missing"),
        ("A='x' y", "text after the closing quote"), ("A=\u{0}", "control character"), ("export A", "not NAME=value"),
        ("- name: A=b", "YAML"), ("[section]", "not NAME=value"), ("{\"a\": 1}", "not NAME=value"),
    ])
    func `B14: a malformed line is an error with its number and without its text`(line: String, why: String) {
        #expect {
            try SettingsFile("A=1\n\(line)\nB=hunter2\nhunter2 hunter2")
        } throws: { error in
            guard let error = error as? SettingsFile.Malformed else { return false }
            return error.faults.map(\.line) == [2, 4] && error.faults[0].reason.contains(why)
                && !"\(error)".contains("hunter2")
        }
    }

    @Test(arguments: [
        ("ENROUTE_LISTEN_PORTT", "ENROUTE_LISTEN_PORT"),
        ("ENROUTE_LISTEN_ALLOWED_ORIGIN", "ENROUTE_LISTEN_ALLOWED_ORIGINS"),
        ("enroute_listen_port", "ENROUTE_LISTEN_PORT"),
        ("ENROUT_LISTEN_PORT", "ENROUTE_LISTEN_PORT"), ("ENROUTE_REDIS_URL", "ENROUTE_REDIS_LIVE_URL"),
        ("ENROUTE_LIMIT_MESSAGE_PER_SECOND", "ENROUTE_LIMIT_MESSAGES_PER_SECOND"),
        ("ENROUTE_LIMIT_PING_INTERVAL_SECOND", "ENROUTE_LIMIT_PING_INTERVAL_SECONDS"), ("AWS_REGON", "AWS_REGION"),
    ])
    func `B14: the closest known name is suggested`(name: String, meant: String) {
        #expect(UnknownSettings.nearest(to: name) == meant)
    }

    @Test func `no name is suggested where none is close`() {
        for name in ["ENROUTE_COLOUR_OF_THE_SKY", "PATH", "", "ENROUTE_", String(repeating: "A", count: 100_000)] {
            #expect(UnknownSettings.nearest(to: name) == nil, "\(name.prefix(30))")
        }
    }

    @Test func `unknown names are reported with their line, and variables set by Kubernetes are ignored`() throws {
        let file = try SettingsFile("ENROUTE_LISTEN_PORT=1\nENROUTE_LISTEN_ALLOWED_ORIGIN=hunter2\nTZ=UTC")
        let faults = UnknownSettings.faults(
            environment: [
                "PATH": "/bin", "ENROUTE_LISTEN_PORTT": "hunter2", "ENROUTE_LISTEN_HOST": "::", "ENROUTE_REPORT": "1",
                "ENROUTE_REDIS_SERVICE_HOST": "10.0.0.1", "ENROUTE_REDIS_SERVICE_PORT": "6379",
                "ENROUTE_REDIS_SERVICE_PORT_LIVE": "6379", "ENROUTE_REDIS_PORT": "tcp://10.0.0.1:6379",
                "ENROUTE_REDIS_PORT_6379_TCP": "tcp://10.0.0.1:6379", "ENROUTE_REDIS_PORT_6379_TCP_PROTO": "tcp",
            ], file: ("/etc/enroute.env", file))
        #expect(
            faults == [
                "/etc/enroute.env, line 2: ENROUTE_LISTEN_ALLOWED_ORIGIN is not a setting; did you mean ENROUTE_LISTEN_ALLOWED_ORIGINS?",
                "/etc/enroute.env, line 3: TZ is not a setting; `enroute config` lists all settings.",
                "ENROUTE_LISTEN_PORTT is not a setting; did you mean ENROUTE_LISTEN_PORT?",
            ])
    }

    // MARK: the command

    private static let good = [
        "ENROUTE_REDIS_LIVE_URL=unix:/nowhere.sock", "ENROUTE_TLS=off", "ENROUTE_LISTEN_PORT=0",
        "ENROUTE_TOKEN_SECRET='a secret of at least thirty-two bytes'",
    ]

    private static func run(
        _ command: String, _ lines: [String], environment: [String: String] = [:]
    ) async throws -> CommandTests.Outcome {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID()).env")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data((Self.good + lines).joined(separator: "\n").utf8).write(to: file)
        return try await CommandTests.run([command, "--config", file.path], environment: environment)
    }

    @Test(
        arguments: ["serve", "check"],
        [
            (
                "ENROUTE_LISTEN_PORTT=1",
                "line 5: ENROUTE_LISTEN_PORTT is not a setting; did you mean ENROUTE_LISTEN_PORT?"
            ),
            ("garbage line", "line 5: not NAME=value, a comment or a blank line"),
            ("port: 8443", "line 5: looks like YAML"),
        ])
    func `B14: a malformed file makes serve and check exit with 78`(command: String, line: (text: String, said: String))
        async throws
    {
        let outcome = try await Self.run(command, [line.text])
        #expect(outcome.code == 78, "\(outcome)")
        #expect((outcome.error + outcome.output).contains(line.said), "\(outcome)")
        #expect(!(outcome.error + outcome.output).contains("thirty-two"))
    }

    @Test func `B14: an unknown environment variable is refused, and a file may use export and quotes`()
        async throws
    {
        let refused = try await Self.run("serve", [], environment: ["ENROUTE_LISTEN_PORTT": "1"])
        #expect(refused.code == 78)
        #expect(
            refused.error.contains("ENROUTE_LISTEN_PORTT is not a setting; did you mean ENROUTE_LISTEN_PORT?"),
            "\(refused)")
        let accepted = try await Self.run(
            "serve", ["export ENROUTE_LOG_LEVEL=\"loud\"", "# a comment", "", "ENROUTE_LISTEN_HOST='127.0.0.1' # here"])
        #expect(accepted.error.contains("ENROUTE_LOG_LEVEL is loud;"), "\(accepted)")
        let linked = try await Self.run("serve", [], environment: ["ENROUTE_MANAGEMENT_PORT": "tcp://10.0.0.1:8443"])
        #expect(linked.code == 78 && linked.error.contains("enableServiceLinks: false"), "\(linked)")
    }
}
