// The parts of the demo, in the order in which they start: Redis, gateways, the stage, then the town and your order.

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
import Streets
import WebAssets

/// One run of the demo, in a temporary folder.
struct DemoStage: Sendable {
    let scene: DemoScene
    let speed: Double
    let seed: UInt64
    let folder: String
    /// PEM files; `nil` without TLS.
    let certificate: (certificate: String, key: String)?
    let ports: DemoPorts

    static let gateways = 2
    private static let restartPause = Duration.seconds(2)

    private var trust: ServerTrust { self.certificate.map { .authorities(file: $0.certificate) } ?? .system }
    private var relay: DemoRelay { self.ports.relay }
    private var origins: DemoOrigins { self.ports.origins(isSecure: self.certificate != nil) }

    private func url(_ scheme: String, _ port: Int) -> String {
        self.certificate == nil ? "\(scheme)://127.0.0.1:\(port)" : "\(scheme)s://localhost:\(port)"
    }

    /// Runs until the task is cancelled.
    func run() async throws {
        let secret = "\(UUID())\(UUID())"
        let controls = DemoControls(speed: self.speed, phone: DemoPhone(journey: self.scene.journey))
        let redis = [RedisRole.live, .ledger].map { (role: $0, process: DemoProcess()) }
        let gateways = (0..<Self.gateways).map { _ in DemoProcess() }
        let gateway = DemoGateway(arguments: try self.gatewayArguments(), secret: secret)
        let orders = DemoOrders(
            mint: try await TokenMint(
                secret: secret, issuer: DemoGatewayCommand.issuer, audience: DemoGatewayCommand.issuer),
            // Retries are not reported here, because a button of the stage has just caused them.
            url: self.url("http", self.ports.town), client: HTTPClient(configuration: try self.http()), report: { _ in }
        )
        defer { orders.client.shutdown { _ in } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            try await self.start(redis, in: &group)
            try await self.start(gateways, gateway, in: &group)
            let follower = DemoFollower(
                orders: orders, controls: controls, socket: self.url("ws", self.ports.customer), trust: self.trust)
            let faults = DemoFaults(
                controls: controls, follower: follower, orders: orders, redis: redis.map(\.process),
                gateways: gateways, relay: self.relay, riderDoor: self.ports.riderDoor,
                socket: self.url("ws", self.ports.town), trust: self.trust)
            let panel = DemoPanel(
                controls: controls, follower: follower, faults: faults, orders: orders, gateways: gateways,
                redis: redis.map(\.process), relay: self.relay, origins: self.origins)
            try await self.start(panel, in: &group)
            await self.sayLink()
            let socket = self.url("ws", self.ports.town)
            let town = DemoTown(grid: self.scene.grid, orders: orders, seed: self.seed)
            let riders = DemoTownRiders(
                town: town, orders: orders, follower: follower, socket: socket, trust: self.trust)
            let story = DemoStory(
                scene: self.scene, orders: orders, controls: controls, follower: follower, town: town, socket: socket,
                trust: self.trust)
            group.addTask { try await follower.run() }
            group.addTask { try await faults.run() }
            group.addTask { await town.run() }
            group.addTask { try await riders.run() }
            group.addTask { try await story.run() }
            while try await group.next() != nil {}
        }
    }

    /// Starts both redis-servers, and waits until they respond.
    private func start(
        _ redis: [(role: RedisRole, process: DemoProcess)], in group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws {
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
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
    }

    /// Starts the gateways, and waits until they accept connections.
    private func start(
        _ gateways: [DemoProcess], _ gateway: DemoGateway, in group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws {
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        for (number, process) in gateways.enumerated() {
            group.addTask {
                try await process.run(pause: Self.restartPause) { untilEnd in
                    try await self.run(gateway, number, untilEnd) { isReady.yield() }
                }
            }
        }
        try await Self.await(gateways.count, of: ready, in: &group)
    }

    /// Starts the page with the phones and the buttons, and waits until it can be opened.
    private func start(_ panel: DemoPanel, in group: inout ThrowingTaskGroup<Void, any Error>) async throws {
        let (opened, isOpen) = AsyncStream.makeStream(of: Void.self)
        group.addTask {
            try await panel.run { port in
                self.ports.stageRelay.add(port)
                isOpen.yield()
            }
        }
        try await Self.await(1, of: opened, in: &group)
    }

    /// Waits for `count` elements, or until a task fails.
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
        // Only the ledger may write to disk.
        let arguments = RedisServer.arguments(in: folder, isEphemeral: role == .live)
        let persistence = role == .live ? [] : ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]
        try await RedisServer.running(in: folder, words: arguments + persistence) { _ in await body() }
    }

    private func gatewayArguments() throws -> [String] {
        var arguments = ["--live", "unix:\(self.socket(of: .live))/redis.sock"]
        arguments += ["--ledger", "unix:\(self.socket(of: .ledger))/redis.sock"]
        arguments += ["--stage-origin", self.origins.stage, "--pages", try self.writePages()]
        if let certificate { arguments += ["--certificate", certificate.certificate, "--key", certificate.key] }
        if let streets = self.scene.streets {
            let path = "\(self.folder)/streets.geojson"
            try Data(streets).write(to: URL(filePath: path))
            arguments += ["--streets", path]
            // Streets that were drawn for a map do not always form a routable network.
            let network = "\(self.folder)/streets.network"
            do {
                _ = try StreetCompiler.compile(inputs: [path], output: network)
                arguments += ["--network", network]
            } catch {
                say("enroute demo: the streets are only drawn: \(error)")
            }
        }
        return arguments
    }

    private func run(
        _ gateway: DemoGateway, _ number: Int, _ untilEnd: @escaping @Sendable () async -> Void,
        _ onListening: @Sendable () -> Void
    ) async throws {
        var port: Int?
        defer { if let port { self.relay.remove(port) } }
        do {
            try await gateway.run(
                named: "gateway-\(DemoFaults.name(number))",
                onListening: {
                    port = $0
                    self.relay.add($0, gateway: number)
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

    /// Writes the pages that differ from the built-in ones: the rider's page, which reads the location from the stage's
    /// phone. This way, the pages of real gateways contain no code of the demo.
    ///
    /// - Returns: the folder.
    private func writePages() throws -> String {
        let folder = "\(self.folder)/pages"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let page = String(decoding: EmbeddedFiles.pages["rider.html"] ?? [], as: UTF8.self)
        let phone =
            #"<meta name="enroute-stage" content="\#(self.origins.stage)">"#
            + #"<script src="/assets/demo-phone.js"></script>"#
        let script = #"<script src="/assets/rider.js""#
        guard page.contains(script) else { preconditionFailure("rider.html loads rider.js") }
        try Data(page.replacing(script, with: phone + script).utf8).write(to: URL(filePath: "\(folder)/rider.html"))
        try Data(EmbeddedFiles.panel["demo-phone.js"] ?? []).write(to: URL(filePath: "\(folder)/demo-phone.js"))
        return folder
    }

    private func sayLink() async {
        let link = "\(self.origins.stage)/"
        say("\n  Open \(link)\n\n  Press Ctrl-C to stop.\n")
        await Desktop.open(link)
    }
}
