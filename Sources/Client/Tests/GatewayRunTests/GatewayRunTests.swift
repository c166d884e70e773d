// Tests of the client with a real gateway: a trip, faults of the gateway, and permissions. Like
// Tests/JavaScript/gateway.test.mjs.

import EnrouteNIO
import Foundation
import Testing

@testable import Enroute

@Suite(.enabled(if: Stage.isBuilt), .serialized, .timeLimit(.minutes(5))) struct GatewayRunTests {
    private static let job: JobID = "visit-1"

    /// Creates a visit for `anna` whose technician `rider-7` is on the way.
    private func visit(_ service: RESTClient, _ job: JobID = GatewayRunTests.job, status: JobStatus = .onTheWay)
        async throws
    {
        let destination = Place(latitude: 41.95, longitude: 12.5)
        try await service.createJob(
            .init(job, kind: .service, customer: "anna", rider: "rider-7", destination: destination))
        if status != .assigned { try await service.changeStatus(of: job, to: status) }
    }

    private func here(_ north: Double = 0) -> Fix {
        Fix(place: Place(latitude: 41.9 + north / 111_195, longitude: 12.5), measuredAt: Date(), accuracy: 5)
    }

    private func opens(_ clients: EnrouteClient...) async throws {
        for client in clients { try await until("it is open") { await client.connectionState.isOpen } }
    }

    @Test func `a customer sees a rider travel, arrive and finish`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service)
            let anna = try await stage.client(role: "customer", "anna")
            let rider = try await stage.client(role: "rider", "rider-7")
            let views = await Seen(anna.job(Self.job))
            let events = await Seen(anna.statusEvents(of: Self.job))
            try await until("the visit is known") { await views.last?.status == .onTheWay }
            try await self.opens(rider)
            let deadline = try await rider.rider.startTravel(Self.job)
            #expect(try #require(deadline) > Date())
            await rider.rider.report(self.here(), for: [Self.job])
            try await until("the rider is seen") { await views.last?.position != nil }
            #expect(await views.last?.tracking == .live)
            try await until("an arrival is known") { await views.last?.arrival != nil }
            try await service.changeStatus(of: Self.job, to: .workInProgress)
            try await until("it has arrived") { await views.last?.tracking == .arrived }
            #expect(await views.last?.position == nil)
            try await service.changeStatus(of: Self.job, to: .completed)
            try await until("it is over") { await views.isOver }
            #expect(await views.last?.ended == .completed)
            #expect(await views.error == nil)
            #expect(await views.last?.steps.allSatisfy { $0.state == .complete } == true)
            #expect(await events.values.map(\.status) == [.onTheWay, .workInProgress, .completed])
        }
    }

    @Test func `over TLS, only a gateway with a certificate of a known authority is trusted`() async throws {
        try await Stage.open(["ENROUTE_TLS": "on"]) { stage in
            let service = try await stage.client(role: "service", "orders")
            try await self.visit(service.rest)
            let views = await Seen(service.job(Self.job))
            try await until("the visit is known") { await views.last?.status == .onTheWay }
            #if NIO
                let stranger = EnrouteClient.Configuration(gateway: stage.url, transport: NIOTransport()) {
                    .token("t")
                }
                let client = EnrouteClient(stranger)
                await client.start()
                for await state in client.connectionStates {
                    guard case .waiting(_, let close?) = state else { continue }
                    #expect(close.code == 1006 && close.reason.contains("CERTIFICATE_VERIFY_FAILED"), "\(close.reason)")
                    break
                }
                await client.stop()
                let error = await #expect(throws: EnrouteError.self) { try await client.rest.job(Self.job) }
                #expect(error?.code == .network)
            #endif
        }
    }

    @Test func `after a gateway is killed the client reconnects and resumes`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service)
            let anna = try await stage.client(role: "customer", "anna")
            let rider = try await stage.client(role: "rider", "rider-7")
            let (views, events) = (
                await Seen(anna.job(Self.job)), await Seen(anna.statusEvents(of: Self.job))
            )
            try await self.opens(anna, rider)
            try await rider.rider.startTravel(Self.job)
            await rider.rider.report(self.here(), for: [Self.job])
            try await until("the rider is seen") { await views.last?.position != nil }
            let seen = try #require(await views.last?.position)
            stage.signal(SIGKILL)
            try await stage.gatewayEnds()
            try await until("it is noticed") {
                let states = (await anna.connectionState, await rider.connectionState)
                return !states.0.isOpen && !states.1.isOpen
            }
            await rider.rider.report(self.here(8), for: [Self.job])
            try await stage.startGateway()
            try await until("the rider is seen further on") {
                await (views.last?.position?.place.latitude ?? 0) > seen.place.latitude
            }
            try await service.changeStatus(of: Self.job, to: .workInProgress)
            try await until("the status arrives") { await events.values.last?.status == .workInProgress }
            #expect(await events.values.map(\.status) == [.onTheWay, .workInProgress])
        }
    }

    @Test func `a frozen gateway is reported, then given up, and the client reconnects when it thaws`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service)
            let anna = try await stage.client(role: "customer", "anna", speed: 20)
            let views = await Seen(anna.job(Self.job))
            try await until("the visit is known") { await views.last != nil }
            let states = Task {
                var reasons: [String] = []
                for await state in anna.connectionStates {
                    if case .open(_, isSilent: true) = state { reasons.append("silent") }
                    if case .waiting(_, let close?) = state { reasons.append(close.reason) }
                    if reasons.last == "the gateway did not answer in time" { break }
                }
                return reasons
            }
            stage.signal(SIGSTOP)
            let reasons = await states.value
            #expect(reasons.prefix(2) == ["silent", "the gateway did not answer a ping"])
            stage.signal(SIGCONT)
            try await self.opens(anna)
            try await service.changeStatus(of: Self.job, to: .workInProgress)
            try await until("news arrive") { await views.last?.status == .workInProgress }
        }
    }

    @Test func `a draining gateway specifies a time, and the client reconnects then`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service, status: .assigned)
            let anna = try await stage.client(role: "customer", "anna")
            let views = await Seen(anna.job(Self.job))
            try await until("the visit is known") { await views.last != nil }
            let states = Task {
                for await state in anna.connectionStates {
                    if case .waiting(_, let close?) = state { return close.code }
                }
                return 0
            }
            stage.signal(SIGTERM)
            try await stage.gatewayEnds()
            #expect(await states.value == 4000)
            try await stage.startGateway()
            try await service.changeStatus(of: Self.job, to: .onTheWay)
            try await until("it is back") { await views.last?.status == .onTheWay }
        }
    }

    @Test func `a revoked customer is refused within a second and sees nothing any longer`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service)
            let anna = try await stage.client(role: "customer", "anna")
            let views = await Seen(anna.job(Self.job))
            try await until("the visit is known") { await views.last != nil }
            _ = try await service.send("DELETE", "/grants/users/anna")
            try await until("it is refused", seconds: 5) { await views.isOver }
            #expect(await views.error?.code == .revoked)
            let state = await anna.connectionState
            guard case .refused(let reason) = state else { throw TransportError("\(state)") }
            #expect(reason.code == 4502)
        }
    }

    @Test func `a session outlives its tokens, because the client renews them`() async throws {
        try await Stage.open { stage in
            let fetched = Counter()
            let anna = await stage.client { [stage] in
                await fetched.add()
                return .token(try await stage.token("customer", "anna", lifetime: 6))
            }
            try await self.opens(anna)
            let states = Task {
                var states: [ConnectionState] = []
                for await state in anna.connectionStates { states.append(state) }
                return states
            }
            try await until("it was renewed three times") { await fetched.count >= 4 }
            await anna.stop()
            states.cancel()
            let lost = await states.value.filter { if case .waiting = $0 { true } else { false } }
            #expect(lost.isEmpty)
        }
    }

    @Test func `a request that is repeated with its key creates a job or a link once`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            let (job, key) = (RESTClient.NewJob(Self.job, kind: .service, customer: "anna"), UUID().uuidString)
            let first = try await service.createJob(job, idempotencyKey: key)
            let second = try await service.createJob(job, idempotencyKey: key)
            #expect(second.cursor == first.cursor)
            let error = await #expect(throws: EnrouteError.self) { try await service.createJob(job) }
            #expect(error?.code == .conflict)
            let secret = UUID().uuidString
            let link = try await service.createTrackingLink(for: Self.job, idempotencyKey: secret)
            let again = try await service.createTrackingLink(for: Self.job, idempotencyKey: secret)
            let another = try await service.createTrackingLink(for: Self.job)
            #expect(again == link && another.id != link.id)
        }
    }

    @Test func `status events and a view that are opened together start where the reader stopped`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service, status: .assigned)
            let stored = try await service.job(Self.job).cursor
            for status in [JobStatus.onTheWay, .workInProgress] {
                try await service.changeStatus(of: Self.job, to: status)
            }
            for _ in 0..<5 {
                let anna = try await stage.client(role: "customer", "anna")
                try await self.opens(anna)
                let views = await Seen(anna.job(Self.job))
                let events = await Seen(anna.statusEvents(of: Self.job, after: stored))
                try await until("the view and the events are known") {
                    let (view, event) = (await views.last, await events.last)
                    return view?.status == .workInProgress && event?.status == .workInProgress
                }
                #expect(await events.values.map(\.status) == [.onTheWay, .workInProgress])
                #expect(await events.values.allSatisfy { !$0.followsGap })
                await anna.stop()
            }
        }
    }

    @Test func `a zone with a space throws, and another one is watched`() async throws {
        try await Stage.open { stage in
            let client = try await stage.client(role: "service", "orders")
            try await self.opens(client)
            let munich = await Seen(client.pool(ofZone: "Munich Nord"))
            try await until("it is refused") { await munich.isOver }
            #expect(await munich.error?.code == .badRequest)
            let rome = await Seen(client.pool(ofZone: "rome"))
            try await until("it is watched") { await rome.last != nil }
        }
    }

    @Test func `a link viewer follows its job and no other one, and an invalid link is refused`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service)
            try await self.visit(service, "visit-2")
            let link = try await service.createTrackingLink(for: Self.job).link
            let viewer = await stage.client { .trackingLink(link) }
            let (own, other) = (await Seen(viewer.job(Self.job)), await Seen(viewer.job("visit-2")))
            try await until("its job is known") { await own.last != nil }
            try await until("the other is refused") { await other.isOver }
            #expect(await other.error?.code == .notFound)
            let stranger = await stage.client { .trackingLink(String(repeating: "0", count: 32)) }
            let nothing = await Seen(stranger.job(Self.job))
            try await until("it is refused") { await nothing.isOver }
            #expect(await nothing.error?.code == .unauthorized)
        }
    }

    @Test func `a rider goes online but not offline with a task, and the pool shows both`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            _ = try await service.send("PUT", "/riders/rider-9", body: Data(#"{"zone":"rome","approved":true}"#.utf8))
            let (ops, rider) = (
                try await stage.client(role: "ops", "olga"), try await stage.client(role: "rider", "rider-9")
            )
            let pools = await Seen(ops.pool(ofZone: "rome"))
            try await self.opens(rider)
            try await rider.rider.setAvailability(.online, device: "phone-1")
            try await until("it is in the pool") { await pools.last?.riders["rider-9"]?.isAvailable == true }
            try await rider.rider.sendPresence(at: Place(latitude: 41.9, longitude: 12.5), device: "phone-1")
            try await service.createJob(.init("order-1", kind: .delivery, customer: "anna", rider: "rider-9"))
            let error = await #expect(throws: EnrouteError.self) {
                try await rider.rider.setAvailability(.offline)
            }
            #expect(error?.code == .activeTask && error?.tasks == ["order-1"])
            try await until("the pool shows the task") { await pools.last?.riders["rider-9"]?.change == "assigned" }
        }
    }

    @Test func `in the background a rider reports over REST`() async throws {
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await self.visit(service)
            let (anna, rider) = (
                try await stage.client(role: "customer", "anna"), try await stage.client(role: "rider", "rider-7")
            )
            let views = await Seen(anna.job(Self.job))
            try await self.opens(rider)
            try await rider.rider.startTravel(Self.job)
            await rider.enterBackground()
            await rider.rider.report(self.here(), for: [Self.job])
            try await until("the rider is seen") { await views.last?.position != nil }
            #expect(await rider.connectionState == .background)
            await rider.wake()
            try await self.opens(rider)
        }
    }

    @Test func `a phone resumes what its rider ended on another device only when the rider starts again`() async throws
    {
        try await Stage.open { stage in
            try await self.visit(try await stage.client(role: "service", "orders").rest)
            let phone = try await stage.client(role: "rider", "rider-7")
            let tablet = try await stage.client(role: "rider", "rider-7")
            try await self.opens(phone, tablet)
            try await phone.rider.startTravel(Self.job)
            try await tablet.rider.stopTravel(Self.job)
            var outcomes = await phone.openOutcomes().makeAsyncIterator()
            await phone.enterBackground()
            await phone.wake()
            let outcome = await outcomes.next()
            guard case .refused(Self.job, let error)? = outcome else { throw TransportError("\(outcome as Any)") }
            #expect(error.code == .travelModeOff)
            #expect(try await phone.rider.startTravel(Self.job) != nil)
        }
    }

    @Test func `a location without travel mode is refused, and the rider learns why`() async throws {
        try await Stage.open { stage in
            try await self.visit(try await stage.client(role: "service", "orders").rest)
            let rider = try await stage.client(role: "rider", "rider-7")
            try await self.opens(rider)
            var outcomes = await rider.openOutcomes().makeAsyncIterator()
            await rider.rider.report(self.here(), for: [Self.job])
            let outcome = await outcomes.next()
            guard case .refused(Self.job, let error)? = outcome else { throw TransportError("\(outcome as Any)") }
            #expect(error.code == .travelModeOff)
            try await rider.rider.reportUnavailable(.hidden, for: Self.job)
        }
    }
}

actor Counter {
    private(set) var count = 0
    func add() { self.count += 1 }
}
