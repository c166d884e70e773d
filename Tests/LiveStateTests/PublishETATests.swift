import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct PublishETATests {
    private static let message = #"{"type":"eta","job":"job-7","state":"unavailable","at":1795248617630}"#
    private static let estimate = ArrivalEstimate(
        state: .ok, arrivesAt: 1_795_249_337_630, seconds: 720, source: "built_in", confidence: .low,
        at: 1_795_248_617_630)

    private func keys(_ stage: Stage) -> [String] {
        [stage.travelKey, stage.keyspace.eta(of: Stage.job), stage.feedChannel]
    }

    private func store(_ stage: Stage) -> ETAStore {
        ETAStore(live: stage.client, settings: stage.settings)
    }

    /// Switches travel mode on for a rider, for an hour.
    private func open(_ stage: Stage, _ rider: PersonID = Stage.rider, fence: Int64 = 1) async throws {
        let opening = try await stage.feed.open(
            Stage.job, for: rider, until: stage.now() + 3_600_000, fence: fence
        ).get()
        #expect(opening == .open)
        _ = try await stage.subscriber.messages.next()
    }

    @Test func `an estimate is published, stored for two minutes and read with the feed`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let told = try await self.store(stage).publish(Self.estimate, of: Stage.job, by: Stage.rider).get()
            #expect(told == .published)
            let heard = try await stage.subscriber.messages.next()
            #expect(heard.payload == ServerMessage.eta(job: Stage.job, Self.estimate).encoded)
            let kept = try await stage.feed.read(Stage.job).get().eta
            #expect(kept == Self.estimate)
            let left = try await stage.client.run("PTTL", stage.keyspace.eta(of: Stage.job)).integer ?? 0
            #expect((60_000...120_000).contains(left))
        }
    }

    @Test func `a younger estimate is not replaced, and followers are not notified twice`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let store = self.store(stage)
            _ = try await store.publish(Self.estimate, of: Stage.job, by: Stage.rider).get()
            _ = try await stage.subscriber.messages.next()
            var other = Self.estimate
            other.seconds = 1
            let passed = try await store.publish(
                other, of: Stage.job, by: Stage.rider, minAge: .seconds(3600)
            ).get()
            #expect(passed == .notReplaced)
            let kept = try await stage.feed.read(Stage.job).get().eta
            #expect(kept == Self.estimate)
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test(arguments: [["SET", "here"], ["SET", "1 x {}"], ["RPUSH", "a list"]])
    func `malformed data in place of an estimate is replaced at once`(planted: [String]) async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.client.run(planted[0], stage.keyspace.eta(of: Stage.job), planted[1])
            let told = try await self.store(stage).publish(
                Self.estimate, of: Stage.job, by: Stage.rider, minAge: .seconds(3600)
            ).get()
            #expect(told == .published)
            #expect(try await stage.feed.read(Stage.job).get().eta == Self.estimate)
        }
    }

    @Test func `no estimate is published for a rider that does not share its position for the job`() async throws {
        try await Stage.set { stage in
            let store = self.store(stage)
            let unknown = try await store.publish(Self.estimate, of: Stage.job, by: Stage.rider).get()
            try await self.open(stage)
            let other = try await store.publish(Self.estimate, of: Stage.job, by: PersonID("rider-2")!).get()
            #expect(unknown == .notShared && other == .notShared)
            try await stage.client.run("SET", stage.travelKey, "1 \(try await stage.now() - 1) rider-1")
            let late = try await store.publish(Self.estimate, of: Stage.job, by: Stage.rider).get()
            #expect(late == .notShared)
            #expect(try await stage.client.run("EXISTS", stage.keyspace.eta(of: Stage.job)) == .integer(0))
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `an estimate ends with travel mode and is never read for another rider`() async throws {
        try await Stage.set { stage in
            let store = self.store(stage)
            try await self.open(stage)
            _ = try await store.publish(Self.estimate, of: Stage.job, by: Stage.rider).get()
            _ = try await stage.feed.close(Stage.job, because: .deactivated).get()
            #expect(try await stage.client.run("EXISTS", stage.keyspace.eta(of: Stage.job)) == .integer(0))
            try await self.open(stage, fence: 2)
            _ = try await store.publish(Self.estimate, of: Stage.job, by: Stage.rider).get()
            try await self.open(stage, PersonID("rider-2")!, fence: 3)
            let read = try await stage.feed.read(Stage.job).get()
            #expect(read.rider == PersonID("rider-2") && read.eta == nil)
        }
    }

    @Test func `of many claims one succeeds until its lease expires`() async throws {
        try await Stage.set { stage in
            let store = self.store(stage)
            var won = 0
            for _ in 0..<20 {
                let isOurs = try await store.claim(Stage.job, for: .seconds(58)).get()
                if isOurs { won += 1 }
            }
            #expect(won == 1)
            let left = try await stage.client.run("PTTL", stage.keyspace.etaLease(of: Stage.job)).integer ?? 0
            #expect((1...58_000).contains(left))
        }
    }

    @Test func `a sequence of stops is stored for two minutes, and an empty one clears it`() async throws {
        try await Stage.set { stage in
            let rounds = StopSequenceStore(live: stage.client, settings: stage.settings)
            let others = (1...12).map { JobID("job-\($0)")! }
            var heard: [[JobID]] = [try await rounds.stops(before: Stage.job).get()]
            for stops in [Array(others.prefix(2)), others, []] {
                try await rounds.store(stops, before: Stage.job).get()
                heard.append(try await rounds.stops(before: Stage.job).get())
            }
            #expect(heard == [[], Array(others.prefix(2)), Array(others.prefix(9)), []])
            let left = try await stage.client.run("PTTL", stage.keyspace.stopsBefore(Stage.job)).integer ?? 0
            #expect((1...120_000).contains(left))
        }
    }

    @Test func `requests to a provider are counted per day, across gateways`() async throws {
        try await Stage.set { stage in
            let store = self.store(stage)
            var counts: [Int64] = []
            for (service, day) in [("osrm", 1), ("osrm", 1), ("mapbox", 1), ("osrm", 2), ("osrm", 1)]
                as [(String, Int64)]
            {
                counts.append(try await store.count(service, day: day).get())
            }
            #expect(counts == [1, 2, 1, 1, 3])
            let left = try await stage.client.run("PTTL", "budget:osrm:1").integer ?? 0
            #expect(left > 86_400_000 && left <= 172_800_000)
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let call = ValidCall(
                script: Scripts.publishETA, keys: self.keys(stage), arguments: ["rider-1", Self.message, "120000", "0"])
            try await call.refuses(
                ([""] + badNames).map { (0, $0, "rider must be") }
                    + ["", "{", "}", "[]", "x"].map { (1, $0, "message must be") }
                    + ["", "0", "-1", "1.5", "x", "nan", "86400001"].map { (2, $0, "lifetime_ms must be") }
                    + ["", "-1", "1.5", "x", "nan", "86400001"].map { (3, $0, "min_age_ms must be") },
                on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer == .answer(1))
        }
    }
}
