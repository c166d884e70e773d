import Embedded
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// HAProxy in front of gateways in processes of their own, with one Redis that can be stopped. HAProxy checks `/readyz`, and
/// does not retry a refused connection on another server.
struct BalancedSite: Sendable {
    struct Gateway: Sendable {
        let port: Int
        let management: Int
        let send: @Sendable (Signal) -> Void
    }

    let gateways: [Gateway]
    let redis: RestartableRedis
    /// Where clients connect.
    let port: Int
    private let statistics: Int

    static let secret = "a secret of at least thirty-two bytes"

    /// HAProxy's state of one server.
    struct Server: Sendable {
        let status: String
        /// How often it was marked down.
        let downs: Int
        /// Number of connections since the start.
        let connections: Int
    }

    /// - Parameters:
    ///   - cutsSessions: whether HAProxy closes the sessions of a server that it marks down.
    ///   - settings: additional settings of the gateways.
    static func run(
        gateways: Int, cutsSessions: Bool, _ settings: [Environment.Key: String] = [:],
        _ body: @escaping @Sendable (BalancedSite) async throws -> Void
    ) async throws {
        try await RestartableRedis.running { redis in
            try await self.withGateways(gateways, redis.url, settings, []) { running in
                let (port, statistics) = (try await freePort(), try await freePort())
                try await self.withBalancer(port, statistics, running, cutsSessions) {
                    let site = BalancedSite(gateways: running, redis: redis, port: port, statistics: statistics)
                    let isUp = await eventually {
                        (try? await site.servers())?.allSatisfy { $0.status == "UP" } == true
                    }
                    try #require(isUp, "HAProxy did not mark the gateways up")
                    try await body(site)
                }
            }
        }
    }

    private static func withGateways(
        _ count: Int, _ redis: String, _ settings: [Environment.Key: String], _ running: [Gateway],
        _ body: @escaping @Sendable ([Gateway]) async throws -> Void
    ) async throws {
        guard running.count < count else { return try await body(running) }
        let environment: [Environment.Key: String] = [
            "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": redis, "ENROUTE_MODE": "development",
            "ENROUTE_TLS": "off",
            "ENROUTE_TOKEN_SECRET": self.secret, "ENROUTE_LOG_LEVEL": "critical", "ENROUTE_MANAGEMENT_PORT": "0",
            "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_LIMIT_SESSIONS_PER_ADDRESS": "0",
            "ENROUTE_LIMIT_SESSIONS_PER_PERSON": "0",
            "ENROUTE_LIMIT_CONNECTIONS_PER_ADDRESS": "0", "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000",
        ]
        try await self.process(
            [CommandTests.binary, "serve", "--host", "127.0.0.1", "--port", "0"], environment.merging(settings) { $1 }
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            let line = try #require(try await lines.next())
            let ports = try #require(line.firstMatch(of: /port (\d+).*probes and metrics on port (\d+)/))
            let process = execution.processIdentifier.value
            let gateway = Gateway(
                port: try #require(Int(ports.1)), management: try #require(Int(ports.2)),
                send: { kill(process, $0.rawValue) })
            try await self.withGateways(count, redis, settings, running + [gateway], body)
        }
    }

    private static func withBalancer(
        _ port: Int, _ statistics: Int, _ gateways: [Gateway], _ cutsSessions: Bool,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let servers = gateways.enumerated().map { index, gateway in
            "server g\(index) 127.0.0.1:\(gateway.port) check port \(gateway.management)"
        }
        // The shortest interval that works on a busy machine; a realistic one is 20 times as long.
        let configuration = """
            global
              maxconn 1000
              stats socket ipv4@127.0.0.1:\(statistics) level user
            defaults
              mode http
              timeout connect 2s
              timeout client 60s
              timeout server 60s
              timeout tunnel 1h
              timeout check 2s
              retries 0
            frontend public
              bind 127.0.0.1:\(port)
              default_backend gateways
            backend gateways
              balance leastconn
              option httpchk GET /readyz
              http-check expect status 200
              default-server inter 100ms fall 3 rise 1\(cutsSessions ? " on-marked-down shutdown-sessions" : "")
              \(servers.joined(separator: "\n  "))

            """
        try await TemporaryFolder.holding("enroute-haproxy") { folder in
            let file = "\(folder)/haproxy.cfg"
            try Data(configuration.utf8).write(to: URL(filePath: file))
            try await self.process(["haproxy", "-db", "-f", file], ["PATH": "/usr/sbin:/usr/bin:/bin"]) { execution in
                let output = execution.standardOutput.strings()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await _ in output {} }
                    defer { try? execution.send(signal: .kill) }
                    try await body()
                }
            }
        }
    }

    /// Runs a process until `body` returns, then kills it.
    private static func process(
        _ words: [String], _ environment: [Environment.Key: String],
        _ body: @escaping @Sendable (borrowing Execution<NoInput, SequenceOutput, DiscardedOutput>) async throws -> Void
    ) async throws {
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        _ = try await Subprocess.run(
            .name("setpriv"), arguments: Arguments(["--pdeathsig", "KILL"] + words),
            environment: .custom(environment), platformOptions: platform, input: .none, output: .sequence,
            error: .discarded
        ) { execution in
            defer { try? execution.send(signal: .kill) }
            try await body(execution)
        }
    }

    // MARK: actions of tests

    /// HAProxy's state of the gateways, in order.
    func servers() async throws -> [Server] {
        let port = self.statistics
        let text = try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send("show stat\n")
            return String(decoding: try socket.readToEnd(), as: UTF8.self)
        }
        let rows = text.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let names = try #require(rows.first).map { String($0.drop { "# ".contains($0) }) }
        func field(_ name: String, _ row: [Substring]) -> String {
            names.firstIndex(of: name).flatMap { row.indices.contains($0) ? String(row[$0]) : nil } ?? ""
        }
        return rows.filter { field("pxname", $0) == "gateways" && field("svname", $0).hasPrefix("g") }.map {
            Server(
                status: field("status", $0), downs: Int(field("chkdown", $0)) ?? -1,
                connections: Int(field("stot", $0)) ?? -1)
        }
    }

    func token(_ person: String, _ role: String) async throws -> String {
        try await CommandTests.run(
            ["token", person, "--role", role], environment: ["ENROUTE_TOKEN_SECRET": Self.secret]
        ).output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The response of a gateway's management listener.
    func manage(_ gateway: Gateway, _ path: String) async throws -> String {
        try await blocking {
            let socket = try RawSocket(port: gateway.management)
            try socket.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return String(decoding: try socket.readToEnd(), as: UTF8.self)
        }
    }

    /// Creates a visit whose technician is on the way.
    func makeVisit(_ job: String, customer: String, rider: String) async throws {
        let service = try await self.token("orders", "service")
        for (path, body, status) in [
            ("", #"{"job":"\#(job)","kind":"service","customer":"\#(customer)","rider":"\#(rider)"}"#, 201),
            ("/\(job)/status", #"{"status":"on_the_way"}"#, 200),
        ] {
            let port = self.port
            let answer = try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send(
                    "POST /api/v1/jobs\(path) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(service)\r\n"
                        + "Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                return String(decoding: try socket.readToEnd(), as: UTF8.self)
            }
            try #require(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        }
    }
}
