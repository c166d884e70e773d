// The demo's panel: buttons that simulate faults. It listens on loopback only.

import EnrouteWire
import Foundation
import Gateway
import Realtime
import WebAssets
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OutboundHTTP
import TrafficControl

/// Serves the panel and carries out its buttons.
struct DemoPanel: Sendable {
    let controls: DemoControls
    let orders: DemoOrders
    let redis: [DemoProcess]
    let gateways: [DemoProcess]
    let relay: DemoRelay

    /// What the panel shows; it polls every second.
    private struct State: ResponseEncodable {
        var plot: String
        var speed: Double
        var unavailableReason: String?
        var p50Ms: Double?
        var p95Ms: Double?
        var measured: Int
        /// Total number of locations that the follower received.
        var shown: Int
        var redisRestarts: Int
        var gatewaysUp: Int
        var gatewayKills: Int
    }

    private struct Change: Decodable {
        var speed: Double?
        /// Why the rider's location is unavailable; empty when it is not.
        var unavailableReason: String?
    }

    /// Runs until the task is cancelled.
    ///
    /// - Parameter onListening: called with the port.
    func run(onListening: @escaping @Sendable (Int) -> Void) async throws {
        let router = Router()
        router.add(middleware: OwnPagesOnly())
        router.get("/") { _, _ in Self.file("panel.html", "text/html") }
        router.get("panel.js") { _, _ in Self.file("panel.js", "text/javascript") }
        router.get("panel.css") { _, _ in Self.file("panel.css", "text/css") }
        router.get("state") { _, _ in self.state }
        router.get("open/{page}") { _, context in
            guard let page = context.parameters.get("page"), let url = try await self.link(to: page) else {
                throw HTTPError(.notFound)
            }
            return Response.redirect(to: url, type: .normal)
        }
        router.post("set") { request, context in
            let change = try await request.decode(as: Change.self, context: context)
            if let speed = change.speed { self.controls.speed = speed }
            if let unavailableReason = change.unavailableReason {
                self.controls.unavailableReason = UnavailableReason(rawValue: unavailableReason)
            }
            return self.state
        }
        router.post("restart-redis") { _, _ in
            for process in self.redis { process.end() }
            return HTTPResponse.Status.noContent
        }
        router.post("kill-gateway") { _, _ in
            // One gateway must keep serving while the other restarts.
            guard self.relay.ports.count == self.gateways.count else { return HTTPResponse.Status.conflict }
            self.gateways.min { $0.ends < $1.ends }?.end()
            return HTTPResponse.Status.noContent
        }
        var logger = Logger(label: "panel")
        logger.logLevel = .critical
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.run()
    }

    private var state: State {
        let (shown, latencies) = self.controls.measured
        return State(
            plot: self.controls.plot, speed: self.controls.speed,
            unavailableReason: self.controls.unavailableReason?.rawValue,
            p50Ms: latencies.percentile(50), p95Ms: latencies.percentile(95), measured: min(shown, DemoControls.newest),
            shown: shown,
            redisRestarts: self.redis.map(\.ends).max() ?? 0, gatewaysUp: self.relay.ports.count,
            gatewayKills: self.gateways.map(\.ends).reduce(0, +))
    }

    private func link(to page: String) async throws -> String? {
        switch page {
        case "customer": try await self.orders.customerPage()
        case "rider": try await self.orders.page("rider", of: .rider)
        case "ops": try await self.orders.page("ops", of: .operations)
        default: nil
        }
    }

    private static func file(_ name: String, _ type: String) -> Response {
        guard let bytes = EmbeddedFiles.panel[name] else { return Response(status: .notFound) }
        return Response(
            status: .ok,
            headers: [
                .contentType: "\(type); charset=utf-8", .cacheControl: "no-store",
                .contentSecurityPolicy: "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// Rejects requests of other sites' pages: those have another origin, or use another host name for this machine (DNS rebinding).
private struct OwnPagesOnly<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let host = request.head.authority ?? ""
        let origin = request.headers[.origin]
        guard LoopbackHost.isHost(of: host), origin == nil || origin == "http://\(host)" else {
            throw HTTPError(.forbidden)
        }
        return try await next(request, context)
    }
}
