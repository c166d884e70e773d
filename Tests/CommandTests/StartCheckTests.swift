import Embedded
import EnrouteWire
import Foundation
import LiveState
import Redis
import Subprocess
import TestSupport
import Testing

/// The checks of Redis and of the certificate before `enroute serve` starts, and in `enroute check`.
@Suite(.needsMachine(for: .faults)) struct StartCheckTests {
    private static let good = [
        "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
        "ENROUTE_EVENT_LOOPS": "1",
        "ENROUTE_MANAGEMENT": "off", "ENROUTE_LOG_LEVEL": "warning",
    ]

    private static func url(_ user: String, _ port: Int) -> String {
        "redis://\(user):\(DeployedRedis.password)@127.0.0.1:\(port)"
    }

    /// Both Redis as in deploy/redis, with additional options of the ledger.
    private static func deployed(
        ledgerOptions: [String] = [], _ body: (_ live: Int, _ ledger: Int) async throws -> Void
    ) async throws {
        let (live, ledger) = (try await freePort(), try await freePort())
        try await DeployedRedis.live.run(options: ["--port", "\(live)"]) { _ in
            try await DeployedRedis.ledger.runBeside(options: ["--port", "\(ledger)"] + ledgerOptions) { _ in
                try await body(live, ledger)
            }
        }
    }

    /// Expects that a gateway with `settings` does not start in production because of `reason`, but starts in development.
    private static func isRefused(_ settings: [String: String], _ reason: String) async throws {
        let settings = Self.good.merging(settings) { $1 }
        let outcome = try await CommandTests.run(
            ["serve"], environment: settings.merging(["ENROUTE_LISTEN_PORT": "0"]) { $1 })
        #expect(outcome.code == 78, "\(outcome)")
        #expect(outcome.error.contains(reason), "\(outcome)")
        #expect(outcome.error.contains("ENROUTE_MODE=development"))
        let trial = try await CommandTests.serve(
            settings.merging(["ENROUTE_MODE": "development"]) { $1 }, until: ["listening"])
        #expect(trial.contains("listening") && trial.contains("starting although a check failed"), "\(trial)")
        #expect(trial.contains(reason), "\(trial)")
    }

    // MARK: B37

    @Test func `B37: in production a gateway does not start when one Redis has both roles`() async throws {
        try await withServer { server in
            try await Self.isRefused(["ENROUTE_REDIS_LIVE_URL": server.url], "The ledger is the same instance as live.")
        }
    }

    @Test func `B37: in production a gateway does not start with a ledger that does not persist`() async throws {
        try await Self.deployed(ledgerOptions: ["--appendonly", "no", "--save", ""]) { live, ledger in
            try await Self.isRefused(
                [
                    "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", live),
                    "ENROUTE_REDIS_LEDGER_URL": Self.url("enroute", ledger),
                    "ENROUTE_REDIS_LEDGER_ADMIN_URL": Self.url("operations", ledger),
                ], "The ledger writes nothing to disk.")
        }
    }

    @Test func `B37: in production a gateway does not start with a Redis user that may only read`() async throws {
        try await Self.deployed { live, ledger in
            try await RedisCLI.run(ledger, "ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "+@all", "-@write")
            try await Self.isRefused(
                [
                    "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", live),
                    "ENROUTE_REDIS_LEDGER_URL": "redis://reader:secret@127.0.0.1:\(ledger)",
                ], "The user lacks required permissions: HSET")
        }
    }

    @Test func `B37: in production a gateway does not start with an expired certificate`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try TestAuthority().issue(
            .server(name: "localhost"), into: folder.path, as: "old", validity: -3600)
        try await Self.deployed { live, ledger in
            var settings = [
                "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", live),
                "ENROUTE_REDIS_LEDGER_URL": Self.url("enroute", ledger), "ENROUTE_TLS": "on",
                "ENROUTE_TLS_CERTIFICATE_FILE": files.certificate, "ENROUTE_TLS_KEY_FILE": files.key,
            ]
            let outcome = try await CommandTests.run(["serve"], environment: Self.good.merging(settings) { $1 })
            #expect(outcome.code == 78 && outcome.error.contains("expired at"), "\(outcome)")
            let check = try await CommandTests.run(["check"], environment: Self.good.merging(settings) { $1 })
            #expect(check.code == 78 && check.output.contains("expired at"), "\(check)")
            settings["ENROUTE_MODE"] = "development"
            let trial = try await CommandTests.serve(Self.good.merging(settings) { $1 }, until: ["listening"])
            #expect(trial.contains("listening") && trial.contains("expired at"), "\(trial)")
        }
    }

    @Test func `a certificate that is not yet valid is reported as unavailable, so systemd starts the gateway again`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try TestAuthority().issue(.server(name: "localhost"), into: folder.path, as: "early", from: 1800)
        let settings = Self.good.merging([
            "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_TLS": "on",
            "ENROUTE_TLS_CERTIFICATE_FILE": files.certificate, "ENROUTE_TLS_KEY_FILE": files.key,
        ]) { $1 }
        let outcome = try await CommandTests.run(["serve"], environment: settings)
        #expect(outcome.code == 69 && outcome.error.contains("is not valid before"), "\(outcome)")
        let check = try await CommandTests.run(["check"], environment: settings)
        #expect(check.code == 78 && check.output.contains("is not valid before"), "\(check)")
        let mistaken = try await CommandTests.run(
            ["serve"], environment: settings.merging(["ENROUTE_LISTEN_PORT": "99999"]) { $1 })
        #expect(mistaken.code == 78, "\(mistaken)")
    }

    // MARK: B38

    @Test func `B38: a gateway waits for an unavailable Redis, is not ready, and starts when Redis answers`()
        async throws
    {
        try await RestartableRedis.running(port: try await freePort()) { redis in
            await redis.crash()
            let management = try await freePort()
            func probe(_ path: String) async throws -> String {
                try await blocking {
                    let socket = try RawSocket(port: management)
                    try socket.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    return String(decoding: try socket.readToEnd(), as: UTF8.self)
                }
            }
            let environment: [Environment.Key: String] = Self.good.merging([
                "PATH": "/usr/bin:/bin", "ENROUTE_LISTEN_PORT": "0", "ENROUTE_LISTEN_HOST": "127.0.0.1",
                "ENROUTE_MANAGEMENT": "on",
                "ENROUTE_MANAGEMENT_PORT": "\(management)", "ENROUTE_REDIS_LIVE_URL": redis.url,
                "ENROUTE_MODE": "development",
            ]) { $1 }.reduce(into: [:]) { $0[Environment.Key(rawValue: $1.key)!] = $1.value }
            var platform = PlatformOptions()
            platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
            let output = try await Subprocess.run(
                .path(.init(CommandTests.binary)), arguments: ["serve"], environment: .custom(environment),
                platformOptions: platform, input: .none, output: .sequence, error: .combinedWithOutput
            ) { execution in
                var output: [String] = []
                for try await line in execution.standardOutput.strings() {
                    output.append(line)
                    if line.contains("waiting for Redis") {
                        #expect(try await probe("/livez").hasPrefix("HTTP/1.1 200 "))
                        #expect(try await probe("/readyz").hasPrefix("HTTP/1.1 503 "))
                        try await redis.start()
                    }
                    guard line.contains("enroute: listening") else { continue }
                    try await becomes("the gateway is ready") {
                        try await probe("/readyz").hasPrefix("HTTP/1.1 200 ")
                    }
                    break
                }
                try? execution.send(signal: .kill)
                return output
            }.closureResult
            #expect(output.count { $0.contains("waiting for Redis") } == 1, "\(output)")
            #expect(output.contains { $0.contains("enroute: listening") }, "\(output)")
        }
    }

    @Test func `B38: SIGTERM stops a gateway that waits for Redis`() async throws {
        let environment: [Environment.Key: String] = Self.good.merging([
            "PATH": "/usr/bin:/bin", "ENROUTE_LISTEN_PORT": "0", "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock",
        ]) { $1 }.reduce(into: [:]) { $0[Environment.Key(rawValue: $1.key)!] = $1.value }
        let outcome = try await Subprocess.run(
            .path(.init(CommandTests.binary)), arguments: ["serve"], environment: .custom(environment), input: .none,
            output: .sequence, error: .combinedWithOutput
        ) { execution in
            for try await line in execution.standardOutput.strings() where line.contains("waiting for Redis") {
                try execution.send(signal: .terminate)
            }
        }
        #expect(outcome.terminationStatus == .exited(0))
    }

    @Test func `B38: a gateway exits when Redis rejects its password`() async throws {
        try await withServer(options: ["--requirepass", "hunter2"]) { server in
            for mode in ["production", "development"] {
                let settings = ["ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_MODE": mode]
                let outcome = try await CommandTests.run(["serve"], environment: Self.good.merging(settings) { $1 })
                #expect(outcome.code == 78 && outcome.error.contains("refused the credentials"), "\(outcome)")
                // Development mode refuses it too.
                #expect(!outcome.error.contains("ENROUTE_MODE"), "\(outcome)")
            }
        }
    }

    // MARK: B36, B44, B16

    /// Findings of `enroute check --format json`.
    private struct Report: Decodable {
        let errors: Int
        let findings: [Finding]
    }

    private static func check(_ settings: [String: String]) async throws -> (code: Int32, report: Report) {
        let outcome = try await CommandTests.run(["check", "--format", "json"], environment: settings)
        #expect(outcome.error.isEmpty, "\(outcome)")
        return (outcome.code, try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)))
    }

    /// With a user that may read keys, with the gateway's user only, and without any keys.
    @Test(arguments: ["jobs and operations", "jobs", ""])
    func `B36: swapped URLs are found, and no remedy deletes anything`(known: String) async throws {
        try await Self.deployed { live, ledger in
            if known.contains("jobs") {
                let client = try await RedisClient.started(at: RedisAddress(url: Self.url("enroute", ledger)))
                defer { client.stop() }
                let settings = LiveStateSettings()
                let new = NewJob(
                    job: JobID("job-1")!, kind: .delivery, customer: PersonID("anna")!, actor: PersonID("orders")!)
                _ = try await JobLedger(ledger: client, settings: settings).create(new, epoch: "e").get()
                try await AuditStreams(ledger: client, settings: settings)
                    .append(.erased(JobID("job-1")!, keys: 2, because: .arrived)).get()
            }
            var settings = [
                "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", ledger),
                "ENROUTE_REDIS_LEDGER_URL": Self.url("enroute", live),
            ]
            if known.contains("operations") {
                settings["ENROUTE_REDIS_LIVE_ADMIN_URL"] = Self.url("operations", ledger)
                settings["ENROUTE_REDIS_LEDGER_ADMIN_URL"] = Self.url("operations", live)
            }
            let (code, report) = try await Self.check(Self.good.merging(settings) { $1 })
            #expect(code == 78)
            let errors = report.findings.filter { $0.severity == .error }
            #expect(errors.map(\.subject) == [.swapped], "\(errors)")
            #expect(errors.first?.what.hasPrefix("The live URL and the ledger URL look swapped") == true)
            let remedies = report.findings.map(\.remedy).joined()
            #expect(!remedies.contains("delete") && !remedies.contains("CONFIG SET"), "\(remedies)")
            let outcome = try await CommandTests.run(["serve"], environment: Self.good.merging(settings) { $1 })
            #expect(outcome.code == 78 && outcome.error.contains("look swapped"), "\(outcome)")
        }
    }

    @Test func `B36: the remedy for a Redis that holds jobs does not delete them`() async throws {
        try await withServer(options: ["--appendonly", "yes"]) { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            try await client.run("HSET", Keyspace().job(JobID("job-1")!), "status", "created")
            let (_, report) = try await Self.check(Self.good.merging(["ENROUTE_REDIS_LIVE_URL": server.url]) { $1 })
            let finding = try #require(report.findings.first { $0.role == .live && $0.subject == .persistence })
            #expect(finding.severity == .error)
            #expect(finding.remedy.contains("it holds jobs") && !finding.remedy.contains("delete"), "\(finding)")
        }
    }

    @Test func `B44: checking Redis requires only the settings of Redis`() async throws {
        try await Self.deployed { live, ledger in
            let (code, report) = try await Self.check([
                "ENROUTE_REDIS_LIVE_URL": Self.url("enroute", live),
                "ENROUTE_REDIS_LEDGER_URL": Self.url("enroute", ledger),
            ])
            #expect(code == 0 && report.errors == 0, "\(report)")
            let own = report.findings.filter { $0.subject == .configuration }
            #expect(own.allSatisfy { $0.severity == .warning && $0.role == nil })
            #expect(own.contains { $0.what.contains("ENROUTE_TLS_CERTIFICATE_FILE is not set") }, "\(own)")
            #expect(own.contains { $0.what.contains("No token verification key is set") }, "\(own)")
            #expect(report.findings.contains { $0.role == .ledger && $0.subject == .reload && $0.severity == .ok })
        }
    }

    @Test(arguments: [
        ["ENROUTE_LISTEN_PORT": "99999"], ["ENROUTE_REDIS_LIVE_URL": "http://x"], ["ENROUTE_TLS": "maybe"],
        ["ENROUTE_REDIS_LEDGER_WAIT_REPLICAS": "some"], ["ENROUTE_REDIS_LIVE_URL": ""], ["ENROUTE_MODE": "test"],
    ])
    func `B16: an invalid setting is a finding in JSON too`(settings: [String: String]) async throws {
        let some = ["ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock"]
        let (code, report) = try await Self.check(Self.good.merging(some) { $1 }.merging(settings) { $1 })
        #expect(code == 78)
        let finding = try #require(report.findings.first { $0.subject == .configuration && $0.severity == .error })
        #expect(settings.keys.allSatisfy { finding.what.contains($0) || finding.what.contains("scheme") }, "\(finding)")
    }
}

/// A Redis user with all permissions.
private enum RedisCLI {
    static func run(_ port: Int, _ words: String...) async throws {
        var address = RedisAddress(endpoint: .tcp(host: "127.0.0.1", port: port))
        (address.user, address.password) = ("admin", DeployedRedis.password)
        let client = try await RedisClient.started(at: address)
        defer { client.stop() }
        _ = try await client.send(RedisCommand(words.map { .text($0) })).get()
    }
}
