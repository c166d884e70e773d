import EnrouteWire
import NIOCore
import Redis
import TestSupport
import Testing

@testable import LiveState

/// Reading a job repeatedly without decoding what is unchanged.
@Suite struct JobCheckReaderTests {
    private static func read(
        _ reader: NIOLoopBound<JobCheckReader>, _ stage: Stage, shown: UInt64 = 0
    ) async throws -> JobCheckReader.Reading? {
        let promise = stage.client.eventLoop.makePromise(of: Snapshot?.self)
        stage.client.eventLoop.execute {
            let isSent = reader.value.read(shown: shown) {
                promise.completeWith($0.map { $0.map { Snapshot(reading: $0) } })
            }
            if !isSent { promise.fail(RedisError.disconnected) }
        }
        return try await promise.futureResult.get()?.reading
    }

    private struct Snapshot: @unchecked Sendable { let reading: JobCheckReader.Reading }

    private static func made(_ stage: Stage) async throws -> NIOLoopBound<JobCheckReader> {
        let (ledger, feed, loop) = (stage.ledger, stage.feed, stage.client.eventLoop)
        return try await loop.submit {
            NIOLoopBound(JobCheckReader(Stage.job, ledger: ledger, feed: feed), eventLoop: loop)
        }.get()
    }

    /// The reader, and the general path, which decodes everything.
    private static func expectSame(
        _ reader: NIOLoopBound<JobCheckReader>, _ stage: Stage, _ comment: Comment,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let reading = try await Self.read(reader, stage)
        let head = try await stage.ledger.head(Stage.job).get()
        let state = try await stage.feed.read(Stage.job).get()
        #expect(reading?.head == head, comment, sourceLocation: location)
        guard head != nil else { return }
        #expect(reading?.travel?.rider == state.rider, comment, sourceLocation: location)
        #expect(reading?.position?.message == state.position, comment, sourceLocation: location)
        #expect(
            reading?.position?.id == state.position.flatMap { $0.withUnsafeBytes { PublishedLocation.id(of: $0) } },
            comment, sourceLocation: location)
        if state.rider != nil { #expect(reading?.travel?.deadline == state.deadline, sourceLocation: location) }
    }

    @Test func `throughout a job's life the reader returns the same as the general path`() async throws {
        try await Stage.set { stage in
            let reader = try await Self.made(stage)
            try await Self.expectSame(reader, stage, "no job")
            let new = NewJob(
                job: Stage.job, kind: .delivery, customer: Stage.customer, rider: Stage.rider, actor: Stage.rider)
            _ = try await stage.ledger.create(new, epoch: "epoch-1").get()
            for _ in 0..<2 { try await Self.expectSame(reader, stage, "created") }
            _ = try await stage.ledger.publish(
                Stage.statusesUntilTransit[0], of: Stage.job, by: Stage.rider, source: "rest"
            ).get()
            for _ in 0..<2 { try await Self.expectSame(reader, stage, "first status") }
            let now = try await stage.now()
            _ = try await stage.feed.open(Stage.job, for: Stage.rider, until: now + 3_600_000, fence: 1).get()
            for _ in 0..<2 { try await Self.expectSame(reader, stage, "open, no position") }
            for step in 0..<3 as Range<Int64> {
                let fix = Fix(at: now + step, place: Coordinate(latitude: 52.5, longitude: 13.4)!)
                _ = try await stage.publisher.publish(fix, for: Stage.job, by: Stage.rider, receivedAt: now).get()
                for _ in 0..<2 { try await Self.expectSame(reader, stage, "position \(step)") }
            }
            for malformed in ["", "here", #"{"type":"location"}"#] {
                try await stage.client.run("SET", stage.positionKey, malformed)
                try await Self.expectSame(reader, stage, "malformed position")
            }
            for malformed in ["", "1 2", "x 1 rider-1"] {
                try await stage.client.run("SET", stage.travelKey, malformed)
                try await Self.expectSame(reader, stage, "malformed travel mode")
            }
            _ = try await stage.feed.close(Stage.job, because: .arrived).get()
            try await Self.expectSame(reader, stage, "closed")
            try await stage.client.run("DEL", stage.jobKey)
            try await Self.expectSame(reader, stage, "forgotten")
        }
    }

    @Test func `a malformed record is an error at each read`() async throws {
        try await Stage.set { stage in
            let reader = try await Self.made(stage)
            try await stage.client.run("HSET", stage.jobKey, "epoch", "e", "head", "not an id", "customer", "c")
            for _ in 0..<2 {
                await #expect(throws: RedisError.self) { try await Self.read(reader, stage) }
            }
        }
    }

