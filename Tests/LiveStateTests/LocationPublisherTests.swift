import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct LocationPublisherTests {
    /// With a future, and without one as sessions publish.
    enum Way: CaseIterable { case generally, onPath }

    private func publish(
        _ fix: Fix, by rider: PersonID = Stage.rider, receivedAt: Int64 = 1, _ way: Way, _ stage: Stage
    ) async throws -> LocationPublisher.Verdict {
        let publisher = stage.publisher
        switch way {
        case .generally:
            return try await publisher.publish(fix, for: Stage.job, by: rider, receivedAt: receivedAt).get()
        case .onPath:
            let promise = stage.client.eventLoop.makePromise(of: LocationPublisher.Verdict.self)
            let path = publisher.path(for: Stage.job, by: rider, on: .requests)
            stage.client.eventLoop.execute {
                publisher.publish(fix, on: path, receivedAt: receivedAt) { promise.completeWith($0) }
            }
            return try await promise.futureResult.get()
        }
    }

    @Test func `without a connection both ways fail for the same reason`() async throws {
        try await Stage.set { stage in
            stage.client.stop()
            let fix = Fix(at: 1_700_000_000_000, place: Coordinate(latitude: 1, longitude: 2)!)
            for way in Way.allCases {
                await #expect(throws: RedisError.disconnected) { try await self.publish(fix, way, stage) }
            }
        }
    }

    @Test func `after the server forgot its scripts, a position on a path is still published`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await stage.client.run("SET", stage.travelKey, "1 \(now + 3_600_000) rider-1")
            for step in 1...3 as ClosedRange<Int64> {
                try await stage.client.run("SCRIPT", "FLUSH")
                let fix = Fix(at: now + step, place: Coordinate(latitude: 1, longitude: 2)!)
                let verdict = try await self.publish(fix, .onPath, stage)
                let isAccepted = if case .accepted(_, listeners: 1) = verdict { true } else { false }
                #expect(isAccepted, "\(verdict)")
            }
        }
    }

    @Test func `positions of several jobs that are published together are answered separately`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            let jobs = (0..<50).map { JobID("other-\($0)")! }
            for job in jobs.dropLast(10) {
                let key = stage.keyspace.travel(of: job)
                try await stage.client.run("SET", key, "1 \(now + 3_600_000) rider-1")
            }
            let (publisher, loop) = (stage.publisher, stage.client.eventLoop)
            let fix = Fix(at: now, place: Coordinate(latitude: 1, longitude: 2)!)
            let verdicts = try await loop.flatSubmit {
                let promises = jobs.map { job in
                    let promise = loop.makePromise(of: LocationPublisher.Verdict.self)
                    publisher.publish(
                        fix, on: publisher.path(for: job, by: Stage.rider, on: .requests), receivedAt: now
                    ) {
                        promise.completeWith($0)
                    }
                    return promise.futureResult
                }
                return EventLoopFuture.whenAllSucceed(promises, on: loop)
            }.get()
            #expect(verdicts.suffix(10).allSatisfy { $0 == .unknown })
            #expect(verdicts.prefix(40).allSatisfy { if case .accepted(_, listeners: 0) = $0 { true } else { false } })
            for job in jobs.prefix(40) {
                let stored = try await stage.client.run("GET", stage.keyspace.position(of: job)).bytes ?? []
                #expect(stored.withUnsafeBytes { PublishedLocation.read($0, of: job) } != nil)
            }
        }
    }

    @Test(arguments: Way.allCases) func `each reply to a position becomes its case`(way: Way) async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            func publish(_ at: Int64, _ rider: PersonID = Stage.rider) async throws -> LocationPublisher.Verdict {
                let fix = Fix(at: at, place: Coordinate(latitude: 52.5201234, longitude: 13.4049876)!)
                return try await self.publish(fix, by: rider, receivedAt: now, way, stage)
            }
            #expect(try await publish(now) == .unknown)
            try await stage.client.run("SET", stage.travelKey, "1 1700000000000 rider-1")
            #expect(try await publish(now) == .timeLimit(deadline: 1_700_000_000_000))
            try await stage.client.run("SET", stage.travelKey, "1 0 ")
            #expect(try await publish(now) == .travelModeOff)
            #expect(
                try await stage.feed.open(Stage.job, for: Stage.rider, until: now + 3_600_000, fence: 1).get() == .open)
            _ = try await stage.subscriber.messages.next()
            #expect(try await publish(now, Stage.customer) == .otherRider)
            #expect(try await publish(now + 120_000) == .future)
            guard case .accepted(let id, listeners: 1) = try await publish(now) else {
                Issue.record("not accepted")
                return
            }
            #expect(try await publish(now) == .stale)

            let message = try await stage.subscriber.messages.next()
            guard case .location(let location) = try message.payload.withUnsafeBytes({ try ServerMessage($0) }) else {
                Issue.record("not a location")
                return
            }
            let kept = try await stage.client.run("GET", stage.positionKey).bytes
            #expect(kept == message.payload && location.id == id)
            #expect(location.job == Stage.job)
            #expect(location.fix.at == now)
            #expect(location.fix.place.latitude == 52.5201234)
            #expect(location.receivedAt == now)
            #expect((590_000...600_000).contains(try await stage.client.timeLeft(of: stage.positionKey)))
        }
    }
}
