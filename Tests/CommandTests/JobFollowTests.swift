import Embedded
import EnrouteClient
import Foundation
import Subprocess
import TestSupport
import Testing

@testable import enroute

/// `enroute job follow` while its gateway is restarted.
@Suite(.needsMachine(for: .faults)) struct JobFollowTests {
    /// Runs `enroute serve` on a port for as long as `body` takes, then kills it.
    private static func withGateway(
        _ port: Int, _ redis: RedisServer, host: String = "127.0.0.1", _ body: () async throws -> Void
    ) async throws {
        let settings: [Environment.Key: String] = [
            "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_MODE": "development",
            "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": RoadTests.secret, "ENROUTE_LOG_LEVEL": "critical",
            "ENROUTE_MANAGEMENT": "off", "ENROUTE_LISTEN_HOST": host, "ENROUTE_LISTEN_PORT": "\(port)",
        ]
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        _ = try await Subprocess.run(
            .path(.init(CommandTests.binary)), arguments: ["serve"], environment: .custom(settings),
            platformOptions: platform, input: .none, output: .sequence, error: .discarded
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            _ = try #require(try await lines.next())
            try await body()
            try execution.send(signal: .kill)
            while try await lines.next() != nil {}
        }
    }

    @Test func `following survives a restart, with refused connections and with 503 in between`() async throws {
        try await withServer { redis in
            let port = try await freePort()
            let token = try await CommandTests.run(
                ["token", "--role", "service", "orders"], environment: ["ENROUTE_TOKEN_SECRET": RoadTests.secret])
            let settings = [
                "ENROUTE_CLIENT_URL": "http://127.0.0.1:\(port)",
                "ENROUTE_CLIENT_TOKEN": token.output.trimmingCharacters(in: .whitespacesAndNewlines),
            ]
            func enroute(_ words: String...) async throws {
                let outcome = try await CommandTests.run(["job"] + words, environment: settings)
                #expect(outcome.code == 0, "\(outcome)")
            }
            try await LossyProxy.running(to: .tcp(port: port)) { proxy in
                let proxyPort = try #require(proxy.endpoint.port)
                let url = "http://127.0.0.1:\(proxyPort)"
                let follow: @Sendable () async throws -> CommandTests.Outcome = {
                    try await CommandTests.run(
                        ["job", "follow", "visit-1"], environment: settings.merging(["ENROUTE_CLIENT_URL": url]) { $1 })
                }
                let followed = try await withThrowingTaskGroup(of: CommandTests.Outcome.self) { group in
                    try await Self.withGateway(port, redis) {
                        try await enroute("create", "visit-1", "--customer", "anna")
                        group.addTask { try await follow() }
                        // The request, and the socket.
                        try await becomes("it follows") { try await proxy.connectionCount == 2 }
                    }
                    // Nothing listens here now. Then a load balancer reports that it has no gateway.
                    try await becomes("it has tried again") { try await proxy.connectionCount >= 4 }
                    try await ProviderServer.running(port: port, { _ in .json("no gateway", status: 503) }) {
                        balancer in
                        try await becomes("both requests were refused twice") {
                            ["/v1", "/api/v1/jobs/visit-1"].allSatisfy { path in
                                balancer.questions.count { $0.uri == path } >= 2
                            }
                        }
                    }
                    try await Self.withGateway(port, redis) {
                        try await enroute("status", "visit-1", "cancelled")
                        let outcome = try await group.next()
                        #expect(
                            outcome?.code == 0 && outcome?.output.contains("  cancelled") == true, "\(outcome as Any)")
                        #expect(
                            outcome?.error.contains("The gateway is unavailable (HTTP 503). Reconnecting.") == true,
                            "\(outcome as Any)")
                    }
                    return true
                }
                #expect(followed)
            }
        }
    }

    /// Whether the machine has the address ::1. GatewayAddressTests check how an IPv6 address is parsed.
    private static let hasIPv6 =
        (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
        .contains("00000000000000000000000000000001") == true

    @Test(.enabled(if: Self.hasIPv6, "the machine has no IPv6"))
    func `a job can be followed at an IPv6 address`() async throws {
        try await withServer { redis in
            let port = try await freePort()
            let token = try await CommandTests.run(
                ["token", "--role", "service", "orders"], environment: ["ENROUTE_TOKEN_SECRET": RoadTests.secret])
            let settings = [
                "ENROUTE_CLIENT_URL": "http://[::1]:\(port)",
                "ENROUTE_CLIENT_TOKEN": token.output.trimmingCharacters(in: .whitespacesAndNewlines),
            ]
            try await Self.withGateway(port, redis, host: "::1") {
                for words in [
                    ["create", "visit-1", "--customer", "anna"], ["status", "visit-1", "cancelled"],
                    ["follow", "visit-1"],
                ] {
                    let outcome = try await CommandTests.run(["job"] + words, environment: settings)
                    #expect(outcome.code == 0, "\(outcome)")
                }
            }
        }
    }

    @Test(arguments: [
        (503, "The gateway is unavailable (HTTP 503)."),
        (429, "The gateway accepts no more connections from here at the moment (HTTP 429)."),
        (401, "The gateway refused the connection with HTTP status 401. Check the token and the URL."),
    ])
    func `the error of a refused upgrade contains advice`(status: UInt, text: String) {
        #expect(ClientError.upgradeRefused(status: status).description == text)
    }

    @Test func `a response without a problem document is reported as possibly from another server`() async throws {
        try await ProviderServer.running({ _ in .json("<html>", status: 502) }) { server in
            let outcome = try await CommandTests.run(
                ["job", "show", "visit-1"],
                environment: ["ENROUTE_CLIENT_URL": server.url, "ENROUTE_CLIENT_TOKEN": "x.y.z"])
            #expect(outcome.code == 69)
            let text = "The server answered HTTP 502 without a problem document; it may not be a gateway."
            #expect(outcome.error.contains(text), "\(outcome)")
        }
    }
}
