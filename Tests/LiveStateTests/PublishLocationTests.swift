import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct PublishLocationTests {
    private static let tail = #","job":"job-7","received":1,"lat":1,"lon":2}"#

    private func keys(_ stage: Stage) -> [String] { [stage.travelKey, stage.positionKey, stage.feedChannel] }

    private func share(_ stage: Stage, until deadline: Int64 = 9_000_000_000_000) async throws {
        try await stage.client.run("SET", stage.travelKey, "1 \(deadline) rider-1")
    }

    private func publish(
        _ stage: Stage, at: Int64, rider: String = "rider-1", device: String = "phone-1", lifetime: String = "600000"
    )
        async throws -> RESPValue
    {
        try await stage.run(
            Scripts.publishLocation, keys: self.keys(stage), [rider, device, String(at), Self.tail, lifetime])
    }

    private func id(_ answer: RESPValue) -> Int64? {
        answer.array?.first == .integer(1) ? answer.array?.dropFirst(2).first?.text.flatMap { Int64($0) } : nil
    }

    @Test func `an accepted position is stored for its lifetime, as the bytes that were published`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let now = try await stage.now()
            let id = try #require(self.id(try await self.publish(stage, at: now)))
            let published = try await stage.subscriber.messages.next()
            #expect(published.channel == stage.feedChannel)
            #expect(try await stage.client.run("GET", stage.positionKey).bytes == published.payload)
            #expect(published.text == #"{"type":"location","id":"\#(id)","at":\#(now)\#(Self.tail)"#)
            #expect(published.payload.withUnsafeBytes { PublishedLocation.id(of: $0) } == UInt64(id))
            #expect((599_000...600_000).contains(try await stage.client.timeLeft(of: stage.positionKey)))
            // The id is the time of Redis in microseconds.
            #expect((now * 1000..<now * 1000 + 10_000_000).contains(id))
        }
    }

    @Test func `only positions of the device that travel mode names are shown`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 rider-1 phone-1")
            #expect(self.id(try await self.publish(stage, at: now)) != nil)
            for (number, other) in ["phone-2", "~connection"].enumerated() {
                #expect(try await self.publish(stage, at: now + 1 + Int64(number), device: other) == .answer(-6))
            }
            // However long the other device is silent: a device with a name does not take over by itself.
            try await stage.client.run("DEL", stage.positionKey)
            #expect(try await self.publish(stage, at: now + 3, device: "phone-2") == .answer(-6))
            #expect(self.id(try await self.publish(stage, at: now + 4)) != nil)
        }
    }

    @Test func `a device without a name replaces another one that is silent for 30 s, not one that reports`()
        async throws
    {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 rider-1 ~a")
            #expect(self.id(try await self.publish(stage, at: now, device: "~a")) != nil)
            #expect(try await self.publish(stage, at: now + 1, device: "~b") == .answer(-6))
            // It reports every 20 s, as the gateway requests when nobody follows.
            try await self.store(stage, millisecondsAgo: 21_000)
            #expect(try await self.publish(stage, at: now + 1, device: "~b") == .answer(-6))
            try await self.store(stage, millisecondsAgo: 30_500)
            #expect(try await self.publish(stage, at: now + 2, device: "phone-2") == .answer(-6))
            #expect(self.id(try await self.publish(stage, at: now + 3, device: "~b")) != nil)
            #expect(try await stage.client.run("GET", stage.travelKey).text == "1 9000000000000 rider-1 ~b")
            #expect(try await self.publish(stage, at: now + 4, device: "~a") == .answer(-6))
        }
    }

    /// Stores a position that was published some time ago.
    private func store(_ stage: Stage, millisecondsAgo: Int64) async throws {
        let then = try await stage.now() - millisecondsAgo
        let text = #"{"type":"location","id":"\#(then * 1000)","at":\#(then - 5_000)\#(Self.tail)"#
        try await stage.client.run("SET", stage.positionKey, text)
    }

    @Test func `a connection without a name replaces REST requests without one after 5 s, and not before`()
        async throws
    {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 rider-1 ~rest")
            #expect(self.id(try await self.publish(stage, at: now, device: "~rest")) != nil)
            #expect(try await self.publish(stage, at: now + 1, device: "~a") == .answer(-6))
            try await self.store(stage, millisecondsAgo: 5_500)
            #expect(self.id(try await self.publish(stage, at: now + 2, device: "~a")) != nil)
            #expect(try await self.publish(stage, at: now + 3, device: "~rest") == .answer(-6))
        }
    }

    @Test func `after a device has been released, the next one that reports is the reporter`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 rider-1 ~a", "PX", "60000")
            func release(_ rider: String, _ device: String) async throws -> RESPValue {
                try await stage.run(Scripts.releaseFeed, keys: [stage.travelKey], [rider, device])
            }
            #expect(try await release("rider-1", "~b") == .answer(0))
            #expect(try await release("rider-2", "~a") == .answer(0))
            #expect(try await release("rider-1", "~a") == .answer(1))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "1 9000000000000 rider-1")
            #expect(self.id(try await self.publish(stage, at: now, device: "~b")) != nil)
            #expect(try await self.publish(stage, at: now + 1, device: "~a") == .answer(-6))
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: stage.travelKey)))
        }
    }

    @Test func `release_feed refuses bad arguments and writes nothing`() async throws {
        try await Stage.set { stage in
            let call = ValidCall(script: Scripts.releaseFeed, keys: [stage.travelKey], arguments: ["rider-1", "~a"])
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 rider-1 ~a")
            let names = ["", "a b", String(repeating: "a", count: 65)]
            try await call.refuses(
                names.map { (0, $0, "rider must") } + names.map { (1, $0, "device must") }, on: stage)
        }
    }

    @Test func `every position has a greater id than the one before`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let now = try await stage.now()
            var last: Int64 = 0
            for number in 0..<100 as Range<Int64> {
                let id = try #require(self.id(try await self.publish(stage, at: now + number)))
                #expect(id > last)
                last = id
            }
        }
    }

    @Test func `after an id from a clock that was ahead the next id is greater, not older`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let stored = #"{"type":"location","id":"9000000000000000","at":1700000000000\#(Self.tail)"#
            try await stage.client.run("SET", stage.positionKey, stored)
            for next in 1...3 as ClosedRange<Int64> {
                #expect(
                    self.id(try await self.publish(stage, at: 1_700_000_000_000 + next)) == 9_000_000_000_000_000 + next
                )
            }
        }
    }

    @Test func `T1: a position captured no later than the stored one is stale and changes nothing`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let now = try await stage.now()
            _ = try await self.publish(stage, at: now)
            _ = try await stage.subscriber.messages.next()
            for at in [now, now - 1, 1_000_000_000_000] {
                try await stage.leavesEverythingUnchanged {
                    let answer = try await self.publish(stage, at: at)
                    #expect(answer == .answer(0, now))
                }
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `without travel mode nothing is stored or published`() async throws {
        try await Stage.set { stage in
            let answer = try await self.publish(stage, at: try await stage.now())
            #expect(answer == .answer(-4))
            #expect(try await stage.client.dump().isEmpty)
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 ")
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.publish(stage, at: try await stage.now())
                #expect(answer == .answer(-1))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `S2: a rider that does not share its position is refused and changes nothing`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let now = try await stage.now()
            for rider in ["rider-2", "rider-", "rider-11"] {
                try await stage.leavesEverythingUnchanged {
                    let answer = try await self.publish(stage, at: now, rider: rider)
                    #expect(answer == .answer(-2))
                }
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `T1: a position captured more than thirty seconds ahead is refused, and less is accepted`() async throws
    {
        try await Stage.set { stage in
            try await self.share(stage)
            let now = try await stage.now()
            let refused = try await self.publish(stage, at: now + 60_000)
            #expect(refused.array?.first == .integer(-3))
            #expect((now...now + 20_000).contains(refused.array?.last?.integer ?? 0))
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
            #expect(try await stage.hasNoMessages())
            #expect(self.id(try await self.publish(stage, at: now + 29_000)) != nil)
        }
    }

    @Test func `after the deadline no position is accepted, and none is stored beyond it`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await self.share(stage, until: now + 60_000)
            #expect(self.id(try await self.publish(stage, at: now)) != nil)
            #expect((1...60_000).contains(try await stage.client.timeLeft(of: stage.positionKey)))
            _ = try await stage.subscriber.messages.next()
            try await self.share(stage, until: now)
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.publish(stage, at: now + 1)
                #expect(answer == .answer(-5, now))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let call = ValidCall(
                script: Scripts.publishLocation, keys: self.keys(stage),
                arguments: ["rider-1", "phone-1", String(try await stage.now()), Self.tail, "600000"])
            let times = [
                "", "x", "170000000000", "17000000000000", "0999999999999", "1700000000.00", "-170000000000",
                "0x0e8d4a51000", "1.6000000e+12", "1e12         ", " 170000000000", "nan",
            ]
            let lifetimes = ["", "0", "-1", "1.5", "86400001", "x", "nan", "inf"]
            try await call.refuses(
                [(0, "", "rider must"), (0, String(repeating: "a", count: 65), "rider must")]
                    + ["", "a b", String(repeating: "a", count: 65)].map { (1, $0, "device must") }
                    + times.map { (2, $0, "captured_at must be") }
                    + ["", ",", "}", #""a":1}"#, #","a":1"#, "{}"].map { (3, $0, "tail must") }
                    + lifetimes.map { (4, $0, "lifetime_ms must be") }, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(self.id(answer) != nil)
        }
    }

    @Test func `of many concurrent positions the newest is stored, and ids never repeat`() async throws {
        try await Stage.set { stage in
            try await self.share(stage)
            let now = try await stage.now()
            let answers = (0..<200).shuffled().map { number in
                stage.client.evaluate(
                    Scripts.publishLocation, keys: self.keys(stage),
                    arguments: ["rider-1", "phone-1", .integer(now + Int64(number)), .text(Self.tail), 600_000])
            }
            let ids = try await EventLoopFuture.whenAllSucceed(answers, on: stage.client.eventLoop).get().compactMap(
                self.id)
            // In any order: a call that sends the script's source completes later than those after it.
            #expect(!ids.isEmpty && Set(ids).count == ids.count)
            let kept = try await stage.client.run("GET", stage.positionKey).text
            #expect(kept?.contains(#","at":\#(now + 199),"#) == true)
        }
    }
}
