// The demonstration's plot: a visit is created, the technician sets out, travels, and arrives; meanwhile a customer of ours
// measures how long each position takes.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import HTTPValues
import Journeys

/// One job from its creation to the rider's arrival.
struct DemoPerformance: Sendable {
    let scene: DemoScene
    let orders: DemoOrders
    let controls: DemoControls
    /// `wss://…` of the relay.
    let socket: String
    let trust: ServerTrust

    /// Between attempts to follow again.
    private static let pause = Duration.seconds(1)

    /// Performs it. What goes wrong on the way ends the trip and is said; the pages and the panel stay.
    func run() async throws {
        do {
            try await self.perform()
        } catch  where !Task.isCancelled {
            self.controls.plot = "The trip ended early: \(error)"
            say("enroute demo: the trip ended early: \(error) The pages and the panel stay up. Ctrl-C ends them.")
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
            "enroute demo: the technician has arrived; \(summary.accepted) of \(summary.sent) positions were shown. Ctrl-C ends it."
        )
    }

    /// Follows as a customer does, for as long as it is let.
    private func measure() async throws {
        while !Task.isCancelled {
            do {
                let token = try await self.orders.token(of: .customer)
                try await GatewayConnection.open(self.socket, token: token, trust: self.trust) { connection in
                    try await connection.send(.subscribe(job: DemoOrders.job, since: nil))
                    for try await message in connection.messages {
                        // Sent by this process too, so both times are of one clock.
                        guard case .location(let location) = message else { continue }
                        self.controls.note(latency: .now - location.fix.at)
                    }
                }
            } catch  where !Task.isCancelled {
                // Its gateway was killed, or its network is cut.
            }
            try await Task.sleep(for: Self.pause)
        }
    }
}
