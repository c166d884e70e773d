// enroute-load: puts load on a running gateway.

import ArgumentParser
import Foundation
import LoadEngine

@main
struct EnrouteLoad: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroute-load",
        abstract: "Measures a running gateway: latency, CPU per message, memory per connection, handshakes.",
        discussion: """
            Messages go out on a fixed schedule, whatever becomes of those before, and latency counts from the scheduled \
            time. Everybody comes from one address here, so the gateway is started with higher limits:

              \(EnrouteGateway.unlimited.map { "\($0)=\($1)" }.sorted().joined(separator: "\n  "))

            Gateway and generator belong on different cores (taskset).

            Examples:
              taskset -c 1 enroute-load --url wss://127.0.0.1:8443 --redis 127.0.0.1:6379 --token-secret $SECRET \\
                --pid $(pidof enroute) --redis-pid $(pidof redis-server) --mode one-to-one --connections 5000 --rate 5000
              enroute-load --url wss://127.0.0.1:8443 --token-secret $SECRET --pid 42 --mode idle --connections 10000
              enroute-load --url wss://127.0.0.1:8443 --pid 42 --mode handshakes --resume --resume-at 127.0.0.1:8444
              enroute-load --url wss://127.0.0.1:8443 --token-secret $SECRET --pid 42 --redis-pid 43 --scene field \\
                --riders 5000 --interval 5 --warmup 10 --seconds 60
            """)

    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case oneToOne = "one-to-one", fanOut = "fan-out", idle, handshakes, slow
    }
    enum Way: String, CaseIterable, ExpressibleByArgument { case redis, riders }

    @Option(help: ArgumentHelp("The gateway: wss://host:port or ws://host:port.", valueName: "url"))
    var url: String
    @Option(
        help: ArgumentHelp(
            "The live Redis: host:port or unix:/path; repeat it for the masters of a cluster. 127.0.0.1:6379 by default.",
            valueName: "address"))
    var redis: [String] = []
    @Option(help: ArgumentHelp("Prefix of the gateway's keys, its ENROUTE_REDIS_PREFIX.", valueName: "text"))
    var redisPrefix = ""
    @Option(
        help: ArgumentHelp("The gateway's ENROUTE_TOKEN_SECRET; by default that of the environment.", valueName: "text")
    )
    var tokenSecret: String?
    @Option(help: ArgumentHelp("Process id of the gateway; repeat it for several.", valueName: "id"))
    var pid: [Int32] = []
    @Option(help: ArgumentHelp("Process id of Redis; repeat it for several.", valueName: "id"))
    var redisPid: [Int32] = []
    @Option(
        help:
            "one-to-one: each follower has its own job. fan-out: all follow one. idle: nothing is sent. handshakes: TLS only. slow: some followers do not read."
    )
    var mode = Mode.oneToOne
    @Option(help: "Number of followers; with handshakes, of concurrent handshakes.")
    var connections = 1000
    @Option(help: "Messages published per second, over all jobs.")
    var rate = 1000.0
    @Option(help: "Messages published at the same time; 1 spreads them evenly.")
    var burst = 1
    @Option(help: "Measured seconds.")
    var seconds = 10.0
    @Option(help: "Seconds of warm-up with the same load.")
    var warmup = 2.0
    @Option(help: "Size of a location in bytes, with --publish redis.")
    var payload = 200
    @Option(help: "redis: SPUBLISH to the feed. riders: locations over the riders' connections, through the gateway.")
    var publish = Way.redis
    @Option(help: "With slow: connections that do not read, in addition to --connections.")
    var slowConnections = 50
    @Option(help: "With slow: the number of jobs, which all of them follow.")
    var jobs = 10
    @Flag(help: "With handshakes: resume the session of the first connection.")
    var resume = false
    @Option(
        help: ArgumentHelp(
            "With handshakes: resume at another gateway with the same ticket keys.", valueName: "host:port"))
    var resumeAt: String?
    @OptionGroup(title: "A scene instead of a mode")
    var scene: SceneOptions
    @Option(help: ArgumentHelp("Where to write the figures as JSON.", valueName: "file"))
    var json: String?

    func validate() throws {
        guard self.url.hasPrefix("wss://") || self.url.hasPrefix("ws://") else {
            throw ValidationError("--url must start with wss:// or ws://.")
        }
        guard self.connections > 0, self.rate > 0, self.seconds > 0, self.warmup >= 0, self.jobs > 0, self.burst > 0
        else {
            throw ValidationError("--connections, --rate, --seconds, --jobs and --burst must be more than 0.")
        }
        guard self.payload <= 4000 else { throw ValidationError("--payload must be at most 4000.") }
    }

    func run() throws {
        let loop = try Loop()
        let isTLS = self.url.hasPrefix("wss://")
        let endpoint = try Endpoint(String(self.url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" }))
        let watched = Watched(
            server: self.pid.isEmpty ? nil : try ProcessGroup("gateway", self.pid),
            redis: self.redisPid.isEmpty ? nil : try ProcessGroup("redis", self.redisPid))
        let report: Report
        if self.scene.scene == nil, self.mode == .handshakes {
            guard isTLS else { throw ValidationError("--mode handshakes requires wss://.") }
            report = try Handshakes(
                endpoint, resumingAt: try self.resumeAt.map { try Endpoint($0) },
                resumes: self.resume || self.resumeAt != nil,
                width: min(self.connections, 64), warmup: self.warmup, seconds: self.seconds
            ).run(name: "enroute", watched: watched, loop: loop)
        } else {
            guard let secret = self.tokenSecret ?? ProcessInfo.processInfo.environment["ENROUTE_TOKEN_SECRET"] else {
                throw ValidationError("--token-secret or ENROUTE_TOKEN_SECRET is required.")
            }
            let gateway = EnrouteGateway(
                name: "enroute", dial: Dial(endpoint, tls: isTLS ? try TLSClient() : nil),
                mint: TokenMint(secret: secret),
                prefix: self.redisPrefix)
            report = try self.report(gateway, watched, loop)
        }
        print(report)
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(report).write(to: URL(fileURLWithPath: json))
        }
    }

    private func report(_ gateway: EnrouteGateway, _ watched: Watched, _ loop: Loop) throws -> Report {
        let redis = try (self.redis.isEmpty ? ["127.0.0.1:6379"] : self.redis).map { try Endpoint($0) }
        if let scene = self.scene.value(warmup: self.warmup, seconds: self.seconds) {
            return try gateway.play(scene, counting: redis, watched: watched, loop: loop)
        }
        let channels: Int
        switch self.mode {
        case .idle: return try gateway.idle(self.connections, settle: self.seconds, watched: watched, loop: loop)
        case .oneToOne: channels = self.connections
        case .fanOut: channels = 1
        case .slow: channels = self.jobs
        case .handshakes: preconditionFailure("handshakes have no followers")
        }
        let delivery = Delivery(
            mode: self.mode.rawValue, perSecond: self.rate, channels: channels, burst: self.burst, warmup: self.warmup,
            seconds: self.seconds)
        return try gateway.deliver(
            delivery, followers: self.connections, slow: self.mode == .slow ? self.slowConnections : 0,
            payload: self.payload, way: self.publish == .riders ? .riders : .redis(redis[0]),
            watched: watched, loop: loop)
    }
}
