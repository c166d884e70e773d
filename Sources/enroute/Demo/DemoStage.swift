// Everything the demonstration consists of, and in which order it begins: Redis, gateways, their relay, then the plot.

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

/// One run of the demonstration, in a folder that goes with it.
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
        let gateway = DemoGateway(words: try self.gatewayWords(), secret: secret)
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
            try await orders.prepare(destination: self.scene.destination)
            try await self.sayLinks(orders, panel: opened.first { _ in true })
            let performance = DemoPerformance(
                scene: self.scene, orders: orders, controls: controls,
                socket: "\(self.certificate == nil ? "ws" : "wss")://localhost:\(self.port)", trust: self.trust)
            group.addTask { try await performance.run() }
            // The plot ends; the rest stays up until somebody ends the demonstration.
            while try await group.next() != nil {}
        }
    }

    /// Waits for so many, or for the first that fails.
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
        // What is live is on no disk; the ledger's folder goes with us.
        let words = RedisServer.words(in: folder, keepsNothing: role == .live)
        let kept = role == .live ? [] : ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]
        try await RedisServer.running(in: folder, words: words + kept) { _ in await body() }
    }

    private func gatewayWords() throws -> [String] {
        var words = ["--live", "unix:\(self.socket(of: .live))/redis.sock"]
        words += ["--ledger", "unix:\(self.socket(of: .ledger))/redis.sock"]
        if let certificate { words += ["--certificate", certificate.certificate, "--key", certificate.key] }
        if let streets = self.scene.streets {
            let path = "\(self.folder)/streets.geojson"
            try Data(streets).write(to: URL(filePath: path))
            words += ["--streets", path]
        }
        return words
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
            // Redis may just be beginning again; after a pause there is another try.
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
        // What opens a page stands behind the #, which a browser keeps to itself: it reaches no server and no log.
        say(
            """

              The customer follows:  \(pages[0])
              The rider travels:     \(pages[1])
              Operations look on:    \(pages[2])
              The panel:             \(panel)

              The links of the rider and of operations are good once and for ten minutes; the panel makes new ones.
              \(journey.name): \(journey.fixes.count) fixes, \(Int(journey.lengthMeters)) m, \
            \(Int(journey.duration / .seconds(60) / self.speed)) min. Ctrl-C ends it.

            """)
        for page in pages + [panel] { await Desktop.open(page) }
    }
}
