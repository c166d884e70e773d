// Tests of the actor with the fake gateway, from the view of an app.

import EnrouteTesting
import Foundation
import Testing

@testable import Enroute

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a credential function answers.
private actor Answers<Value: Sendable> {
    private(set) var value: Value
    init(_ value: Value) { self.value = value }
    func set(_ value: Value) { self.value = value }
}

/// Polls until `look` is true; the time limit of the suite ends it.
private func eventually(_ look: () async -> Bool) async throws {
    while await !look() { try await Task.sleep(for: .milliseconds(5)) }
}

extension FakeGateway {
    fileprivate func configuration(
        _ credential: @escaping @Sendable () async throws -> Credential?
    ) -> EnrouteClient.Configuration {
        var configuration = self.configuration
        configuration.credential = credential
        return configuration
    }
}

/// The actor with a gateway in this process, from the view of an app.
@Suite(.timeLimit(.minutes(2))) struct ClientTests {
    private static let job: JobID = "visit-1"
    private static let home = Place(latitude: 41.9, longitude: 12.5)

    private func open(_ gateway: FakeGateway) async -> EnrouteClient {
        let client = EnrouteClient(await gateway.configuration)
        await client.start()
        for await state in client.connectionStates where state.isOpen { break }
        return client
    }

    @Test func `a follower sees a trip and the loop ends with the job`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job, status: .onTheWay, destination: Self.home)
        let client = await self.open(gateway)
        var seen: [JobView] = []
        for try await view in client.job(Self.job) {
            seen.append(view)
            switch seen.count {
            case 1: await gateway.move(Self.job, to: Self.home)
            case 2: await gateway.setArrival(of: Self.job, in: 720)
            case 3: await gateway.setStatus(of: Self.job, to: .completed)
            default: await gateway.end(Self.job, reason: .completed)
            }
        }
        #expect(seen.count == 5)
        #expect(seen[1].position?.place == Self.home && seen[1].tracking == .live)
        #expect(ArrivalPhrase(seen[2]) == .within(minutes: 12))
        #expect(seen[3].status == .completed && seen[4].ended == .completed && seen[4].position == nil)
        await client.stop()
    }

    @Test func `a job that may not be followed throws`() async throws {
        let client = await self.open(FakeGateway())
        let error = await #expect(throws: EnrouteError.self) { for try await _ in client.job("none") {} }
        #expect(error?.code == .notFound)
        await client.stop()
    }

    @Test func `a slow reader skips views and sees the newest`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job, status: .onTheWay)
        let client = await self.open(gateway)
        var views = client.job(Self.job).makeAsyncIterator()
        _ = try await views.next()
        let trip = Trip.straight(from: Self.home, to: Place(latitude: 41.91, longitude: 12.5))
        await gateway.play(trip, for: Self.job)
        for try await event in client.statusEvents(of: Self.job) where event.status == .onTheWay { break }
        var count = 0
        while let view = try await views.next() {
            count += 1
            if view.position?.place.latitude == 41.91 { break }
        }
        #expect(trip.count > 100 && count < trip.count)
        await client.stop()
    }

    @Test func `a lost connection is opened again, and status events arrive once`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job)
        let client = await self.open(gateway)
        var statuses: [JobStatus] = []
        for try await event in client.statusEvents(of: Self.job) {
            statuses.append(event.status)
            switch statuses.count {
            case 1:
                await gateway.disconnect()
                await gateway.setStatus(of: Self.job, to: .onTheWay)
                await gateway.setStatus(of: Self.job, to: .workInProgress)
                await client.wake()
            case 3: await gateway.setStatus(of: Self.job, to: .completed)
            default: break
            }
            if event.status == .completed { break }
        }
        #expect(statuses == [.assigned, .onTheWay, .workInProgress, .completed])
        #expect(await gateway.connections == 2)
        await client.stop()
    }

    @Test func `a cursor that was stored continues in another client`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job)
        let first = await self.open(gateway)
        var stored: Data?
        for try await event in first.statusEvents(of: Self.job) {
            stored = try JSONEncoder().encode(event.cursor)
            break
        }
        await first.stop()
        await gateway.setStatus(of: Self.job, to: .onTheWay)
        let cursor = try JSONDecoder().decode(StatusCursor.self, from: #require(stored))
        let second = await self.open(gateway)
        for try await event in second.statusEvents(of: Self.job, after: cursor) {
            #expect(event.status == .onTheWay && !event.followsGap)
            break
        }
        await second.stop()
    }

    @Test func `a rider's requests return or throw, with the tasks of a refusal`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job, status: .onTheWay)
        let client = await self.open(gateway)
        #expect(try await client.rider.startTravel(Self.job) != nil)
        await gateway.refuseNext(
            "availability", with: EnrouteError(.activeTask, "Finish it first.", tasks: ["order-1"]))
        let error = await #expect(throws: EnrouteError.self) { try await client.rider.setAvailability(.offline) }
        #expect(error?.code == .activeTask && error?.tasks == ["order-1"])
        try await client.rider.setAvailability(.online, device: "phone-1")
        await client.stop()
        let unsent = await #expect(throws: EnrouteError.self) { try await client.rider.stopTravel(Self.job) }
        #expect(unsent?.code == .network)
    }

    @Test func `reports go over the socket, and over REST in the background`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job, status: .onTheWay)
        let client = await self.open(gateway)
        var outcomes = await client.openOutcomes().makeAsyncIterator()
        await client.rider.report(Fix(place: Self.home, measuredAt: Date()), for: [Self.job])
        #expect(await outcomes.next() == .accepted(Self.job))
        await client.enterBackground()
        #expect(await client.connectionState == .background)
        await client.rider.report(Fix(place: Self.home, measuredAt: Date()), for: [Self.job])
        #expect(await outcomes.next() == .accepted(Self.job))
        let received = await gateway.received
        #expect(received.count { $0.contains(#""type":"location""#) } == 1)
        #expect(received.last?.contains(#","seq":2,"fixes":"#) == true)
        await gateway.addJob("visit-2", status: .onTheWay)
        await client.rider.report(Fix(place: Self.home, measuredAt: Date()), for: [Self.job, "visit-2"])
        #expect(await outcomes.next() == .accepted(Self.job))
        #expect(await outcomes.next() == .accepted("visit-2"))
        await client.wake()
        for await state in client.connectionStates where state.isOpen { break }
        await client.stop()
    }

    @Test func `without a credential a loop throws, also one that starts after the refusal, and works after a sign-in`()
        async throws
    {
        let (gateway, token) = (FakeGateway(), Answers<Credential?>(nil))
        await gateway.addJob(Self.job)
        let client = EnrouteClient(await gateway.configuration { await token.value })
        await client.start()
        for await state in client.connectionStates { if case .refused = state { break } }
        let views = await #expect(throws: EnrouteError.self) { for try await _ in client.job(Self.job) {} }
        let events = await #expect(throws: EnrouteError.self) {
            for try await _ in client.statusEvents(of: Self.job) {}
        }
        #expect(views?.code == .unauthorized && events?.code == .unauthorized)
        await token.set(.token("t"))
        await client.start()
        for try await view in client.job(Self.job) {
            #expect(view.status == .assigned)
            break
        }
        await client.stop()
    }

    /// A client whose time passes so fast that its 15 s are over in 0.1 s.
    private func fastClient(_ gateway: FakeGateway, _ credential: @escaping @Sendable () async -> Credential?) async
        -> EnrouteClient
    {
        EnrouteClient(await gateway.configuration(credential), timebase: Timebase(speed: 150))
    }

    @Test func `a credential function that hangs once delays a report in the background, and does not stop reports`()
        async throws
    {
        let (gateway, hangs) = (FakeGateway(), Answers(false))
        await gateway.addJob(Self.job, status: .onTheWay)
        let client = await self.fastClient(gateway) {
            if await hangs.value { await Self.hang() }
            return .token("t")
        }
        await client.start()
        for await state in client.connectionStates where state.isOpen { break }
        await hangs.set(true)
        await client.enterBackground()
        await client.rider.report(Fix(place: Self.home, measuredAt: Date()), for: [Self.job])
        let error = await #expect(throws: EnrouteError.self) { try await client.rest.job(Self.job) }
        #expect(error?.code == .network && error?.isRetryable == true)
        #expect(error?.message == "The app's credential function did not answer within 15 s.")
        await hangs.set(false)
        var outcomes = await client.openOutcomes().makeAsyncIterator()
        await client.rider.report(Fix(place: Self.home, measuredAt: Date()), for: [Self.job])
        #expect(await outcomes.next() == .accepted(Self.job))
        await client.stop()
    }

    @Test func `a credential function that hangs during a renewal is called again`() async throws {
        let (gateway, calls) = (FakeGateway(), Answers(0))
        let claims = Data(#"{"exp":\#(Int(Date().timeIntervalSince1970) + 40)}"#.utf8).base64EncodedString()
        let configuration = await gateway.configuration {
            await calls.set(await calls.value + 1)
            if await calls.value > 1 { await Self.hang() }
            return .token("a.\(claims.replacing("=", with: "")).c")
        }
        // The renewal is due after 20 s, and the function is given up after 15 s. Faster, a loaded machine would seem silent.
        let client = EnrouteClient(configuration, timebase: Timebase(speed: 5))
        await client.start()
        try await eventually { await calls.value >= 3 }
        #expect(await client.connectionState.isOpen)
        #expect(await gateway.connections == 1)
        await client.stop()
    }

    /// Ignores its cancellation, as some sign-in libraries do.
    private static func hang() async { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }

    @Test func `a request whose task is cancelled returns at once, over the socket and over REST`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job, status: .onTheWay)
        let asked = Answers(0)
        let client = EnrouteClient(
            await gateway.configuration {
                await asked.set(await asked.value + 1)
                if await asked.value > 1 { await Self.hang() }
                return .token("t")
            })
        await client.start()
        for await state in client.connectionStates where state.isOpen { break }
        await gateway.freeze()
        let began = ContinuousClock.now
        let travel = Task { try await client.rider.startTravel(Self.job) }
        let rest = Task { try await client.rest.job(Self.job) }
        try await eventually { await gateway.received.last?.contains("travel") == true }
        try await eventually { await asked.value == 2 }
        travel.cancel()
        rest.cancel()
        let errors = [
            await #expect(throws: EnrouteError.self) { _ = try await travel.value },
            await #expect(throws: EnrouteError.self) { _ = try await rest.value },
        ]
        for error in errors { #expect(error?.code == .cancelled && error?.isRetryable == false) }
        #expect(began.duration(to: .now) < .milliseconds(ClientMachine.answerWithin))
        await client.stop()
    }

    #if canImport(FoundationNetworking)
        @Test func `a URLSession without WebSocket names the transport that has one`() async throws {
            let url = try #require(URL(string: "ws://127.0.0.1:1/v1"))
            let socket = try await URLSessionTransport().connect(to: url, subprotocol: "enroute.v1")
            let error = await #expect(throws: (any Error).self) { try await socket.receive() }
            // With a libcurl that has WebSocket, the connection is refused.
            #expect((error as? URLError)?.code != .unsupportedURL)
            #expect((error as? TransportError)?.description.contains("NIOTransport") != false)
        }
    #endif

    /// Runs in a separate process (`make test-client`), because the other tests use memory too.
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["ENROUTE_MEMORY"] != nil,
            "make test-client runs it in a process of its own"))
    func `10,000 positions leave nothing behind`() async throws {
        let gateway = FakeGateway()
        await gateway.addJob(Self.job, status: .onTheWay)
        let client = await self.open(gateway)
        var views = client.job(Self.job).makeAsyncIterator()
        _ = try await views.next()
        func play(_ count: Int) async throws {
            for step in 0..<count {
                await gateway.move(
                    Self.job, to: Place(latitude: 41.9 + Double(abs(step % 200 - 100)) / 1e5, longitude: 12.5))
                _ = try await views.next()
            }
        }
        try await play(1_000)
        let before = Self.residentKiB
        try await play(10_000)
        let grown = Self.residentKiB - before
        print("10,000 positions: \(grown) KiB more")
        #expect(grown < 1_024, "\(grown) KiB more")
        await client.stop()
    }

    /// Resident memory on Linux; 0 elsewhere.
    private static var residentKiB: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return status.firstMatch(of: /VmRSS:\s+(\d+)/).flatMap { Int($0.1) } ?? 0
    }
}
