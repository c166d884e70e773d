import Embedded
import Foundation
import Gateway
import Logging
import NIOPosix
import Subprocess
import SystemPackage
import TestSupport
import Testing

@testable import enroute

/// `enroute serve` as a service of systemd: the notifications that a socket receives. Tests/Deploy starts the units in systemd.
@Suite(.needsMachine(for: .volume)) struct ServiceManagerTests {
    private static let settings = [
        "PATH": "/usr/bin:/bin", "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
        "ENROUTE_LOG_LEVEL": "critical", "ENROUTE_MODE": "development", "ENROUTE_MANAGEMENT": "off",
        "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "0", "ENROUTE_EVENT_LOOPS": "2",
        "ENROUTE_DRAIN_SECONDS": "1", "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000",
    ]

    /// Starts `enroute serve` for as long as `body` runs, then kills it if it still runs.
    private static func serving(
        _ more: [String: String], _ body: @escaping @Sendable (Int32) async throws -> Void
    ) async throws -> TerminationStatus {
        var variables: [Environment.Key: String] = [:]
        for (name, value) in self.settings.merging(more, uniquingKeysWith: { $1 }) {
            variables[Environment.Key(rawValue: name)!] = value
        }
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        return try await Subprocess.run(
            .path(.init(CommandTests.binary)), arguments: ["serve"], environment: .custom(variables),
            platformOptions: platform, input: .none, output: .sequence, error: .combinedWithOutput
        ) { execution in
            try await body(execution.processIdentifier.value)
            for try await _ in execution.standardOutput.strings() {}
        }.terminationStatus
    }

    @Test(arguments: [false, true])
    func `systemd is notified of the start, the wait for Redis, readiness, a reload and the stop, in this order`(
        isAbstract: Bool
    ) async throws {
        try await TemporaryFolder.holding("enroute-notify") { folder in
            let receiver = try NotificationReceiver(folder: folder, isAbstract: isAbstract)
            let redis = "\(folder)/redis.sock"
            let status = try await Self.serving([
                "ENROUTE_REDIS_LIVE_URL": "unix:\(redis)", "NOTIFY_SOCKET": receiver.name,
                "WATCHDOG_USEC": "400000",
            ]) { process in
                func next() async throws -> String { try await blocking { try receiver.nextChange() } }
                #expect(
                    try await next()
                        == "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=not ready: waiting for Redis, or for the clock")
                try await RedisServer.running { server in
                    try FileManager.default.createSymbolicLink(
                        atPath: redis, withDestinationPath: server.socketPath)
                    var ready = try await next()
                    // The wait may have extended the timeout before, and Redis is reached before the gateway listens.
                    while !ready.hasPrefix("READY=1") {
                        #expect(ready.wholeMatch(of: /(EXTEND_TIMEOUT_USEC=30000000\n?)?(STATUS=starting)?/) != nil)
                        ready = try await next()
                    }
                    #expect(ready.contains(/^READY=1\nSTATUS=ready: listening on port \d+$/), "\(ready)")

                    // The watchdog is fed repeatedly.
                    for _ in 0..<3 { #expect(try await blocking { receiver.next() } == "WATCHDOG=1") }

                    kill(process, SIGHUP)
                    let reloading = try await next()
                    let match = try #require(
                        reloading.wholeMatch(
                            of: /RELOADING=1\nMONOTONIC_USEC=(\d+)\nSTATUS=reading the TLS files again/))
                    var now = timespec()
                    clock_gettime(CLOCK_MONOTONIC, &now)
                    let age = Double(now.tv_sec) - Double(match.1)! / 1_000_000
                    #expect(age > -1 && age < 60, "not microseconds of CLOCK_MONOTONIC")
                    #expect(try await next() == ready)

                    kill(process, SIGTERM)
                    // 1 s of draining, 5 s for the shutdown, 5 s in reserve.
                    #expect(
                        try await next()
                            == "STOPPING=1\nSTATUS=stopping: clients are asked to reconnect to another gateway\n"
                            + "EXTEND_TIMEOUT_USEC=11000000")
                }
            }
            #expect(status == .exited(0))
            // Nothing follows.
            while let text = receiver.next(within: 0) { #expect(text == "WATCHDOG=1") }
        }
    }

    @Test func `a gateway starts although its service manager cannot be notified, and logs the reason once`()
        async throws
    {
        try await RedisServer.running { redis in
            let environment = Self.settings.merging([
                "ENROUTE_REDIS_LIVE_URL": redis.url, "NOTIFY_SOCKET": "/nowhere/notify", "ENROUTE_LOG_LEVEL": "info",
                "WATCHDOG_USEC": "100000",
            ]) { $1 }
            let output = try await CommandTests.serve(environment, until: ["enroute: listening"])
            let warnings = output.split(separator: "\n").filter { $0.contains("systemd cannot be notified") }
            #expect(warnings.count == 1 && output.contains("No such file or directory"), "\(output)")
        }
    }

    @Test func `while an event loop is blocked, the watchdog is not fed`() async throws {
        try await TemporaryFolder.holding("enroute-notify") { folder in
            try await RedisServer.running { redis in
                let receiver = try NotificationReceiver(folder: folder, isAbstract: true)
                var settings = Self.settings
                settings["PATH"] = nil
                settings["ENROUTE_REDIS_LIVE_URL"] = redis.url
                let configuration = ProcessConfiguration(SettingSources(environment: settings))
                let gatewaySettings = try await configuration.gateway(host: nil, port: nil)
                let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
                let status = GatewayStatus()
                let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                let reporter = ServiceReporter(
                    ServiceManagerEnvironment(
                        ["NOTIFY_SOCKET": receiver.name, "WATCHDOG_USEC": "400000"], process: getpid()),
                    gateway: status, logger: logger)
                let gateway = GatewayServer(
                    settings: gatewaySettings, group: group, logger: logger, status: status,
                    onListening: { reporter.started(port: $0.gateway) })
                let running = Task { try await gateway.run() }
                let reporting = Task { await reporter.run() }
                func next() async throws -> String { try await blocking { try receiver.nextChange() } }
                while try await !next().hasPrefix("READY=1") {}
                for _ in 0..<3 { #expect(try await blocking { receiver.next() } == "WATCHDOG=1") }

                let blocked = DispatchSemaphore(value: 0)
                let loop = try #require(Array(group.makeIterator()).last)
                loop.execute { blocked.wait() }
                #expect(try await next() == "STATUS=not ready: an event loop is blocked")
                // Five feeds would have been due by now.
                #expect(try await blocking { receiver.next(within: 1_000) } == nil)

                blocked.signal()
                let resumed = try await blocking { [receiver.next(), receiver.next()] }
                #expect(resumed.contains { $0?.hasPrefix("WATCHDOG=1") == true }, "\(resumed)")
                reporting.cancel()
                running.cancel()
                _ = try? await running.value
                await reporting.value
                try await group.shutdownGracefully()
            }
        }
    }

    @Test func `the variables of systemd are removed from the environment`() async {
        // In a process of its own, because other tests read the environment that this one changes.
        await #expect(processExitsWith: .success) {
            for name in ServiceManagerEnvironment.names { setenv(name, "1", 1) }
            let environment = ServiceManagerEnvironment.take()
            #expect(environment.socket == "1")
            for name in ServiceManagerEnvironment.names { #expect(getenv(name) == nil) }
        }
    }
}
