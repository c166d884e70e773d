// enroute demo: everything at once, on this machine, for as long as it runs: Redis, a gateway, a job, a rider, a page.

import Access
import ArgumentParser
import Embedded
import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import Journeys
import LiveState
import Logging
import NIOPosix
import Redis
import SecureSocket
import ServiceLifecycle
import UnixSignals
import Tracking

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows a live trip in your browser.",
        discussion: """
            Starts a redis-server of its own (on a unix socket, nothing on disk, ended with it), a gateway, a job and a
            rider, and prints the link of the customer's page. The certificate is made for this run, so the browser asks
            once whether to go on; with --plain it does not. Nothing is left behind.

            Examples:
              enroute demo
              enroute demo --trip trip.gpx.gz --streets streets.geojson.gz --speed 4
              enroute demo --plain --port 8080
            """)

    @Option(
        help: ArgumentHelp(
            "Recorded trip instead of a generated one: .gpx, .csv or .nmea, also .gz.", valueName: "file"))
    var trip: String?

    @Option(help: ArgumentHelp("Streets to draw, GeoJSON, also .gz.", valueName: "file"))
    var streets: String?

    @Option(help: "How many times faster than recorded, 0.1 to 100.")
    var speed: Double = 1

    @Option(help: "Port to listen on; when it is taken, the next free one.")
    var port = 8443

    @Option(help: "Seed of the generated streets and trip.")
    var seed: UInt64 = 1

    @Flag(help: "Without TLS: loopback only, and the browser does not ask.")
    var plain = false

    /// Ports tried, one after the other.
    static let mostPorts = 20

    func validate() throws {
        guard (0.1...100).contains(self.speed) else { throw ValidationError("--speed must be 0.1 to 100.") }
        guard (1...65_535).contains(self.port) else { throw ValidationError("--port must be 1 to 65535.") }
    }

    func run() async throws {
        try await exitingCleanly {
            let scene = try DemoScene(trip: self.trip, streets: self.streets, seed: self.seed)
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "enroute-demo-\(UUID().uuidString.prefix(8))")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            do {
                try await RedisServer.running { redis in try await self.run(scene, redis, folder.path) }
            } catch let failure as RedisServer.Failure {
                throw Unavailable(description: failure.description)
            }
        }
    }

    private func run(_ scene: DemoScene, _ redis: RedisServer, _ folder: String) async throws {
        let files = try DevelopmentCertificate(name: "enroute demo").write(to: folder)
        let secret = "\(UUID())\(UUID())"
        let address = try RedisAddress(url: redis.url)
        let verifier = TokenVerifier(keys: [try await .hs256(secret: secret)], issuer: "demo", audience: "demo")
        var settings = GatewaySettings(
            host: "127.0.0.1", port: self.port,
            credentials: self.plain
                ? nil : try TLSCredentials(certificateChain: files.certificate, privateKey: files.key),
            live: address, ledger: address, tokens: verifier)
        settings.streets = scene.streets
        settings.drain = .seconds(1)
        // A trip that is replayed faster is no less plausible.
        settings.judge.fastestMetersPerSecond *= max(1, self.speed)
        var logger = Logger(label: "enroute")
        logger.logLevel = .warning
        let mint = try await TokenMint(secret: secret, issuer: "demo", audience: "demo")
        for port in self.port..<min(self.port + Self.mostPorts, 65_536) {
            settings.port = port
            let performance = DemoPerformance(
                scene: scene, redis: address, settings: settings, speed: self.speed, mint: mint,
                certificate: files.certificate, logger: logger)
            do {
                try await self.run(performance, settings, logger)
            } catch GatewayServer.StartFailure.portTaken {
                say("enroute demo: port \(port) is taken; trying \(port + 1).")
                continue
            }
            return say("enroute demo: ended; its redis-server is gone and nothing is left.")
        }
        throw Unavailable(
            description:
                "Ports \(self.port) to \(self.port + Self.mostPorts - 1) are taken. Choose another with --port.")
    }

    /// Until a signal ends it; throws when the port is taken.
    private func run(_ performance: DemoPerformance, _ settings: GatewaySettings, _ logger: Logger) async throws {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let gateway = GatewayServer(
            settings: settings, group: MultiThreadedEventLoopGroup.singleton, logger: logger
        ) { ports in
            listening.yield(ports.gateway)
            listening.finish()
        }
        let lifecycle = ServiceGroupConfiguration(
            services: [
                .init(service: gateway),
                .init(
                    service: DemoService(performance: performance, ports: ports), successTerminationBehavior: .ignore),
            ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await ServiceGroup(configuration: lifecycle).run()
    }
}
