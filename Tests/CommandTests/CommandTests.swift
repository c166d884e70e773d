import Embedded
import EnrouteWire
import Foundation
import Subprocess
import Testing

/// The commands, run as a user runs them.
@Suite struct CommandTests {
    struct Outcome {
        let code: Int32
        let output: String
        let error: String
        var all: String { self.output + self.error }
    }

    /// The command, built into the same folder as the tests.
    static let binary = URL(
        filePath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    )
    .deletingLastPathComponent().appending(path: "enroute").path

    static func run(
        _ words: [String], environment: [String: String] = [:], binary: String = Self.binary
    ) async throws -> Outcome {
        let variables = Environment.custom(
            ["PATH": "/usr/bin:/bin:/usr/sbin"].merging(environment) { $1 }
                .reduce(into: [Environment.Key: String]()) { $0[Environment.Key(rawValue: $1.key)!] = $1.value })
        let outcome = try await Subprocess.run(
            .path(.init(binary)), arguments: Arguments(words), environment: variables,
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        guard case .exited(let code) = outcome.terminationStatus else { throw Crashed() }
        return Outcome(code: code, output: outcome.standardOutput, error: outcome.standardError)
    }

    struct Crashed: Error {}

    private static func environment(ofGateway settings: [String: String]) -> [Environment.Key: String] {
        [
            "PATH": "/usr/bin:/bin", "ENROUTE_LISTEN_PORT": "0", "ENROUTE_LISTEN_HOST": "127.0.0.1",
            "ENROUTE_MANAGEMENT": "off",
        ].merging(settings) { $1 }.reduce(into: [:]) { $0[Environment.Key(rawValue: $1.key)!] = $1.value }
    }

    /// Whether `enroute serve` exits with 0 after a SIGTERM, sent when a line contains `word`; and its output.
    static func terminated(
        _ settings: [String: String], on word: String
    ) async throws -> (isClean: Bool, output: String) {
        let outcome = try await Subprocess.run(
            .path(.init(self.binary)), arguments: ["serve"],
            environment: .custom(self.environment(ofGateway: settings)), input: .none, output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var output = ""
            for try await line in execution.standardOutput.strings() {
                output += line + "\n"
                if line.contains(word) { try execution.send(signal: .terminate) }
            }
            return output
        }
        return (outcome.terminationStatus == .exited(0), outcome.closureResult)
    }

    /// The output of `enroute serve` until it contains one of `words`, or until it exits. Then it is killed.
    static func serve(
        _ settings: [String: String], until words: [String], onLine: (String) async throws -> Void = { _ in }
    ) async throws -> String {
        try await Subprocess.run(
            .path(.init(self.binary)), arguments: ["serve"],
            environment: .custom(self.environment(ofGateway: settings)), input: .none, output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var output = ""
            for try await line in execution.standardOutput.strings() {
                output += line + "\n"
                try await onLine(line)
                if words.contains(where: { line.contains($0) }) { break }
            }
            try? execution.send(signal: .kill)
            return output
        }.closureResult
    }

    @Test(arguments: [
        [], ["serve"], ["check"], ["demo"], ["replay"], ["token"], ["revoke"], ["webhooks"], ["audit"], ["explain"],
        ["eta-accuracy"],
        ["config"],
        ["probe"], ["size"], ["dev"], ["job"], ["job", "create"], ["job", "show"], ["job", "status"],
        ["job", "follow"], ["job", "link"], ["rider"], ["rider", "online"], ["rider", "offline"], ["rider", "show"],
    ])
    func `every command has help with examples`(words: [String]) async throws {
        let outcome = try await Self.run(words + ["--help"])
        #expect(outcome.code == 0)
        #expect(outcome.output.contains("Examples:") || outcome.output.contains("EXAMPLES"))
    }

    @Test(arguments: [
        (["serve"], 78, "ENROUTE_REDIS_LIVE_URL is not set"), (["serve", "--port", "x"], 64, "port"),
        (["serve", "--port", "65536"], 64, "--port must be 0 to 65535"),
        (["serve", "--port", "99999"], 64, "--port must be 0 to 65535"),
        (["serve", "--port=-1"], 64, "--port must be 0 to 65535"), (["demo", "--port", "65536"], 64, "--port must be"),
        (["demo", "--port", "65533"], 64, "--port must be 1 to 65532: the demo needs four ports in a row"),
        (["check"], 78, "ENROUTE_REDIS_LIVE_URL is not set"), (["check", "--format", "xml"], 64, "format"),
        (["token", "--role", "king", "a"], 64, "king is not a role"),
        (["token", "--role", "rider", "a b"], 64, "is not a user id"),
        (["token", "--role", "rider", "a"], 78, "ENROUTE_TOKEN_SECRET is not set"),
        (["token", "--role", "rider", "a", "--key", "/etc/hostname"], 78, "The private key is not a PEM key"),
        (["token", "--role", "rider", "a", "--job", "a b"], 64, "--job must be the id of a job"),
        (["token", "--role", "rider", "a", "--job", "a/b"], 64, "--job must be the id of a job"),
        (["token", "--role", "rider", "a", "--jobs-of", "a/b"], 64, "--jobs-of must be the id of a rider"),
        (["token", "--role", "rider", "a", "--kid", "k1"], 64, "--kid needs --key"),
        (["revoke", "king", "a"], 64, "king cannot be revoked"),
        (["revoke", "job", "a b"], 64, "id of a job must be"),
        (["revoke", "link", "a"], 64, "32 hexadecimal digits"),
        (["revoke", "user", "a", "--actor", ""], 64, "--actor"),
        (["revoke", "user", "a"], 78, "ENROUTE_REDIS_LIVE_URL is not set"),
        (["webhooks", "list"], 78, "ENROUTE_REDIS_LIVE_URL is not set"), (["webhooks", "add"], 64, "url"),
        (["replay", "/nowhere.gpx", "--job", "j"], 65, "/nowhere.gpx cannot be read"),
        (["replay", "a.gpx", "--job", "j j"], 64, "--job must be"),
        (["replay", "a.gpx", "--job", "j", "--speed", "0"], 64, "--speed"),
        (["replay", "a.gpx", "--job", "j", "--url", "https://localhost"], 64, "--url must be wss://host[:port]"),
        (["replay", "a.gpx", "--job", "j", "--url", "wss://localhost:73979"], 64, "with a port from 1 to 65535"),
        (["replay", "/nowhere.gpx", "--job", "j", "--url", "ws://[::1]:8471"], 65, "/nowhere.gpx cannot be read"),
        (["eta-accuracy", "/nowhere.gpx"], 65, "/nowhere.gpx cannot be read"), (["eta-accuracy"], 64, "<file>"),
        (["demo", "--trip", "/nowhere.gpx"], 65, "/nowhere.gpx cannot be read"), (["dance"], 64, "dance"),
        (["dev", "--port", "70000"], 64, "--port must be"), (["dev", "--seed-jobs", "201"], 64, "--seed-jobs must be"),
        (["dev", "--webhook", "http://shop.example/"], 64, "the URL must start with https://, or with http:// if"),
        (["dev", "--webhook", "http://localhost/", "--webhook-secret", "x"], 64, "--webhook-secret must be whsec_"),
        (["dev", "--webhook-secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], 64, "needs --webhook"),
        (["size"], 64, "riders"), (["size", "--riders", "0"], 64, "--riders must be 1 to"),
        (["size", "--riders", "9", "--interval", "0"], 64, "--interval must be"),
        (["size", "--riders", "9", "--followers", "-1"], 64, "followers"),
        (["size", "--riders", "9", "--jobs-per-rider", "11"], 64, "--jobs-per-rider must be"),
        (["size", "--riders", "9", "--utilisation", "101"], 64, "--utilisation must be"),
    ])
    func `wrong arguments and settings are reported, each with its exit code`(
        words: [String], code: Int32, reason: String
    )
        async throws
    {
        let outcome = try await Self.run(words)
        #expect(outcome.code == code, "\(outcome)")
        #expect(outcome.all.contains(reason), "\(outcome)")
    }

    @Test func `B16: a secret that is too short is an invalid configuration`() async throws {
        let outcome = try await Self.run(
            ["token", "--role", "rider", "a"], environment: ["ENROUTE_TOKEN_SECRET": "short"])
        #expect(outcome.code == 78, "\(outcome)")
        #expect(outcome.error.contains("shorter than 32 bytes") && outcome.output.isEmpty)
    }

    @Test func `a full disk does not crash a command: standard error and the exit code report it`() async throws {
        let outcome = try await Self.run(
            ["-c", "exec \"$0\" token --role rider rider-1 > /dev/full", Self.binary],
            environment: ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"], binary: "/bin/sh")
        #expect(outcome.code == 1 && outcome.error.contains("cannot write to standard output"), "\(outcome)")
        let silent = try await Self.run(
            ["-c", "exec \"$0\" token --role rider rider-1 > /dev/full 2> /dev/full", Self.binary],
            environment: ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"], binary: "/bin/sh")
        #expect(silent.code == 1)
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["serve", "--help"], ["help", "token"], ["--generate-completion-script", "bash"],
    ])
    func `help that cannot be written is a failure`(words: [String]) async throws {
        let outcome = try await Self.run(
            ["-c", "exec \"$0\" \"$@\" > /dev/full", Self.binary] + words, binary: "/bin/sh")
        #expect(outcome.code == 1 && outcome.error.contains("cannot write to standard output"), "\(outcome)")
    }

    private static let good = [
        "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_TLS": "off", "ENROUTE_LISTEN_PORT": "0",
        "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
    ]

    @Test(
        arguments: [
            ([:], 69, "Redis at unix:/nowhere.sock cannot be reached"),
            (["ENROUTE_REDIS_LIVE_URL": "http://x"], 78, "its scheme is not redis"),
            // Found by Tests/Hostile: the error did not name the setting, or the exit code was wrong (B14, B44).
            (["ENROUTE_REDIS_LIVE_URL": "http://x"], 78, "ENROUTE_REDIS_LIVE_URL: "),
            (["ENROUTE_REDIS_LEDGER_URL": "redis://[::1"], 78, "ENROUTE_REDIS_LEDGER_URL: "),
            (["ENROUTE_TOKEN_SECRET": "short"], 78, "ENROUTE_TOKEN_SECRET: "),
            (["ENROUTE_LISTEN_TRUSTED_PROXIES": "word"], 78, "ENROUTE_LISTEN_TRUSTED_PROXIES: "),
            (["ENROUTE_PAGES_STREETS_FILE": "/no.geojson"], 78, "ENROUTE_PAGES_STREETS_FILE: "),
            (["ENROUTE_TILES_ATTRIBUTION": "a"], 78, "ENROUTE_TILES_ATTRIBUTION is set"),
            (["ENROUTE_TLS": "maybe"], 78, "ENROUTE_TLS is maybe"),
            (["ENROUTE_TLS": "on"], 78, "ENROUTE_TLS_CERTIFICATE_FILE is not set"),
            (
                ["ENROUTE_TLS": "on", "ENROUTE_TLS_CERTIFICATE_FILE": "/no.pem", "ENROUTE_TLS_KEY_FILE": "/no.pem"], 78,
                "/no.pem"
            ),
            (["ENROUTE_TOKEN_SECRET": "short"], 78, "shorter than 32 bytes"),
            (["ENROUTE_TOKEN_SECRET": ""], 78, "No token verification key is set"),
            (["ENROUTE_TOKEN_PUBLIC_KEY_FILES": "/no.pem"], 78, "/no.pem, which cannot be read"),
            (["ENROUTE_TOKEN_JWKS_URL": "http://issuer.example/keys"], 78, "must start with https://"),
            (
                ["ENROUTE_TOKEN_JWKS_URL": "https://localhost", "ENROUTE_TOKEN_JWKS_CA_FILE": "/no.pem"], 78,
                "no PEM certificate"
            ),
            (
                ["ENROUTE_TOKEN_SECRET": "", "ENROUTE_TOKEN_JWKS_URL": "https://127.0.0.1:1/keys"], 69,
                "No token verification key is available. The issuer of keys cannot be reached"
            ), (["ENROUTE_TOKEN_JWKS_URL": "https://127.0.0.1:1/keys"], 69, "unix:/nowhere.sock cannot be reached"),
            (["ENROUTE_LISTEN_PORT": "99999"], 78, "ENROUTE_LISTEN_PORT is 99999"),
            (["ENROUTE_TRACKING_MAX_SHARING_SECONDS": "14401"], 78, "ENROUTE_TRACKING_MAX_SHARING_SECONDS"),
            (["ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS": "0"], 78, "ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS"),
            (["ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS": "604801"], 78, "ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS"),
            (["ENROUTE_REDIS_PREFIX": "a{b}"], 78, "ENROUTE_REDIS_PREFIX"),
            (["ENROUTE_AUDIT_ACCESS_MAX_ENTRIES": "999"], 78, "ENROUTE_AUDIT_ACCESS_MAX_ENTRIES is 999"),
            (["ENROUTE_GATEWAY_NAME": "a b"], 78, "ENROUTE_GATEWAY_NAME"),
            (["ENROUTE_LOG_LEVEL": "loud"], 78, "ENROUTE_LOG_LEVEL is loud"),
            (
                ["ENROUTE_MANAGEMENT": "on", "ENROUTE_MANAGEMENT_HOST": "192.0.2.1", "ENROUTE_MANAGEMENT_PORT": "0"],
                69,
                "Choose another address with ENROUTE_MANAGEMENT_HOST"
            ),
            (["ENROUTE_MODE": "test"], 78, "ENROUTE_MODE is test; it must be production or development"),
            (["ENROUTE_REDIS_LIVE_ADMIN_URL": "http://x"], 78, "its scheme is not redis"),
            (
                ["ENROUTE_PAGES_TRANSLATION_FILES": "/no.json"], 78,
                "ENROUTE_PAGES_TRANSLATION_FILES names /no.json, which cannot be read"
            ),
            (
                ["ENROUTE_PAGES_LANGUAGES_DIR": "/no/languages"], 78,
                "ENROUTE_PAGES_LANGUAGES_DIR names /no/languages, which is not a directory that can be read"
            ),
            (
                ["ENROUTE_PAGES_NOTES": "everybody"], 78,
                "ENROUTE_PAGES_NOTES is everybody; it must be one of off, signed-in, links"
            ),
        ] as [([String: String], Int32, String)])
    func `an invalid setting is reported by name, with what it must be`(
        settings: [String: String], code: Int32, reason: String
    ) async throws {
        // Without Redis a gateway would wait. But `check` reports it, after reading all settings.
        let command = reason.hasSuffix("sock cannot be reached") ? "check" : "serve"
        let outcome = try await Self.run([command], environment: Self.good.merging(settings) { $1 })
        #expect(outcome.code == code, "\(outcome)")
        #expect(outcome.all.contains(reason), "\(outcome)")
        #expect(!outcome.all.contains("a secret of at least"))
    }

    @Test(arguments: [
        (#""tracking""#, #""tracks""#, "tracking.waiting is missing"),
        (#""unavailable_network""#, #""unavailable_net""#, "tracking.unavailable_net is not a known state"),
        (#""statuses""#, #""states""#, "statuses.pending_vendor_acceptance is missing"),
    ])
    func `an incomplete file of translations is reported, with what is missing`(
        name: String, other: String, reason: String
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-texts-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let english = String(decoding: StatusTexts.english.json, as: UTF8.self)
        try Data(english.replacing(name, with: other).utf8).write(to: file)
        let outcome = try await Self.run(
            ["serve"], environment: Self.good.merging(["ENROUTE_PAGES_TRANSLATION_FILES": file.path]) { $1 })
        #expect(outcome.code == 78, "\(outcome)")
        #expect(
            outcome.error.contains(
                "ENROUTE_PAGES_TRANSLATION_FILES names \(file.path), which cannot be used: \(reason)"),
            "\(outcome.error)")
    }

    @Test func `a language file is validated with its name and its texts, and the template is one`() async throws {
        try await TemporaryFolder.holding("enroute-languages") { folder in
            let settings = Self.good.merging(["ENROUTE_PAGES_LANGUAGES_DIR": folder]) { $1 }
            let empty = try await Self.run(["config"], environment: settings)
            #expect(empty.code == 78 && empty.error.contains("has 0 files ending in .json"), "\(empty.error)")
            let template = try await Self.run(["config", "--language-template"], environment: [:])
            #expect(template.code == 0, "\(template)")
            let (right, wrong) = (URL(filePath: "\(folder)/en.json"), URL(filePath: "\(folder)/fr.json"))
            try Data(template.output.utf8).write(to: right)
            let good = try await Self.run(["config"], environment: settings)
            #expect(good.code == 0, "\(good.error)")
            try Data(template.output.utf8).write(to: wrong)
            let named = try await Self.run(["config"], environment: settings)
            #expect(
                named.code == 78 && named.error.contains("its language is en; rename it to en.json"), "\(named.error)")
            let french = template.output.replacing(#""language" : "en""#, with: #""language" : "fr""#)
                .replacing("It was promised by {time}.", with: "")
            try Data(french.utf8).write(to: wrong)
            let bad = try await Self.run(["config"], environment: settings)
            #expect(bad.error.contains("fr.json cannot be used: customer.apology must contain {time}"), "\(bad.error)")
        }
    }

    /// Made by `openssl ecparam -name prime256v1 -genkey` and `openssl genpkey -algorithm ed25519`.
    private static let p256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAQXah6vSKJjU1E5UpBbFGBPvXZjC
        EplRvBVfNBe5EFmKc7bGOwccHFOn8fL3oltxY026ZXqlrZW/6u80Ty5rJQ==
        -----END PUBLIC KEY-----
        """
    private static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAYu9R6C99IfUTIaVIck4B6GrzQUZc1Y7OX+DVYwDrzvU=
        -----END PUBLIC KEY-----
        """

    @Test(
        arguments: [
            ("", 69, "cannot be reached"), ("a,b", 69, "cannot be reached"), ("a", 78, "1 key ids for 2 public keys"),
            ("a,a", 78, "Two keys have the same key id"),
        ] as [(String, Int32, String)])
    func `public keys of several kinds are accepted, with a key id each or none`(
        kids: String, code: Int32, reason: String
    )
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-test-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = [folder.appending(path: "p256.pem"), folder.appending(path: "ed25519.pem")]
        for (file, pem) in zip(files, [Self.p256, Self.ed25519]) {
            try pem.write(to: file, atomically: true, encoding: .utf8)
        }
        let keys = [
            "ENROUTE_TOKEN_PUBLIC_KEY_FILES": files.map(\.path).joined(separator: ", "), "ENROUTE_TOKEN_KEY_IDS": kids,
        ]
        let outcome = try await Self.run(["check"], environment: Self.good.merging(keys) { $1 })
        #expect(outcome.code == code, "\(outcome)")
        #expect(outcome.all.contains(reason), "\(outcome)")
    }

    @Test func `settings come from a file, and the environment takes precedence`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID()).env")
        defer { try? FileManager.default.removeItem(at: file) }
        let lines = Self.good.map { "\($0.key)=\($0.value)" }.joined(separator: "\n") + "\nENROUTE_LOG_LEVEL=loud\n"
        try Data(lines.utf8).write(to: file)
        let words = ["check", "--config", file.path]
        #expect(try await Self.run(words).all.contains("ENROUTE_LOG_LEVEL is loud"))
        let outcome = try await Self.run(words, environment: ["ENROUTE_LOG_LEVEL": "error"])
        #expect(outcome.code == 69 && outcome.all.contains("unix:/nowhere.sock"))
        #expect(try await Self.run(["serve", "--config", "/no.env"]).code == 78)
    }

    @Test(arguments: [
        ("bad.gpx", "<gpx><trk>\n<trkpt lat=\"1\"", "Line 2"), ("empty.csv", "", "contains no fix"),
        ("one.csv", "unix_ms,lat,lon\n1000,1,1\n", "only one fix"),
        ("back.csv", "unix_ms,lat,lon\n2000,1,1\n1000,1,1\n", "Line 3: the time is earlier than on line 2"),
    ])
    func `an invalid recording is refused before anything is started`(
        name: String, text: String, reason: String
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        for words in [["demo", "--trip", file.path], ["replay", file.path, "--job", "j"]] {
            let outcome = try await Self.run(words, environment: ["TMPDIR": folder.path])
            #expect(outcome.code == 65)
            #expect(outcome.error.contains(reason), "\(outcome.error)")
            #expect(outcome.output.isEmpty)
        }
        // Nothing was started: the folder contains no socket and no certificate.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
    }
}
