import Embedded
import EnrouteWire
import Foundation
import LiveState
import Logging
import NIOCore
import NIOPosix
import Redis
import Subprocess
import TestSupport
import Testing

/// `enroute serve`, `token` and `replay` together, end to end.
@Suite struct RoadTests {
    static let secret = "a secret of at least thirty-two bytes"

    /// Runs `body` with a temporary folder.
    static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// Runs `enroute serve` on a free port for as long as `body` takes. SIGTERM must then make it exit with 0.
    static func withGateway(
        _ folder: URL, _ redis: RedisServer, settings: [Environment.Key: String] = [:],
        _ body: @Sendable (_ port: Int, _ send: (Signal) throws -> Void) async throws -> Void
    ) async throws {
        let files = try DevelopmentCertificate().write(to: folder.path)
        let usual: [Environment.Key: String] = [
            "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": redis.url,
            "ENROUTE_TLS_CERTIFICATE_FILE": files.certificate,
            "ENROUTE_TLS_KEY_FILE": files.key, "ENROUTE_TOKEN_SECRET": self.secret, "ENROUTE_LOG_LEVEL": "critical",
            "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_DRAIN_SECONDS": "1",
            "ENROUTE_MANAGEMENT_PORT": "0", "ENROUTE_MODE": "development",
        ]
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        let outcome = try await Subprocess.run(
            .path(.init(CommandTests.binary)), arguments: ["serve", "--host", "127.0.0.1", "--port", "0"],
            environment: .custom(usual.merging(settings) { $1 }), platformOptions: platform, input: .none,
            output: .sequence, error: .discarded
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            let line = try #require(try await lines.next())
            let port = try #require(line.firstMatch(of: /listening on 127.0.0.1 port (\d+)/).flatMap { Int($0.1) })
            try await body(port) { try execution.send(signal: $0) }
            try execution.send(signal: .terminate)
            while try await lines.next() != nil {}
        }
        #expect(outcome.terminationStatus == .exited(0))
    }

    /// Creates a visit whose technician is on the way, directly in the ledger.
    private static func makeVisit(_ name: String, _ redis: RedisServer) async throws {
        let address = try RedisAddress(url: redis.url)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let client = try await loop.submit {
            RedisClient(address: address, eventLoop: loop, logger: Logger(label: "test"))
        }.get()
        try await client.start().get()
        defer { client.stop() }
        let ledger = JobLedger(ledger: client, settings: LiveStateSettings())
        let (job, service) = (JobID(name)!, PersonID("service")!)
        _ = try await ledger.create(
            NewJob(job: job, kind: .service, customer: PersonID("anna")!, rider: PersonID("rider-7")!, actor: service),
            epoch: "e"
        ).get()
        _ = try await ledger.publish(.onTheWay, of: job, by: service, source: "event").get()
    }

    private static func writeTrip(to folder: URL) throws -> String {
        let file = folder.appending(path: "trip.csv")
        let rows = (0..<40).map { "\(1000 + $0 * 1000),\(41.9 + Double($0) / 10_000),12.5" }
        try Data("unix_ms,lat,lon\n\(rows.joined(separator: "\n"))\n".utf8).write(to: file)
        return file.path
    }

    @Test func `a replayed trip reaches a gateway`() async throws {
        try await Self.withFolder { folder in
            try await withServer { redis in
                try await Self.makeVisit("visit-1", redis)
                let trip = try Self.writeTrip(to: folder)
                let certificate = folder.appending(path: "certificate.pem").path
                try await Self.withGateway(folder, redis) { port, _ in
                    let outcome = try await CommandTests.run(
                        [
                            "replay", trip, "--job", "visit-1", "--rider", "rider-7", "--speed", "20", "--url",
                            "wss://localhost:\(port)", "--authorities", certificate,
                        ], environment: ["ENROUTE_TOKEN_SECRET": Self.secret])
                    #expect(outcome.code == 0, "\(outcome)")
                    // B19: 40 fixes in 2 s are more than a gateway publishes, so only the newest were sent, at the gateway's
                    // pace.
                    let counts = outcome.output.matches(of: /sent (\d+), skipped (\d+), accepted (\d+)/).first
                    let (sent, skipped) = (Int(counts?.1 ?? "") ?? 0, Int(counts?.2 ?? "") ?? 0)
                    #expect(sent + skipped == 40 && (2...10).contains(sent), "\(outcome.output)")
                    #expect(outcome.output.contains("refused 0, conflated 0, reconnected 0 times"), "\(outcome.output)")

                    // A token of another rider, and an invalid token.
                    let other = try await CommandTests.run(
                        [
                            "replay", trip, "--job", "visit-1", "--rider", "rider-8", "--url",
                            "wss://localhost:\(port)", "--insecure",
                        ],
                        environment: ["ENROUTE_TOKEN_SECRET": Self.secret])
                    #expect(other.code == 69)
                    #expect(other.error.contains("not_found"))
                    let forged = try await CommandTests.run(
                        ["replay", trip, "--job", "visit-1", "--url", "wss://localhost:\(port)", "--insecure"],
                        environment: ["ENROUTE_REPLAY_TOKEN": "x.y.z"])
                    #expect(forged.code == 69)
                    #expect(forged.error.contains("HTTP status 401"), "\(forged.error)")
                }
            }
        }
    }

