import Embedded
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

/// `enroute check`, and the checks before `enroute serve` starts, against real servers.
@Suite(.needsMachine(for: .faults)) struct CheckTests {
    private static let good = [
        "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
        "ENROUTE_EVENT_LOOPS": "1",
        "ENROUTE_MANAGEMENT": "off",
    ]

    /// Public keys instead of a shared secret. `check` does not fetch them.
    private static let publicKeys = [
        "ENROUTE_TOKEN_SECRET": "", "ENROUTE_TOKEN_JWKS_URL": "https://issuer.example/keys",
    ]

    /// The output of `--format json`.
    struct Report: Decodable {
        let mode: DeploymentMode
        let errors: Int
        let warnings: Int
        let findings: [Finding]

        func has(_ severity: Finding.Severity, _ role: RedisRole, _ subject: Finding.Subject) -> Bool {
            self.findings.contains { ($0.severity, $0.role, $0.subject) == (severity, role, subject) }
        }
    }

    static func check(_ settings: [String: String]) async throws -> (code: Int32, report: Report) {
        let outcome = try await CommandTests.run(
            ["check", "--format", "json"], environment: Self.good.merging(settings) { $1 })
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        #expect(report.errors == report.findings.count { $0.severity == .error })
        #expect(report.warnings == report.findings.count { $0.severity == .warning })
        #expect(outcome.error.isEmpty, "\(outcome.error)")
        return (outcome.code, report)
    }

    /// Both Redis as in deploy/redis. They listen on TCP, because the URL of a unix socket cannot have a user (see
    /// `RedisAddress`).
    private static func deployed(
        _ body: (_ live: String, _ ledger: String) async throws -> Void
    ) async throws {
        let (live, ledger) = (try await freePort(), try await freePort())
        try await DeployedRedis.live.run(options: ["--port", "\(live)"]) { _ in
            try await DeployedRedis.ledger.runBeside(options: ["--port", "\(ledger)"]) { _ in
                try await body("127.0.0.1:\(live)", "127.0.0.1:\(ledger)")
            }
        }
    }

    private static func url(_ user: String, _ place: String) -> String {
        "redis://\(user):\(DeployedRedis.password)@\(place)"
    }

    @Test func `the configurations of deploy have no errors, and a check that was not possible is a warning`()
        async throws
    {
        try await Self.deployed { live, ledger in
            var settings = [
                "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", live),
                "ENROUTE_REDIS_LEDGER_URL": Self.url("enroute", ledger),
            ]
            let (code, report) = try await Self.check(settings)
            #expect(code == 0)
            #expect(report.mode == .production)
            #expect(report.errors == 0, "\(report.findings)")
            #expect(report.has(.warning, .live, .settings) && report.has(.warning, .ledger, .settings))
            #expect(report.has(.ok, .live, .access) && report.has(.ok, .ledger, .access))

            settings["ENROUTE_REDIS_LIVE_ADMIN_URL"] = Self.url("operations", live)
            settings["ENROUTE_REDIS_LEDGER_ADMIN_URL"] = Self.url("operations", ledger)
            settings.merge(Self.publicKeys) { $1 }
            let (again, whole) = try await Self.check(settings)
            #expect(again == 0)
            // The ledger of a test has no replica.
            #expect(whole.findings.filter { $0.severity != .ok }.map(\.subject) == [.replicas])
            #expect(whole.has(.ok, .live, .slowlog) && whole.has(.ok, .live, .copies))

            settings["ENROUTE_REDIS_LIVE_ADMIN_URL"] = Self.url("nobody", live)
            let (third, refused) = try await Self.check(settings)
            #expect(third == 0)
            #expect(refused.findings.contains { $0.what.hasPrefix("ENROUTE_REDIS_LIVE_ADMIN_URL cannot be used") })
            let text = refused.findings.map { $0.what + $0.remedy }.joined()
            #expect(!text.contains(DeployedRedis.password))
        }
    }

    /// Wrong options of the live Redis, and the finding for each.
    @Test(
        arguments: [
            (["--save", "60 1"], .error, .persistence), (["--appendonly", "yes"], .error, .persistence),
            (["--maxmemory-policy", "noeviction"], .warning, .eviction), (["--maxmemory", "0"], .warning, .memory),
            (["--slowlog-log-slower-than", "10000"], .warning, .slowlog),
            (["--client-output-buffer-limit", "pubsub 1mb 0 0"], .warning, .buffers),
            (["--client-output-buffer-limit", "pubsub 0 0 0"], .warning, .buffers),
            (["--repl-diskless-load", "disabled"], .warning, .copies),
        ] as [([String], Finding.Severity, Finding.Subject)])
    func `a wrong option of the live Redis is found`(
        options: [String], severity: Finding.Severity, subject: Finding.Subject
    ) async throws {
        // Without an access list, so nothing is hidden from the check.
        try await withServer(configuration: DeployedRedis.live.configurationPath, options: options) { live in
            try await RedisServer.running(configuration: DeployedRedis.ledger.configurationPath) { ledger in
                let (code, report) = try await Self.check([
                    "ENROUTE_REDIS_LIVE_URL": live.url, "ENROUTE_REDIS_LEDGER_URL": ledger.url,
                ])
                #expect(code == (severity == .error ? 78 : 0))
                #expect(report.has(severity, .live, subject), "\(report.findings)")
                let wrong = report.findings.filter { $0.severity != .ok && $0.role == .live }
                #expect(Set(wrong.map(\.subject)) == [subject, .access])
                #expect(wrong.contains { $0.remedy.contains("redis-cli -s \(live.socketPath) CONFIG SET") })
            }
        }
    }

    @Test(
        arguments: [
            (["--appendonly", "no", "--save", ""], .error, .persistence),
            (["--appendonly", "no"], .warning, .persistence),
            (["--maxmemory-policy", "allkeys-lru"], .error, .eviction),
            (["--min-replicas-to-write", "1"], .error, .replicas),
        ] as [([String], Finding.Severity, Finding.Subject)])
    func `a wrong option of the ledger Redis is found`(
        options: [String], severity: Finding.Severity, subject: Finding.Subject
    ) async throws {
        try await withServer(configuration: DeployedRedis.live.configurationPath) { live in
            try await RedisServer.running(configuration: DeployedRedis.ledger.configurationPath, options: options) {
                ledger in
                let (code, report) = try await Self.check([
                    "ENROUTE_REDIS_LIVE_URL": live.url, "ENROUTE_REDIS_LEDGER_URL": ledger.url,
                ])
                #expect(code == (severity == .error ? 78 : 0))
                #expect(report.has(severity, .ledger, subject), "\(report.findings)")
            }
        }
    }

    @Test func `one instance for both roles is an error in production, but not in development`() async throws {
        try await withServer { server in
            let (code, report) = try await Self.check(["ENROUTE_REDIS_LIVE_URL": server.url])
            #expect(code == 78)
            #expect(report.has(.error, .ledger, .separation))
            let (other, trial) = try await Self.check([
                "ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_MODE": "development",
            ])
            #expect(other == 0)
            #expect(trial.mode == .development && trial.errors == 0)
        }
    }

    @Test func `an unavailable Redis does not hide findings about the other`() async throws {
        try await withServer { server in
            let settings = ["ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_REDIS_LEDGER_URL": "unix:/nowhere.sock"]
            let (code, report) = try await Self.check(settings)
            #expect(code == 69)
            #expect(report.has(.error, .ledger, .connection))
            #expect(report.has(.ok, .live, .persistence))
        }
        try await withServer(options: ["--requirepass", "hunter2"]) { server in
            let (code, report) = try await Self.check(["ENROUTE_REDIS_LIVE_URL": server.url])
            #expect(code == 78)
            #expect(report.has(.error, .live, .connection))
        }
    }

    @Test func `a replica instead of a master is found`() async throws {
        try await withServer(options: ["--replicaof", "127.0.0.1 1"]) { server in
            let (code, report) = try await Self.check(["ENROUTE_REDIS_LIVE_URL": server.url])
            #expect(code == 78)
            #expect(report.has(.error, .live, .master), "\(report.findings)")
        }
    }

    @Test func `the text has a line for each finding, followed by what to do`() async throws {
        try await withServer(options: ["--appendonly", "yes"]) { server in
            let outcome = try await CommandTests.run(
                ["check"], environment: Self.good.merging(["ENROUTE_REDIS_LIVE_URL": server.url]) { $1 })
            #expect(outcome.code == 78)
            #expect(outcome.output.contains(/error   live   persistence The live instance stores positions on disk/))
            #expect(outcome.output.contains("        do:  redis-cli -s \(server.socketPath) CONFIG SET appendonly no"))
            #expect(outcome.output.contains(/enroute check \(production\): errors: 2, warnings: \d+\.\n/))
        }
    }

    @Test func `a shared secret of tokens is a warning in production, wherever it is set`() async throws {
        func secrets(_ settings: [String: String]) async throws -> [Finding] {
            let some = ["ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock"]
            return try await Self.check(some.merging(settings) { $1 }).report.findings.filter {
                $0.subject == .configuration && $0.what.contains("SECRET")
            }
        }
        let own = try await secrets([:])
        #expect(own.map(\.what) == ["ENROUTE_TOKEN_SECRET is set, which is for development."])
        #expect(own.allSatisfy { $0.severity == .warning && $0.role == nil })
        #expect(own.first?.remedy.contains("ENROUTE_TOKEN_JWKS_URL") == true)
        #expect(try await secrets(["ENROUTE_MODE": "development"]).isEmpty)
        #expect(try await secrets(Self.publicKeys).isEmpty)
        try await TemporaryFolder.holding("enroute-check") { folder in
            let section = "[shop]\nISSUER=a\nAUDIENCE=b\nSECRET=a secret of at least thirty-two bytes\n"
            try section.write(toFile: "\(folder)/p.ini", atomically: true, encoding: .utf8)
            let file = Self.publicKeys.merging(["ENROUTE_TOKEN_PROVIDERS_FILE": "\(folder)/p.ini"]) { $1 }
            let found = try await secrets(file)
            #expect(found.map(\.what) == ["\(folder)/p.ini, [shop]: SECRET is set, which is for development."])
            try "a secret of at least thirty-two bytes".write(
                toFile: "\(folder)/secret", atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/secret")
            let indirect = try await secrets([
                "ENROUTE_TOKEN_SECRET": "", "ENROUTE_TOKEN_SECRET_FILE": "\(folder)/secret",
            ])
            #expect(indirect.map(\.severity) == [.warning])
        }
    }

    // MARK: serve

    @Test(arguments: [["--save", "60 1"], ["--appendonly", "yes"]])
    func `in production serve refuses a live Redis that persists, and says how to correct it`(
        options: [String]
    ) async throws {
        try await withServer(options: options) { server in
            let settings = Self.good.merging(["ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_LISTEN_PORT": "0"]) { $1 }
            let outcome = try await CommandTests.run(["serve"], environment: settings)
            #expect(outcome.code == 78)
            #expect(outcome.error.contains("stores positions on disk"), "\(outcome.error)")
            #expect(outcome.error.contains("CONFIG SET \(options[0].dropFirst(2))"), "\(outcome.error)")
            #expect(outcome.error.contains("ENROUTE_MODE=development"))
            #expect(!outcome.output.contains("listening"))
        }
    }

    @Test func `serve starts when it may not read the configuration of Redis and nothing was persisted`() async throws {
        try await Self.deployed { live, ledger in
            let settings = [
                "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", live),
                "ENROUTE_REDIS_LEDGER_URL": Self.url("enroute", ledger),
            ]
            let output = try await Self.starts(settings)
            #expect(output.split(separator: "\n").contains { $0.hasPrefix("enroute: listening") }, "\(output)")
            #expect(!output.contains("although a check failed"), "\(output)")
        }
    }

    @Test func `in development serve starts with a live Redis that persists, and logs a warning`() async throws {
        try await withServer(options: ["--appendonly", "yes"]) { server in
            let settings = ["ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_MODE": "development"]
            let output = try await Self.starts(settings)
            #expect(output.contains("enroute: listening"))
            #expect(output.contains("starting although a check failed"), "\(output)")
            #expect(output.contains("stores positions on disk"), "\(output)")
        }
    }

    /// The output of a gateway until it listens or exits.
    static func starts(_ settings: [String: String]) async throws -> String {
        let quiet = ["ENROUTE_MANAGEMENT": "off", "ENROUTE_LOG_LEVEL": "warning"]
        return try await CommandTests.serve(
            Self.good.merging(quiet) { $1 }.merging(settings) { $1 }, until: ["listening"])
    }
}
