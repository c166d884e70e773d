// The demo's trip: the technician sets out, travels and arrives. A follower in this process measures the latency of each
// location.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import HTTPValues
import Journeys

/// One trip, from setting out to the arrival.
struct DemoPerformance: Sendable {
    let scene: DemoScene
    let orders: DemoOrders
    let controls: DemoControls
    /// `wss://…` of the relay.
    let socket: String
    let trust: ServerTrust

    /// The pause before following again.
    private static let pause = Duration.seconds(1)

    /// Runs the trip. An error ends it and is printed; the pages and the panel keep running.
    func run() async throws {
        do {
            try await self.perform()
        } catch  where !Task.isCancelled {
            self.controls.plot = "The trip ended early: \(error)"
            say(
                "enroute demo: the trip ended early: \(error) The pages and the panel keep running. Press Ctrl-C to stop."
            )
        }
    }

    private func perform() async throws {
        self.controls.plot = "The technician sets out."
        try await self.orders.set("on_the_way")
        let rider = Rider(
            url: self.socket, token: try await self.orders.token(of: .rider), trust: self.trust, job: DemoOrders.job,
            journey: self.scene.journey, speed: { [controls] in controls.speed },
            unavailableReason: { [controls] in controls.unavailableReason })
        self.controls.plot = "The technician is on the way."
        let summary = try await withThrowingTaskGroup(of: Rider.Summary?.self) { group in
            group.addTask { try await rider.travel() }
            group.addTask {
                try await self.measure()
                return nil
            }
            defer { group.cancelAll() }
            while let summary = try await group.next() { if let summary { return summary } }
            throw CancellationError()
        }
        try await self.orders.set("work_in_progress")
        self.controls.plot = "The technician has arrived."
        say(
            "enroute demo: the technician has arrived; \(summary.accepted) of \(summary.sent) locations were published. Press Ctrl-C to stop."
        )
    }

    /// Follows the job as a customer does, until it is cancelled.
    private func measure() async throws {
        while !Task.isCancelled {
            do {
                let token = try await self.orders.token(of: .customer)
                try await GatewayConnection.open(self.socket, token: token, trust: self.trust) { connection in
                    try await connection.send(.subscribe(job: DemoOrders.job, since: nil))
                    for try await message in connection.messages {
                        // This process sent it too, so both times are from the same clock.
                        guard case .location(let location) = message else { continue }
                        self.controls.note(latency: WallClock.nowMilliseconds - location.fix.at)
                    }
                }
            } catch  where !Task.isCancelled {
                // Its gateway was killed, or the simulated network is down.
            }
            try await Task.sleep(for: Self.pause)
        }
    }
}
