// The town of the demo: riders who deliver, and orders in every state. Each finished order is replaced by a new one and erased
// a little later, so that the town does not grow.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import NIOHTTP1

/// An order of the town.
struct TownOrder: Sendable {
    let job: JobID
    let shop: StreetGrid.Corner
    let home: StreetGrid.Corner
    var status = JobStatus.pendingVendorAcceptance
    /// Whether the vendor finishes the order before a rider arrives.
    var isEarly = false
    /// When the vendor takes the next step.
    var due = ContinuousClock.now
}

/// The orders that have no rider yet, and finished ones.
actor DemoTown {
    /// Yours is one of these riders and orders.
    static let riders = 40
    static let orders = 120
    /// The longest trip of a rider to a customer, in blocks of about 150 m.
    private static let blocks = 4...10
    /// Requests at the same time while the town is built.
    private static let builders = 6
    /// How long a finished order can be read.
    private static let memory = Duration.seconds(300)
    private static let kitchenPause = Duration.seconds(2)
    /// The end of the promised time of a new order, in seconds from now. An order takes about 20 minutes, most of which
    /// it waits for a rider. Of the first orders, one in `lateOneIn` is already late.
    private static let promise = 1_500...3_600
    private static let lateOneIn = 14
    private static let earlyOneIn = 20

    let grid: StreetGrid
    private let requests: DemoOrders
    private var queue: [TownOrder] = []
    private var over: [(job: JobID, at: ContinuousClock.Instant)] = []
    private var random: SeededGenerator
    private var number: Int
    private var built = 0
    /// Number of the town's orders that are not over.
    private var open = 0

    init(grid: StreetGrid, orders: DemoOrders, seed: UInt64) {
        (self.grid, self.requests, self.random) = (grid, orders, SeededGenerator(seed: seed ^ 0x746F_776E))
        // Numbers differ between runs, because browsers cache the last state of an order.
        self.number = Int.random(in: 1..<90) * 1_000
    }

    /// Fills the queue, then lets the vendors work until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.builders { group.addTask { await self.fill() } }
        }
        while !Task.isCancelled {
            await self.cook()
            await self.fill()
            await self.forget()
            try? await Task.sleep(for: Self.kitchenPause)
        }
    }

    /// Adds orders until there are enough. A failed request is repeated the next time the vendors' steps are checked.
    private func fill() async {
        while self.open < Self.orders - 1 {
            self.open += 1
            self.built += 1
            // At first the orders are in every state.
            let isFirst = self.built < Self.orders
            let steps = isFirst ? Int.random(in: 0...2, using: &self.random) : 0
            do {
                self.queue.append(
                    try await self.place(isLate: isFirst && self.built % Self.lateOneIn == 0, steps: steps))
            } catch {
                self.open -= 1
                return
            }
        }
    }

    // MARK: orders

    /// Creates an order.
    ///
    /// - Parameter steps: how many steps the vendor has already taken.
    func place(isLate: Bool = false, steps: Int = 0) async throws -> TownOrder {
        self.number += 1
        let number = self.number
        let shop = DemoCast.shops[number % DemoCast.shops.count].corner
        let corners = self.grid.allCorners.filter { Self.blocks.contains($0.blocks(to: shop)) }
        let home = corners.randomElement(using: &self.random) ?? StreetGrid.Corner(row: 0, column: 0)
        let seconds =
            isLate ? -Int.random(in: 60...400, using: &self.random) : Int.random(in: Self.promise, using: &self.random)
        var order = TownOrder(job: JobID("order-\(number)")!, shop: shop, home: home)
        try await self.requests.send(
            .POST, "jobs",
            self.description(
                of: order, number, customer: DemoCast.customer(number), promise: .seconds(seconds)), by: .service)
        for _ in 0..<steps { try await self.advance(&order) }
        order.isEarly = number % Self.earlyOneIn == 0
        order.due = .now + .seconds(Int.random(in: 20...120, using: &self.random))
        return order
    }

    private func description(
        of order: TownOrder, _ number: Int, customer: PersonID, promise: Duration
    ) -> [String: any Sendable] {
        let shop = DemoCast.shops[number % DemoCast.shops.count]
        return Self.description(
            of: order.job, number: number, customer: customer, shop: shop, at: self.grid[order.shop],
            home: self.grid[order.home], promise: promise)
    }

    /// The body of the request that creates an order.
    ///
    /// - Parameter promise: the end of the promised window, from now.
    static func description(
        of job: JobID, number: Int, customer: PersonID, shop: DemoCast.Shop, at place: Place, home: Place,
        promise: Duration
    ) -> [String: any Sendable] {
        let until = WallClock.nowMilliseconds + Int64(promise / .milliseconds(1))
        return [
            "job": job.text, "kind": JobKind.delivery.rawValue, "customer": customer.text, "zone": DemoOrders.zone,
            "destination": ["lat": home.latitude, "lon": home.longitude],
            "vendor": ["name": shop.name, "lat": place.latitude, "lon": place.longitude] as [String: any Sendable],
            "display": [
                "orderNumber": "A-\(number)", "items": [shop.dishes[number % shop.dishes.count]],
                "window": ["from": until - 15 * 60_000, "until": until],
            ] as [String: any Sendable],
            "recipient": DemoCast.recipient(number),
        ]
    }

    private static let kitchenSteps: [JobStatus] = [.pendingVendorAcceptance, .accepted, .preparing, .readyForPickup]

    /// Performs the vendor's next step.
    private func advance(_ order: inout TownOrder) async throws {
        guard let at = Self.kitchenSteps.firstIndex(of: order.status), at + 1 < Self.kitchenSteps.count else { return }
        order.status = Self.kitchenSteps[at + 1]
        try await self.requests.set(order.status, of: order.job)
    }

    /// Performs the vendors' steps that are due. A failed request is repeated the next time.
    private func cook() async {
        // Orders stay in the queue while a request waits, unless a rider claims them. The operations page raises an
        // alarm about a ready order without a rider, so most orders become ready only when their rider arrives.
        let due = self.queue.filter { $0.due <= .now && ($0.status != .preparing || $0.isEarly) }
        for job in due.map(\.job) {
            guard let at = self.queue.firstIndex(where: { $0.job == job }) else { continue }
            var order = self.queue[at]
            try? await self.advance(&order)
            order.due = .now + .seconds(Int.random(in: 60...240, using: &self.random))
            if let at = self.queue.firstIndex(where: { $0.job == job }) { self.queue[at] = order }
        }
    }

    /// Assigns the order that has waited longest to a rider, and adds a new one.
    func claim(for rider: DemoOrders.Party) async throws -> TownOrder {
        if self.queue.isEmpty {
            self.queue.append(try await self.place())
            self.open += 1
        }
        let order = self.queue.removeFirst()
        try await self.requests.assign(order.job, to: rider)
        return order
    }

    /// Finishes an order's preparation, because its rider is waiting.
    func finish(_ order: TownOrder) async throws {
        var order = order
        while order.status != .readyForPickup { try await self.advance(&order) }
    }

    /// Erases the orders that have been over for a while.
    private func forget() async {
        while let (job, at) = self.over.first, ContinuousClock.now - at > Self.memory {
            self.over.removeFirst()
            _ = try? await self.requests.send(.DELETE, "jobs/\(job)", by: .service)
        }
    }

    /// Erases a finished order of the town later.
    func forget(_ job: JobID) {
        self.open -= 1
        self.over.append((job, .now))
    }

    /// Erases a finished order of yours later.
    func forgetYours(_ job: JobID) { self.over.append((job, .now)) }

    /// The next number of an order.
    func nextNumber() -> Int {
        self.number += 1
        return self.number
    }
}
