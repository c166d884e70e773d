import Embedded
import EnrouteWire
import LiveState
import Logging
import NIOCore
import Redis
import TestSupport
import Testing

@testable import ETA
@testable import Gateway
@testable import HTTPValues
@testable import Jobs
@testable import Realtime
@testable import WebSocket

/// The arrivals of one event loop with a simulated clock and a real Redis, because they would take minutes in a running
/// gateway.
@Suite struct ArrivalClockTests {
    private static let (job, rider) = (JobID("job-1")!, PersonID("rider-1")!)
    private static let epoch: Int64 = 1_795_000_000_000

    /// Confined to the loop of its client.
    private final class Stage {
        let arrivals: ArrivalTimes
        let routing: ArrivalRouting
        let clock: Clock

        init(_ client: RedisClient, routing: ArrivalRouting = .alone, clock: Clock = Clock()) {
            let settings = LiveStateSettings()
            (self.routing, self.clock) = (routing, clock)
            self.arrivals = ArrivalTimes(
                eventLoop: client.eventLoop, store: ETAStore(live: client, settings: settings),
                before: PrecedingStops(
                    stopSequences: StopSequenceStore(live: client, settings: settings),
                    ledger: JobLedger(ledger: client, settings: settings)), settings: ArrivalSettings(),
                freshness: .seconds(30), routing: self.routing, logger: Logger(label: "test")
            ) { (UInt64(clock.seconds * 1e9), ArrivalClockTests.epoch + Int64(clock.seconds * 1000)) }
        }

        /// Checks each job once.
        func passSecond() {
            self.clock.seconds += 1
            for _ in 0..<10 { self.arrivals.tick() }
        }
    }

    private final class Clock {
        /// s
        var seconds = 1000.0
    }

    /// A job whose rider shared a location about five minutes from the door.
    private static func run(
        _ body:
            @escaping @Sendable (RedisClient, JobFeed, NIOLoopBound<Stage>, NIOLoopBound<JobView>) async throws -> Void
    ) async throws {
        try await within {
            try await withServer { redis in
                let client = try await RedisClient.started(at: try RedisAddress(url: redis.url))
                defer { client.stop() }
                let settings = LiveStateSettings()
                let (ledger, feed) = (
                    JobLedger(ledger: client, settings: settings), JobFeed(live: client, settings: settings)
                )
                _ = try await ledger.create(
                    NewJob(
                        job: Self.job, kind: .service, customer: PersonID("anna")!, rider: Self.rider,
                        destination: Coordinate(latitude: 41.9, longitude: 12.5)!, actor: Self.rider), epoch: "e"
                ).get()
                _ = try await ledger.publish(.onTheWay, of: Self.job, by: Self.rider, source: "event").get()
                guard
                    case .on(let deadline, let fence) = try await ledger.startTravel(for: Self.job, by: Self.rider)
                        .get()
                else { throw Missing() }
                _ = try await feed.open(Self.job, for: Self.rider, until: deadline, fence: fence).get()
                let place = Coordinate(latitude: 41.915, longitude: 12.5)!
                _ = try await LocationPublisher(live: client, settings: settings).publish(
                    Fix(at: WallClock.nowMilliseconds, place: place), for: Self.job, by: Self.rider,
                    receivedAt: WallClock.nowMilliseconds
                ).get()
                let (recovery, state) = (
                    try #require(try await ledger.recover(Self.job).get()), try await feed.read(Self.job).get()
                )
                let view = JobView(recovery, state, now: WallClock.nowMilliseconds, freshness: .seconds(600))
                let loop = client.eventLoop
                let bound = try await loop.submit {
                    (
                        NIOLoopBound(Stage(client), eventLoop: loop), NIOLoopBound(view, eventLoop: loop)
                    )
                }.get()
                try await body(client, feed, bound.0, bound.1)
            }
        }
    }

