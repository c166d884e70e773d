// Your order, from when it is placed until it is at your door, and again when you request another one. It starts when
// somebody opens the stage. The rider's page on the stage is the rider's phone: it presses the buttons and reports the
// location. While that page is not open, this process does both.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import NIOHTTP1

/// Your orders, one after the other.
struct DemoStory: Sendable {
    let scene: DemoScene
    let orders: DemoOrders
    let controls: DemoControls
    let follower: DemoFollower
    let town: DemoTown
    /// `ws://…` of the relay.
    let socket: String
    let trust: ServerTrust

    static let rider = DemoCast.rider(0)
    private static let pollPause = Duration.milliseconds(250)
    /// Pauses between the steps, at speed 1.
    private static let kitchenPause = Duration.seconds(6)
    private static let shopPause = Duration.seconds(4)
    /// How long to wait for the rider's page to perform a step, before this process performs it. A final step can be
    /// undone for 10 s.
    private static let pagePatience = Duration.seconds(6)
    private static let finalPatience = Duration.seconds(18)
    private static let failurePause = Duration.seconds(2)
    /// The end of the promised window, from now.
    private static let promise = Duration.seconds(20 * 60)

    /// Runs until the task is cancelled.
    func run() async throws {
        try await self.until { self.controls.isWatched }
        for number in 1... {
            do {
                try await self.tell(number)
            } catch  where !Task.isCancelled {
                self.controls.plot = "This order ended early: \(error) Press “Once more” for another one."
                self.controls.press = nil
                if let job = self.controls.order?.job { _ = try? await self.orders.set(.cancelled, of: job) }
                try await Task.sleep(for: Self.failurePause)
            }
            if var order = self.controls.order {
                (order.isUnderway, order.isOver) = (false, true)
                self.controls.order = order
                self.follower.unfollow(order.job)
            }
            _ = self.controls.takeWish()
            try await self.until { self.controls.takeWish() }
            // Until now, the customer's page has shown how the order ended.
            if let order = self.controls.order { await self.town.forgetYours(order.job) }
        }
    }

    private func until(_ isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: Self.pollPause) }
    }

    /// Pauses for a time that is divided by the speed.
    private func pause(_ duration: Duration) async throws { try await Task.sleep(for: duration / self.controls.speed) }

    // MARK: one order

    private func tell(_ number: Int) async throws {
        let job = try await self.place(number)
        try await self.pause(Self.kitchenPause)
        try await self.orders.set(.accepted, of: job)
        self.controls.plot = "\(self.scene.shop.name) has accepted your order."
        try await self.pause(Self.kitchenPause)
        try await self.orders.set(.preparing, of: job)
        self.controls.plot = "Your order is being prepared."
        try await self.pause(Self.kitchenPause)
        try await self.orders.assign(job, to: Self.rider)
        self.controls.plot = "A new task: Rosa’s phone rings."
        try await self.pause(Self.shopPause)
        try await self.step("arrived_at_store", job, "Rosa has arrived at \(self.scene.shop.name).")
        try await self.orders.set(.readyForPickup, of: job)
        try await self.pause(Self.shopPause)
        try await self.step("picked_up", job, "Rosa has your order.")
        try await self.pause(Self.shopPause)
        try await self.step("in_transit", job, "Rosa is on the way to you. Now break something.")
        try await self.ride(job)
        try await self.step("completed", job, "Your order is here. Enjoy!")
    }

    private func place(_ number: Int) async throws -> JobID {
        try await self.orders.describe(
            Self.rider, named: DemoCast.riders[0], vehicle: DemoCast.vehicles[0].name, plate: "RO 123")
        self.controls.returnPhone()
        let order = await self.town.nextNumber()
        let job = JobID("order-\(order)")!
        try await self.orders.send(
            .POST, "jobs",
            DemoTown.description(
                of: job, number: order, customer: DemoOrders.customer, shop: self.scene.shop,
                at: self.scene.start, home: self.scene.home, promise: Self.promise), by: .service)
        self.controls.order = DemoControls.Order(number: number, job: job)
        self.follower.follow(job)
        self.controls.plot = "You have ordered at \(self.scene.shop.name)."
        return job
    }

    /// Waits for a step of the rider: the rider's page or you press the button, or this process sends the request after
    /// a while.
    private func step(_ step: String, _ job: JobID, _ plot: String) async throws {
        let isFinal = step == "completed"
        if self.controls.hasPhone {
            self.controls.press = step
            let deadline = ContinuousClock.now + (isFinal ? Self.finalPatience : Self.pagePatience)
            while ContinuousClock.now < deadline, try await !self.isTaken(step, job) {
                try await Task.sleep(for: Self.pollPause * 2)
            }
            self.controls.press = nil
        }
        if try await !self.isTaken(step, job) { try await self.orders.take(step, of: job, by: Self.rider) }
        self.controls.plot = plot
    }

    private static let steps = ["accepted", "arrived_at_store", "picked_up", "in_transit"]

    /// Whether the rider's task has reached a step. A completed task no longer exists.
    private func isTaken(_ step: String, _ job: JobID) async throws -> Bool {
        guard let task = try await self.orders.task(of: job, rider: Self.rider) else { return true }
        return (Self.steps.firstIndex(of: task) ?? 0) >= (Self.steps.firstIndex(of: step) ?? Self.steps.count)
    }

    /// Moves the rider's phone along the route until it arrives, or until the order ends in another way.
    private func ride(_ job: JobID) async throws {
        self.controls.order?.isUnderway = true
        // The page starts travel mode when the rider sets off on it. A page that was opened later, or was too slow for
        // that step, needs the tap on its switch.
        self.controls.press = "travel"
        defer {
            self.controls.press = nil
            self.controls.order?.isUnderway = false
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await self.reportWithoutPage(job) }
            var before = ContinuousClock.now
            var checkedAt = before
            while true {
                try await Task.sleep(for: Self.pollPause)
                let now = ContinuousClock.now
                if self.controls.ride(now - before) { return }
                before = now
                // You may have ended the order: on the rider's phone, as the customer, or on the operations page.
                guard now - checkedAt > .seconds(3) else { continue }
                checkedAt = now
                guard try await self.orders.task(of: job, rider: Self.rider) != nil else { return }
            }
        }
    }

    /// Reports the location from this process once no rider's page is open on the stage.
    private func reportWithoutPage(_ job: JobID) async throws {
        while true {
            try await self.until { !self.controls.hasPhone }
            do { return try await self.report(job) } catch  where !Task.isCancelled {
                // A page that was opened again reports the location, or a gateway was killed.
                try await Task.sleep(for: Self.failurePause)
            }
        }
    }

    private func report(_ job: JobID) async throws {
        let rider = Rider(
            url: self.socket, token: try await self.orders.token(of: Self.rider), trust: self.trust, job: job,
            journey: self.controls.phone.rest, speed: { [controls] in controls.speed },
            unavailableReason: { [controls] in controls.receiver == .denied ? .permissionDenied : nil })
        _ = try await rider.travel()
    }
}