    @Test func `B19: an hour of fixes replayed at 1,000 times the speed exceeds no limit`() async throws {
        try await Self.withFolder { folder in
            try await withServer { redis in
                try await Self.makeVisit("visit-1", redis)
                let file = folder.appending(path: "hour.csv")
                let rows = (0..<3600).map { "\(1000 + $0 * 1000),\(41.9 + Double($0) / 1_000_000),12.5" }
                try Data("unix_ms,lat,lon\n\(rows.joined(separator: "\n"))\n".utf8).write(to: file)
                try await Self.withGateway(folder, redis) { port, _ in
                    let outcome = try await CommandTests.run(
                        [
                            "replay", file.path, "--job", "visit-1", "--rider", "rider-7", "--speed", "1000", "--url",
                            "wss://localhost:\(port)", "--insecure",
                        ], environment: ["ENROUTE_TOKEN_SECRET": Self.secret])
                    #expect(outcome.code == 0, "\(outcome)")
                    #expect(outcome.output.contains("refused 0, conflated 0, reconnected 0 times"), "\(outcome.output)")
                    #expect(outcome.error.contains("(default 100) a gateway holds fixes back"))
                }
            }
        }
    }

    @Test func `a gateway that accepts one message a second refuses no message of a replayed trip`() async throws {
        try await Self.withFolder { folder in
            try await withServer { redis in
                try await Self.makeVisit("visit-1", redis)
                let trip = try Self.writeTrip(to: folder)
                let limits: [Environment.Key: String] = [
                    "ENROUTE_LIMIT_MESSAGES_PER_SECOND": "1", "ENROUTE_LIMIT_MESSAGES_BURST": "1",
                ]
                try await Self.withGateway(folder, redis, settings: limits) { port, _ in
                    let outcome = try await CommandTests.run(
                        [
                            "replay", trip, "--job", "visit-1", "--rider", "rider-7", "--speed", "10", "--url",
                            "wss://localhost:\(port)", "--insecure",
                        ], environment: ["ENROUTE_TOKEN_SECRET": Self.secret])
                    #expect(outcome.code == 0, "\(outcome)")
                    #expect(outcome.output.contains("refused 0, conflated 0, reconnected 0 times"), "\(outcome.output)")
                }
            }
        }
    }

    @Test func `a replay with a malformed URL or unusable authorities fails with a remedy`() async throws {
        try await Self.withFolder { folder in
            let trip = try Self.writeTrip(to: folder)
            for (options, code, message) in [
                (["--url", "foo"], 64 as Int32, "--url must be wss://host[:port], or ws://host[:port] without TLS"),
                (["--authorities", "/nope"], 78, "--authorities names /nope, which cannot be read. Name a PEM file"),
                (["--authorities", trip], 78, "--authorities names \(trip), which contains no PEM certificate"),
            ] {
                let outcome = try await CommandTests.run(
                    ["replay", trip, "--job", "visit-1"] + options, environment: ["ENROUTE_REPLAY_TOKEN": "x.y.z"])
                #expect(outcome.code == code && outcome.error.contains(message), "\(outcome)")
            }
        }
    }

    @Test func `SIGHUP loads a new certificate, and keeps the current one if the new one is broken`() async throws {
        try await Self.withFolder { folder in
            try await withServer { redis in
                try await Self.makeVisit("visit-1", redis)
                let trip = try Self.writeTrip(to: folder)
                let trusted = folder.appending(path: "trusted.pem")
                try await Self.withGateway(folder, redis) { port, send in
                    func isTrusted() async throws -> Bool {
                        let outcome = try await CommandTests.run(
                            [
                                "replay", trip, "--job", "visit-1", "--rider", "rider-7", "--speed", "1000", "--url",
                                "wss://localhost:\(port)", "--authorities", trusted.path,
                            ], environment: ["ENROUTE_TOKEN_SECRET": Self.secret])
                        return outcome.code == 0
                    }
                    let shown = folder.appending(path: "certificate.pem")
                    try Data(contentsOf: shown).write(to: trusted)
                    #expect(try await isTrusted())

                    let key = try Data(contentsOf: folder.appending(path: "key.pem"))
                    try Data("no certificate".utf8).write(to: shown)
                    try send(Signal(rawValue: SIGHUP))
                    #expect(try await isTrusted())

                    try Data(DevelopmentCertificate(name: "another").certificatePEM.utf8).write(to: trusted)
                    _ = try DevelopmentCertificate(name: "renewed").write(to: folder.path)
                    #expect(key != (try Data(contentsOf: folder.appending(path: "key.pem"))))
                    try Data(contentsOf: shown).write(to: trusted)
                    try send(Signal(rawValue: SIGHUP))
                    // The signal is handled asynchronously, so it may take a moment.
                    var isRenewed = false
                    for _ in 0..<20 where !isRenewed { isRenewed = try await isTrusted() }
                    #expect(isRenewed)
                }
            }
        }
    }
}