    @Test
    func `the error of an arrival time is in the metrics, by source and horizon`()
        async throws
    {
        try await Self.run { client, feed, stage, view in
            try await client.eventLoop.submit {
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                stage.value.passSecond()
            }.get()
            var told: ArrivalEstimate?
            while told == nil { told = try await feed.read(Self.job).get().eta }
            let seconds = try #require(told?.seconds)
            let text = try await client.eventLoop.submit {
                stage.value.clock.seconds += 300
                stage.value.arrivals.ended(Self.job, because: .arrived)
                // An end that is reported twice counts once.
                stage.value.arrivals.ended(Self.job, because: .completed)
                return stage.value.routing.counts.text
            }.get()
            let labels = #"{provider="built_in",horizon_minutes="5"}"#
            #expect(text.contains("enroute_eta_error_seconds_count\(labels) 1\n"), "\(text)")
            #expect(text.contains("enroute_eta_error_seconds_sum\(labels) \(Double(abs(seconds - 300)))\n"), "\(text)")
        }
    }

    @Test func `a trip without an arrival adds nothing to the metrics`() async throws {
        try await Self.run { client, feed, stage, view in
            try await client.eventLoop.submit {
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                stage.value.passSecond()
            }.get()
            try await becomes("an arrival is known", every: .milliseconds(10)) {
                try await feed.read(Self.job).get().eta != nil
            }
            let text = try await client.eventLoop.submit {
                stage.value.clock.seconds += 300
                stage.value.arrivals.ended(Self.job, because: .cancelled)
                stage.value.arrivals.ended(Self.job, because: .arrived)
                return stage.value.routing.counts.text
            }.get()
            #expect(!text.contains("enroute_eta_error_seconds_count"), "\(text)")
        }
    }

    @Test func `an arrival is calculated every minute, and earlier when the rider turns round`() async throws {
        try await Self.run { client, feed, stage, view in
            let publisher = LocationPublisher(live: client, settings: LiveStateSettings())
            /// Receives a location this far north, and advances the clock by 20 s.
            ///
            /// - Returns: the arrival after Redis has replied to all requests.
            func pass(north: Double) async throws -> ArrivalEstimate {
                let place = Coordinate(latitude: 41.9 + north, longitude: 12.5)!
                // The lease is free.
                _ = try await client.run("DEL", "job:{job-1}:eta:lease")
                _ = try await publisher.publish(
                    Fix(at: WallClock.nowMilliseconds, place: place), for: Self.job, by: Self.rider,
                    receivedAt: WallClock.nowMilliseconds
                ).get()
                let position = try #require(try await feed.read(Self.job).get().position)
                try await client.eventLoop.submit {
                    stage.value.arrivals.received(
                        position: position.withUnsafeBytes { Frame.text($0) }, of: Self.job)
                }.get()
                for _ in 0..<20 {
                    try await client.eventLoop.submit { stage.value.passSecond() }.get()
                    // Stops, lease and result are three requests, one after the other on this connection.
                    for _ in 0..<4 { _ = try await feed.read(Self.job).get() }
                }
                return try #require(try await feed.read(Self.job).get().eta)
            }
            try await client.eventLoop.submit {
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                stage.value.passSecond()
            }.get()
            try await becomes("an arrival is known", every: .milliseconds(10)) {
                try await feed.read(Self.job).get().eta != nil
            }
            let first = try #require(try await feed.read(Self.job).get().eta)
            // 20 and 40 s later; then 60, whose last second may or may not count, and 80.
            for north in [0.0149, 0.0148] {
                let on = try await pass(north: north)
                #expect(on == first)
            }
            _ = try await pass(north: 0.0147)
            let minute = try await pass(north: 0.0146)
            #expect(minute.at > first.at)
            let back = try await pass(north: 0.0246)
            #expect(back.at > minute.at)
        }
    }

