// The parts of the demo, in the order they start: Redis, gateways, the panel, then the trip.

import Access
import AsyncHTTPClient
import Embedded
import EnrouteClient
import EnrouteWire
import Foundation
import Journeys
import NIOCore
import NIOPosix
import NIOSSL

/// One run of the demo, in a temporary folder.
struct DemoStage: Sendable {
    let scene: DemoScene
    let speed: Double
    let folder: String
    /// PEM files; `nil` without TLS.
    let certificate: (certificate: String, key: String)?
    /// Where the relay listens.
    let listener: any Channel
    let relay: DemoRelay
    let port: Int

    static let gateways = 2
    private static let restartPause = Duration.seconds(2)

    private var scheme: String { self.certificate == nil ? "http" : "https" }
    private var trust: ServerTrust { self.certificate.map { .authorities(file: $0.certificate) } ?? .system }

    /// Runs until the task is cancelled.
    func run() async throws {
        let secret = "\(UUID())\(UUID())"
        let controls = DemoControls(speed: self.speed)
        let redis = [RedisRole.live, .ledger].map { (role: $0, process: DemoProcess()) }
        let gateways = (0..<Self.gateways).map { _ in DemoProcess() }
        let gateway = DemoGateway(arguments: try self.gatewayArguments(), secret: secret)
        let orders = DemoOrders(
            mint: try await TokenMint(
                secret: secret, issuer: DemoGatewayCommand.issuer, audience: DemoGatewayCommand.issuer),
            url: "\(self.scheme)://localhost:\(self.port)", client: HTTPClient(configuration: try self.http()))
        defer { orders.client.shutdown { _ in } }
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for (role, process) in redis {
                group.addTask {
                    try await process.run(pause: .zero) { untilEnd in
                        try await self.runRedis(role) {
                            isReady.yield()
                            await untilEnd()
                        }
                    }
                }
            }
            try await Self.await(redis.count, of: ready, in: &group)
            for process in gateways {
                group.addTask {
                    try await process.run(pause: Self.restartPause) { untilEnd in
                        try await self.run(gateway, untilEnd) { isReady.yield() }
                    }
                }
            }
            try await Self.await(gateways.count, of: ready, in: &group)
            let panel = DemoPanel(
                controls: controls, orders: orders, redis: redis.map(\.process), gateways: gateways, relay: self.relay)
            let (opened, isOpen) = AsyncStream.makeStream(of: Int.self)
            group.addTask { try await panel.run { isOpen.yield($0) } }
            try await orders.prepare(destination: self.scene.journey.destination)
            try await self.sayLinks(orders, panel: opened.first { _ in true })
            let performance = DemoPerformance(
                scene: self.scene, orders: orders, controls: controls,
                socket: "\(self.certificate == nil ? "ws" : "wss")://localhost:\(self.port)", trust: self.trust)
            group.addTask { try await performance.run() }
            // The trip ends; the servers and the panel keep running until the demo is stopped.
            while try await group.next() != nil {}
        }
    }

    /// Waits for `count` elements, or for the first task that fails.
    private static func await(
        _ count: Int, of stream: AsyncStream<Void>, in group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws {
        group.addTask { for await _ in stream.prefix(count) {} }
        _ = try await group.next()
    }

    // MARK: the servers

    private enum RedisRole: String { case live, ledger }

    private func socket(of role: RedisRole) -> String { "\(self.folder)/\(role.rawValue)" }

    private func runRedis(_ role: RedisRole, _ body: () async -> Void) async throws {
        let folder = self.socket(of: role)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Only the ledger writes to disk.
        let arguments = RedisServer.arguments(in: folder, isEphemeral: role == .live)
        let persistence = role == .live ? [] : ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]
        try await RedisServer.running(in: folder, words: arguments + persistence) { _ in await body() }
    }

    private func gatewayArguments() throws -> [String] {
        var arguments = ["--live", "unix:\(self.socket(of: .live))/redis.sock"]
        arguments += ["--ledger", "unix:\(self.socket(of: .ledger))/redis.sock"]
        if let certificate { arguments += ["--certificate", certificate.certificate, "--key", certificate.key] }
        if let streets = self.scene.streets {
            let path = "\(self.folder)/streets.geojson"
            try Data(streets).write(to: URL(filePath: path))
            arguments += ["--streets", path]
        }
        return arguments
    }

    private func run(
        _ gateway: DemoGateway, _ untilEnd: @escaping @Sendable () async -> Void, _ onListening: @Sendable () -> Void
    ) async throws {
        var port: Int?
        defer { if let port { self.relay.remove(port) } }
        do {
            try await gateway.run(
                onListening: {
                    port = $0
                    self.relay.add($0)
                    onListening()
                }, untilEnd: untilEnd)
        } catch is Unavailable {
            // Redis may be restarting. The gateway is restarted after a pause.
        }
    }

    private func http() throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        if let certificate {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(certificate.certificate)
            configuration.tlsConfiguration = tls
        }
        return configuration
    }

    private func sayLinks(_ orders: DemoOrders, panel: Int?) async throws {
        let journey = self.scene.journey
        let pages = [
            try await orders.customerPage(), try await orders.page("rider", of: .rider),
            try await orders.page("ops", of: .operations),
        ]
        let panel = "http://localhost:\(panel ?? 0)/"
        // The credential is in the fragment (after #), which browsers do not send: it reaches no server and no log.
        say(
            """

              Customer:    \(pages[0])
              Rider:       \(pages[1])
              Operations:  \(pages[2])
              Panel:       \(panel)

              The links for the rider and for operations work once and expire after ten minutes; the panel makes new ones.
              \(journey.name): \(journey.fixes.count) fixes, \(Int(journey.lengthMeters)) m, \
            \(Int(journey.duration / .seconds(60) / self.speed)) min. Press Ctrl-C to stop.

            """)
        for page in pages + [panel] { await Desktop.open(page) }
    }
}
