// The demonstration's plot: a visit is created, the technician sets out, travels, and arrives.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import Journeys
import LiveState
import Logging
import NIOCore
import NIOPosix
import Redis
import ServiceLifecycle

/// One job from its creation to the rider's arrival.
struct DemoPerformance: Sendable {
    let scene: DemoScene
    let redis: RedisAddress
    let settings: GatewaySettings
    let speed: Double
    let mint: TokenMint
    /// PEM file of the gateway's certificate.
    let certificate: String
    let logger: Logger

    private static let job = JobID("demo")!
    private static let customer = PersonID("customer")!
    private static let rider = PersonID("technician")!
    private static let service = PersonID("dispatch")!

    func run(port: Int) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (redis, logger) = (self.redis, self.logger)
        let client = try await loop.submit { RedisClient(address: redis, eventLoop: loop, logger: logger) }.get()
        try await client.start().get()
        defer { client.stop() }
        let ledger = JobLedger(ledger: client, settings: self.settings.liveState)
        _ = try await ledger.create(
            NewJob(
                job: Self.job, kind: .service, customer: Self.customer, rider: Self.rider,
                destination: self.scene.destination, actor: Self.service), epoch: UUID().uuidString
        ).get()
        _ = try await ledger.publish(.onTheWay, of: Self.job, by: Self.service, source: "event").get()
        try await ledger.listing.heed(Self.job, now: Int64(Date.now.timeIntervalSince1970 * 1000)).get()
        let link = try await TrackingLinks(ledger: client, settings: self.settings.liveState)
            .issue(for: Self.job, of: Self.customer, by: Self.service).get()

        let isSecure = self.settings.credentials != nil
        let journey = self.scene.journey
        // The secret stands behind the #, which a browser keeps to itself: it reaches no server and no log.
        say(
            """

              Follow the technician:  \(isSecure ? "https" : "http")://localhost:\(port)/track/\(Self.job)#\(link)

              \(journey.name): \(journey.fixes.count) fixes, \(Int(journey.lengthMeters)) m, \
            \(Int(journey.duration / .seconds(60) / self.speed)) min. Ctrl-C ends it.

            """)
        let token = try await self.mint.token(
            for: Self.rider, role: .rider, now: Int64(Date.now.timeIntervalSince1970), lifetime: 6 * 3600)
        let rider = Rider(
            url: "\(isSecure ? "wss" : "ws")://localhost:\(port)", token: token,
            trust: .authorities(file: self.certificate), job: Self.job, journey: journey, speed: self.speed)
        let summary = try await rider.travel()
        _ = try await ledger.publish(.workInProgress, of: Self.job, by: Self.rider, source: "event").get()
        _ = try await JobFeed(live: client, settings: self.settings.liveState).close(Self.job, because: .arrived).get()
        say(
            "enroute demo: the technician has arrived; \(summary.accepted) of \(summary.sent) positions were shown. Ctrl-C ends it."
        )
    }
}

/// Runs the performance once the gateway listens, and ends it when the process has to stop.
struct DemoService: Service, CustomStringConvertible {
    let performance: DemoPerformance
    let ports: AsyncStream<Int>

    var description: String { "demo" }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                for await port in self.ports { try await self.performance.run(port: port) }
                // The page stays up until somebody ends the demonstration.
                try await gracefulShutdown()
            } catch is CancellationError {}
        }
    }
}