    @Test func `a walker is still recognized after its only follower reconnects, even on another loop`()
        async throws
    {
        try await Self.run { client, feed, stage, view in
            let start = WallClock.nowMilliseconds
            try await client.eventLoop.submit {
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                // Four minutes at 1.4 m/s.
                for step in 1...12 {
                    let at = start + Int64(step) * 20_000
                    let latitude = 41.915 - Double(step) * 28 / 111_195
                    let message =
                        #"{"type":"location","id":"\#(at)000","at":\#(at),"job":"job-1","lat":\#(latitude),"lon":12.5}"#
                    stage.value.arrivals.received(position: Frame.text(Array(message.utf8)), of: Self.job)
                    for _ in 0..<20 { stage.value.passSecond() }
                }
            }.get()
            let loops = try await client.eventLoop.submit {
                let other = Stage(client, routing: stage.value.routing, clock: stage.value.clock)
                return NIOLoopBound([stage.value, other], eventLoop: client.eventLoop)
            }.get()
            for index in 0..<2 {
                let vehicle = try await client.eventLoop.submit {
                    loops.value[0].arrivals.unfollow(Self.job)
                    loops.value[index].passSecond()
                    _ = loops.value[index].arrivals.viewRead(view.value, of: Self.job)
                    defer { loops.value[index].arrivals.unfollow(Self.job) }
                    return loops.value[index].arrivals.assumedVehicle(of: Self.job)
                }.get()
                #expect(vehicle == .foot, "loop \(index)")
            }
        }
    }

    @Test func `a result that Redis has lost is calculated again within 10 s`() async throws {
        try await Self.run { client, feed, stage, view in
            try await client.eventLoop.submit {
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                stage.value.passSecond()
            }.get()
            var told: ArrivalEstimate?
            while told == nil { told = try await feed.read(Self.job).get().eta }
            let first = try #require(told)
            _ = try await client.run("DEL", "job:{job-1}:eta", "job:{job-1}:eta:lease")
            try await client.eventLoop.submit {
                stage.value.arrivals.received(first, of: Self.job)
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                for _ in 0..<10 { stage.value.passSecond() }
            }.get()
            // Stops, lease and result are three requests, one after the other on this connection.
            for _ in 0..<4 { _ = try await feed.read(Self.job).get() }
            let again = try #require(try await feed.read(Self.job).get().eta)
            #expect(again.at > first.at)
        }
    }

    @Test func `in an hour of locations nothing is calculated for 100 jobs without followers`()
        async throws
    {
        try await Self.run { client, feed, stage, view in
            let position = try #require(try await feed.read(Self.job).get().position)
            let (jobs, keyspace) = ([Self.job] + (2...101).map { JobID("job-\($0)")! }, LiveStateSettings().keyspace)
            /// The number of jobs that were calculated, or will be, after Redis has replied to all requests.
            func calculated() async throws -> RESPValue {
                // Stops, lease and result are three requests, one after the other on this connection.
                for _ in 0..<4 { _ = try await feed.read(Self.job).get() }
                let keys = jobs.map { RedisCommand.Word.text(keyspace.etaLease(of: $0)) }
                return try await client.send(RedisCommand(["EXISTS"] + keys)).get()
            }
            // Detects a followed job, so that the test is not empty.
            try await client.eventLoop.submit {
                _ = stage.value.arrivals.viewRead(view.value, of: Self.job)
                stage.value.passSecond()
            }.get()
            let followed = try await calculated()
            #expect(followed == .integer(1))
            let told = try #require(try await feed.read(Self.job).get().eta)
            try await client.eventLoop.submit { stage.value.arrivals.unfollow(Self.job) }.get()
            _ = try await client.run("DEL", "job:{job-1}:eta:lease")
            try await client.eventLoop.submit {
                let frame = position.withUnsafeBytes { Frame.text($0) }
                for _ in 0..<3600 {
                    for job in jobs { stage.value.arrivals.received(position: frame, of: job) }
                    stage.value.passSecond()
                }
            }.get()
            let kept = try await calculated()
            #expect(kept == .integer(0))
            #expect(try await feed.read(Self.job).get().eta == told)
        }
    }
}
