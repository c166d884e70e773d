// The riders of the demo's town. Each rider travels to a shop, picks up an order, delivers it and continues with the
// next one. It reports over its own connection, as a phone does.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import NIOHTTP1

/// All riders but yours.
struct DemoTownRiders: Sendable {
    let town: DemoTown
    let orders: DemoOrders
    let follower: DemoFollower
    /// `ws://…` of the relay.
    let socket: String
    let trust: ServerTrust

    /// Seconds between two reports of a rider.
    private static let reportInterval = 3
    /// Seconds between two heartbeats of a rider on the way to a shop.
    private static let heartbeat = 10
    private static let atTheDoor = 10...30
    private static let afterFailure = Duration.seconds(5)
    /// Pause between the starts of two riders, so that they do not all sign in at once.
    private static let startPause = Duration.milliseconds(40)
    /// One rider in this many loses GPS for a while, in cycles of `faultCycle` seconds.
    private static let faultyOneIn = 13
    /// The follower measures only the first riders. Every subscription is an entry of the audit trail, which would
    /// otherwise show little else.
    private static let followed = 8
    private static let faultCycle: Int64 = 240
    private static let faultSeconds: Int64 = 60

    /// Works until the task is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1..<DemoTown.riders {
                group.addTask {
                    try await Task.sleep(for: Self.startPause * number)
                    await self.work(number)
                }
                group.addTask { try await self.sendHeartbeats(of: DemoCast.rider(number)) }
            }
            try await group.waitForAll()
        }
    }

    private func work(_ number: Int) async {
        let rider = DemoCast.rider(number)
        let vehicle = DemoCast.vehicles[number % DemoCast.vehicles.count]
        var shift = Shift(rider: rider, number: number, speed: vehicle.metersPerSecond)
        while !Task.isCancelled {
            do {
                if !shift.isDescribed {
                    try await self.orders.describe(rider, named: DemoCast.riders[number], vehicle: vehicle.name)
                    shift.isDescribed = true
                }
                try await self.deliver(&shift)
            } catch {
                if Task.isCancelled { return }
                // A button of the stage may have caused the error. The rider gives up the order and continues with
                // another one.
                if let order = shift.order { await self.giveUp(order) }
                shift.order = nil
                try? await Task.sleep(for: Self.afterFailure)
            }
        }
    }

    /// The current state of a rider.
    private struct Shift {
        let rider: DemoOrders.Party
        let number: Int
        let speed: Double
        var isDescribed = false
        /// Where the rider is; `nil` before the first order.
        var place: StreetGrid.Corner?
        var order: TownOrder?
        var next: TownOrder?
        var trips = 0
    }

    /// Delivers one order: to the shop, then to the customer's door.
    private func deliver(_ shift: inout Shift) async throws {
        let order: TownOrder
        if let next = shift.next { order = next } else { order = try await self.town.claim(for: shift.rider) }
        (shift.order, shift.next) = (order, nil)
        if let place = shift.place, place != order.shop { try await self.ride(shift, from: place, to: order.shop) }
        shift.place = order.shop
        try await self.orders.take("arrived_at_store", of: order.job, by: shift.rider)
        try await self.town.finish(order)
        try await self.orders.take("picked_up", of: order.job, by: shift.rider)
        try await self.orders.take("in_transit", of: order.job, by: shift.rider)
        shift.next = try? await self.town.claim(for: shift.rider)
        try await self.travel(shift, order)
        shift.place = order.home
        try await self.orders.take("completed", of: order.job, by: shift.rider)
        shift.order = nil
        shift.trips += 1
        await self.town.forget(order.job)
        try await Task.sleep(for: .seconds(Int.random(in: Self.atTheDoor)))
    }

    private func journey(_ shift: Shift, from: StreetGrid.Corner, to: StreetGrid.Corner, every seconds: Int) -> Journey
    {
        self.town.grid.trip(
            from: from, to: to, seed: UInt64(shift.number) &+ UInt64(shift.trips) << 16, cruise: shift.speed,
            everySeconds: seconds, startingAt: WallClock.nowMilliseconds)
    }

    /// Travels to a shop. Operations staff see the rider through its heartbeats; customers do not.
    private func ride(_ shift: Shift, from: StreetGrid.Corner, to: StreetGrid.Corner) async throws {
        for fix in self.journey(shift, from: from, to: to, every: Self.heartbeat).fixes {
            let place = ["lat": fix.latitude, "lon": fix.longitude]
            _ = try? await self.orders.send(.PUT, "riders/me/presence", place, by: shift.rider)
            try await Task.sleep(for: .seconds(Self.heartbeat))
        }
    }

    private func travel(_ shift: Shift, _ order: TownOrder) async throws {
        var journey = self.journey(shift, from: order.shop, to: order.home, every: Self.reportInterval)
        // At the start of the demo, each rider is somewhere on its route.
        if shift.trips == 0 { journey = journey.dropping(first: Int.random(in: 0...journey.fixes.count / 2)) }
        if shift.number <= Self.followed { self.follower.follow(order.job) }
        defer { self.follower.unfollow(order.job) }
        let isFaulty = shift.number % Self.faultyOneIn == 0
        _ = try await Rider(
            url: self.socket, token: try await self.orders.token(of: shift.rider), trust: self.trust, job: order.job,
            journey: journey, speed: { 1 },
            unavailableReason: {
                let second = WallClock.nowMilliseconds / 1_000 % Self.faultCycle
                return isFaulty && second < Self.faultSeconds ? .noFix : nil
            }
        ).travel()
    }

    /// Keeps the rider reachable until the task is cancelled.
    private func sendHeartbeats(of rider: DemoOrders.Party) async throws {
        while true {
            try await Task.sleep(for: .seconds(3 * Self.heartbeat))
            _ = try? await self.orders.send(.PUT, "riders/me/presence", by: rider)
        }
    }

    private func giveUp(_ order: TownOrder) async {
        _ = try? await self.orders.set(.cancelled, of: order.job)
        await self.town.forget(order.job)
    }
}
