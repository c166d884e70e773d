// Serves the stage: a page that shows the customer's phone, the rider's phone and the operations page side by side, and
// buttons that cause faults. It listens on loopback only.

import EnrouteWire
import Foundation
import HTTPTypes
import HTTPValues
import Hummingbird
import Journeys
import Logging
import NIOCore
import OutboundHTTP
import WebAssets

/// Serves the stage and carries out the actions of its buttons.
struct DemoPanel: Sendable {
    let controls: DemoControls
    let follower: DemoFollower
    let faults: DemoFaults
    let orders: DemoOrders
    let gateways: [DemoProcess]
    let redis: [DemoProcess]
    let relay: DemoRelay
    let origins: DemoOrigins

    /// The state, which the stage requests once a second.
    private struct State: ResponseEncodable {
        struct Order: Encodable {
            var number: Int
            var job: String
            var isUnderway: Bool
            var isOver: Bool
        }
        struct Fix: Encodable {
            var lat, lon, acc, spd: Double
            var hdg: Double?
            /// ms since the epoch
            var at: Int64
        }
        struct Phone: Encodable {
            /// `nil` while location access is denied.
            var fix: Fix?
            var permission: String
            /// The button that the page presses.
            var press: String?
        }
        struct Gateway: Encodable {
            var name: String
            var isUp: Bool
            var kills: Int
        }
        var plot: String
        var speed: Double
        var order: Order?
        var phone: Phone
        var riders = DemoTown.riders
        var orders = DemoTown.orders
        var faults: [DemoFaults.Report]
        var p50Ms: Double?
        var p95Ms: Double?
        /// Number of locations that followers received.
        var received: Int
        var gateways: [Gateway]
        var redisRestarts: Int
        /// The origins of the pages. The rider's page accepts the phone's readings only from the stage.
        var origins: DemoOrigins
    }

    private struct Change: Decodable {
        var speed: Double?
    }

    /// Runs until the task is cancelled.
    ///
    /// - Parameter onListening: called with the port, to which the relay forwards the stage's.
    func run(onListening: @escaping @Sendable (Int) -> Void) async throws {
        let router = Router()
        router.add(middleware: OwnPagesOnly())
        for (path, type) in [("stage.js", "text/javascript"), ("stage.css", "text/css")] {
            router.get("\(path)") { _, _ in self.file(path, type) }
        }
        router.get("/") { _, _ in self.file("stage.html", "text/html") }
        router.get("state") { request, _ in
            self.controls.seen(hasPhone: request.uri.queryParameters["phone"] == "1")
            return self.state
        }
        router.get("open/{page}") { _, context in
            guard let page = Page(rawValue: context.parameters.get("page") ?? "") else { throw HTTPError(.notFound) }
            do {
                return Response.redirect(to: try await self.link(to: page), type: .normal)
            } catch let missing as DemoOrders.Refusal {
                return Self.excuse(page == .customer && !missing.isPassing ? Self.isOver : Self.notYet)
            }
        }
        router.post("set") { request, context in
            let change = try await request.decode(as: Change.self, context: context)
            if let speed = change.speed { self.controls.speed = speed }
            return self.state
        }
        router.post("again") { _, _ in
            guard self.controls.order?.isOver == true else { return HTTPResponse.Status.conflict }
            self.controls.wishForAnother()
            return HTTPResponse.Status.noContent
        }
        router.post("faults/{fault}") { _, context in
            guard let fault = DemoFault(rawValue: context.parameters.get("fault") ?? "") else {
                throw HTTPError(.notFound)
            }
            return self.faults.cause(fault) ? HTTPResponse.Status.noContent : .conflict
        }
        var logger = Logger(label: "stage")
        logger.logLevel = .critical
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.run()
    }

    private var state: State {
        let (measured, order) = (self.follower.measured, self.controls.order)
        let serving = self.relay.gateways
        return State(
            plot: self.controls.plot, speed: self.controls.speed,
            order: order.map {
                .init(number: $0.number, job: $0.job.text, isUnderway: $0.isUnderway, isOver: $0.isOver)
            },
            phone: self.phone, faults: self.faults.reports, p50Ms: measured.p50Milliseconds,
            p95Ms: measured.p95Milliseconds, received: measured.received,
            gateways: self.gateways.enumerated().map {
                .init(name: DemoFaults.name($0.offset), isUp: serving.contains($0.offset), kills: $0.element.ends)
            },
            redisRestarts: self.redis.map(\.ends).max() ?? 0, origins: self.origins)
    }

    private var phone: State.Phone {
        let receiver = self.controls.receiver
        guard receiver != .denied else {
            return .init(fix: nil, permission: "denied", press: self.controls.press)
        }
        let reading = self.controls.phone.reading(at: WallClock.nowMilliseconds)
        let fix = State.Fix(
            lat: reading.latitude + (receiver == .jumps ? DemoPhone.jump : 0), lon: reading.longitude,
            acc: reading.accuracyMeters ?? DemoPhone.accuracyMeters,
            spd: (reading.speedMetersPerSecond ?? 0) * self.controls.speed,
            hdg: reading.headingDegrees, at: reading.at)
        return .init(fix: fix, permission: "granted", press: self.controls.press)
    }

    /// The pages on the stage.
    private enum Page: String { case customer, rider, desk }

    /// The URL of a page, with a new link or sign-in code.
    ///
    /// - Throws: `DemoOrders.Refusal` if there is no order, or no gateway.
    private func link(to page: Page) async throws -> String {
        switch page {
        case .customer:
            guard let job = self.controls.order?.job else {
                throw DemoOrders.Refusal(description: "There is no order yet.", isPassing: true)
            }
            return self.origins.customer + (try await self.orders.customerPage(of: job))
        case .rider: return self.origins.rider + (try await self.orders.page("rider", of: DemoStory.rider))
        case .desk: return self.origins.desk + (try await self.orders.page("ops", of: .operations))
        }
    }

    private static let notYet = "Not ready yet. Reload this page in a moment."
    private static let isOver = "This order is over. Press “Once more” for another one."

    /// A page that is shown instead of one that cannot be opened.
    private static func excuse(_ text: String) -> Response {
        let page =
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">"
            + "<title>Enroute</title><p>\(text)</p></html>"
        return Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }

    private func file(_ name: String, _ type: String) -> Response {
        guard let bytes = EmbeddedFiles.panel[name] else { return Response(status: .notFound) }
        let pages = [self.origins.customer, self.origins.rider, self.origins.desk].joined(separator: " ")
        return Response(
            status: .ok,
            headers: [
                .contentType: "\(type); charset=utf-8", .cacheControl: "no-store",
                // `connect-src` contains the pages' origins, because the stage checks whether the browser trusts their
                // certificate.
                .contentSecurityPolicy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
                    + "connect-src 'self' \(pages); frame-src 'self' \(pages); base-uri 'none'; form-action 'none'; "
                    + "frame-ancestors 'none'",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// The origins of the pages. Each has its own port, because pages of one origin would share a tab's sign-in.
struct DemoOrigins: Encodable, Sendable {
    let stage, customer, rider, desk: String
}

/// Rejects requests from pages of other sites: they have another origin, or use another host name for this machine (DNS
/// rebinding).
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
