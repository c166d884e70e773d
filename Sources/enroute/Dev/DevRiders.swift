// Riders that move while `enroute dev` runs: each one travels through a generated town, finishes a visit and starts the
// next one.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import NIOHTTP1

/// The riders of a gateway for development.
struct DevRiders: Sendable {
    let orders: DemoOrders
    /// The interval of the heartbeats of the rider whose token is printed.
    var heartbeat = Self.usualHeartbeat

    /// A third of the time after which a rider without heartbeats counts as unreachable.
    static let usualHeartbeat = Duration.seconds(30)
    /// Maximum number of riders: each is a connection in this process.
    static let most = 200
    /// The zone of all riders and jobs.
    static let zone = "dev"
    private static let capacity = 10
    /// The time from the arrival to the end of a visit, and the pause after a trip that failed.
    private static let visit = Duration.seconds(20)
    private static let pause = Duration.seconds(1)
    private static let day = Duration.seconds(86_400)

    /// Keeps a rider reachable until the task is cancelled, so that jobs can be assigned to it while people read the
    /// output.
    func keepReachable(_ rider: DemoOrders.Party) async throws {
        while true {
            try await Task.sleep(for: self.heartbeat)
            // Refused if the rider was set offline or uses another device. The person who tries the gateway has decided
            // that, so the refusal is ignored.
            _ = try? await self.orders.send(.PUT, "riders/me/presence", [:], by: rider)
        }
    }

    /// Approves a rider and declares it online.
    func describe(_ rider: DemoOrders.Party) async throws {
        try await self.orders.send(
            .PUT, "riders/\(rider.person)", ["zone": Self.zone, "approved": true, "capacity": Self.capacity],
            by: DevGuide.service)
        try await self.orders.send(.PATCH, "riders/me/status", ["status": "online"], by: rider)
    }

    /// Moves riders until the task is cancelled.
    ///
    /// - Parameter count: the number of riders; each has one job at a time.
    func move(_ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1..<count + 1 { group.addTask { try await self.move(rider: number) } }
            // Without riders, this task only waits to be cancelled.
            group.addTask { while true { try await Task.sleep(for: Self.day) } }
            try await group.waitForAll()
        }
    }

    private func move(rider number: Int) async throws {
        let rider = DemoOrders.Party(person: PersonID("seed-rider-\(number)")!, role: .rider)
        var trips = 0
        while !Task.isCancelled {
            trips += 1
            // The first job of each rider has a predictable id.
            let job = JobID(trips == 1 ? "seed-\(number)" : "seed-\(number)-\(trips)")!
            do {
                try await self.travel(rider, job, seed: UInt64(number) &+ UInt64(trips) << 16)
            } catch  where !Task.isCancelled {
                Output.complain("enroute dev: the trip of \(job) ended early: \(error)\n")
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Performs one job from its creation to its end.
    private func travel(_ rider: DemoOrders.Party, _ job: JobID, seed: UInt64) async throws {
        let journey = StreetGrid.generate(seed: seed).trip(seed: seed, startingAt: WallClock.nowMilliseconds)
        try await self.describe(rider)
        var visit: [String: any Sendable] = [
            "kind": JobKind.service.rawValue, "customer": DevGuide.customer.person.text, "rider": rider.person.text,
            "zone": Self.zone,
        ]
        if let destination = journey.destination {
            visit["destination"] = ["lat": destination.latitude, "lon": destination.longitude]
        }
        try await self.orders.send(.PUT, "jobs/\(job)", visit, by: DevGuide.service)
        try await self.set(.onTheWay, job)
        _ = try await Rider(
            url: self.orders.url.replacing("http://", with: "ws://"), token: try await self.orders.token(of: rider),
            trust: .system, job: job, journey: journey, speed: { 1 }
        ).travel()
        try await self.set(.workInProgress, job)
        try await Task.sleep(for: Self.visit)
        try await self.set(.completed, job)
    }

    private func set(_ status: JobStatus, _ job: JobID) async throws {
        try await self.orders.send(.POST, "jobs/\(job)/status", ["status": status.rawValue], by: DevGuide.service)
    }
}