    @Test func `the live instance is only read if the feed may have failed or the record has changed`() async throws {
        try await Stage.set { stage in
            let new = NewJob(
                job: Stage.job, kind: .delivery, customer: Stage.customer, rider: Stage.rider, actor: Stage.rider)
            _ = try await stage.ledger.create(new, epoch: "epoch-1").get()
            let now = try await stage.now()
            _ = try await stage.feed.open(Stage.job, for: Stage.rider, until: now + 3_600_000, fence: 1).get()
            func publish(_ step: Int64) async throws -> UInt64 {
                let fix = Fix(at: now + step, place: Coordinate(latitude: 52.5, longitude: 13.4)!)
                let verdict = try await stage.publisher.publish(
                    fix, for: Stage.job, by: Stage.rider, receivedAt: now
                ).get()
                guard case .accepted(let id, _) = verdict else {
                    throw RedisError.unexpectedAnswer(command: "\(verdict)")
                }
                return id
            }
            let reader = try await Self.made(stage)
            func expectPosition(_ id: UInt64?, shown: UInt64, _ comment: Comment) async throws {
                let reading = try await Self.read(reader, stage, shown: shown)
                #expect(reading?.position?.id == id, comment)
                #expect(reading?.travel?.rider == Stage.rider, comment)
            }
            let first = try await publish(1)
            try await expectPosition(first, shown: 0, "nothing is known yet")
            try await expectPosition(first, shown: first, "followers may have it from the last check")
            let second = try await publish(2)
            try await expectPosition(nil, shown: second, "the feed has delivered it, and nothing changed")
            try await expectPosition(second, shown: second, "nothing came since")
            let third = try await publish(3)
            _ = try await stage.ledger.publish(
                Stage.statusesUntilTransit[0], of: Stage.job, by: Stage.rider, source: "rest"
            ).get()
            try await expectPosition(third, shown: third, "the record has changed")
        }
    }

    @Test func `a trip's rider, destination and zone are read as they are stored`() async throws {
        try await Stage.set { stage in
            func facts() async throws -> TripFacts? {
                let promise = stage.client.eventLoop.makePromise(of: TripFacts?.self)
                let ledger = stage.ledger
                stage.client.eventLoop.execute {
                    if !ledger.readTripFacts(Stage.job, { promise.succeed($0) }) {
                        promise.fail(RedisError.disconnected)
                    }
                }
                return try await promise.futureResult.get()
            }
            var read = try await facts()
            #expect(read == nil, "no such job")
            let destination = Coordinate(latitude: 52.5, longitude: 13.4)
            let new = NewJob(
                job: Stage.job, kind: .delivery, customer: Stage.customer, rider: Stage.rider, zone: ZoneID("rome"),
                destination: destination, actor: Stage.rider)
            _ = try await stage.ledger.create(new, epoch: "epoch-1").get()
            read = try await facts()
            #expect(read == TripFacts(rider: Stage.rider, destination: destination, zone: ZoneID("rome")))
            for malformed in ["here", #"{"lat":91,"lon":0}"#] {
                try await stage.client.run("HSET", stage.jobKey, "destination", malformed)
                read = try await facts()
                #expect(read == nil, "\(malformed)")
            }
            try await stage.client.run("HSET", stage.jobKey, "destination", "", "rider", "", "zone", "")
            read = try await facts()
            #expect(read == TripFacts(rider: nil, destination: nil, zone: nil))
            try await stage.client.run("SET", stage.jobKey, "text")
            read = try await facts()
            #expect(read == nil, "another type")
        }
    }

    @Test func `a second read while one is under way sends nothing and returns false`() async throws {
        try await Stage.set { stage in
            let reader = try await Self.made(stage)
            let (first, second) = try await stage.client.eventLoop.submit {
                (reader.value.read { _ in }, reader.value.read { _ in })
            }.get()
            #expect(first && !second)
            // On the same connection, so it is answered after the first read.
            try await stage.client.run("PING")
            #expect(try await Self.read(reader, stage) == nil)
        }
    }

    @Test func `without a connection nothing is sent`() async throws {
        try await Stage.set { stage in
            let reader = try await Self.made(stage)
            stage.client.stop()
            await #expect(throws: RedisError.disconnected) { try await Self.read(reader, stage) }
        }
    }
}
