import LiveState
import Redis
import TestSupport
import Testing

@Suite struct CloseFeedTests {
    private static let message = #"{"type":"tracking","state":"ended"}"#

    private func keys(_ stage: Stage) -> [String] { [stage.travelKey, stage.positionKey, stage.feedChannel] }

    private func close(_ stage: Stage, _ rider: String) async throws -> RESPValue {
        try await stage.run(Scripts.closeFeed, keys: self.keys(stage), [rider, Self.message])
    }

    private func open(_ stage: Stage) async throws {
        try await stage.client.run("SET", stage.travelKey, "rider-1", "PX", "60000")
        try await stage.client.run("SET", stage.positionKey, "here")
    }

    @Test(arguments: ["rider-1", ""])
    func `closing deletes the position at once and tells the followers`(rider: String) async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let answer = try await self.close(stage, rider)
            #expect(answer == .answer(1, 2))
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "")
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: stage.travelKey)))
            let told = try await stage.subscriber.messages.next()
            #expect(told == ReceivedMessage(channel: stage.feedChannel, payload: Array(Self.message.utf8)))
        }
    }

    @Test func `a full instance erases what it is told to erase`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.client.run("CONFIG", "SET", "maxmemory", "1")
            let answer = try await self.close(stage, "rider-1")
            #expect(answer == .answer(1, 2))
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
        }
    }

    @Test func `a feed that another rider shares is not closed`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.leavesAllAsItIs {
                let answer = try await self.close(stage, "rider-2")
                #expect(answer == .answer(-2))
            }
            #expect(try await stage.isSilent())
        }
    }

    @Test func `closing what is not open tells nobody`() async throws {
        try await Stage.set { stage in
            for rider in ["rider-1", ""] {
                let answer = try await self.close(stage, rider)
                #expect(answer == .answer(0))
            }
            #expect(try await stage.isSilent())
        }
    }

    @Test func `closed is not forgotten: for a minute at least nothing is opened again by itself`() async throws {
        try await Stage.set { stage in
            _ = try await self.close(stage, "rider-1")
            #expect(try await stage.client.run("GET", stage.travelKey).text == "")
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: stage.travelKey)))
            try await stage.leavesAllAsItIs {
                let isOpen = try await stage.feed.open(
                    Stage.job, for: Stage.rider, until: stage.now() + 60_000, again: true
                ).get()
                #expect(!isOpen)
            }
            #expect(try await stage.feed.read(Stage.job).get().isOpen == false)
        }
    }

    @Test func `a position that outlived travel mode is deleted, whoever asks`() async throws {
        try await Stage.set { stage in
            try await stage.client.run("SET", stage.positionKey, "here")
            let answer = try await self.close(stage, "rider-2")
            #expect(answer == .answer(1, 1))
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let call = GoodCall(
                script: Scripts.closeFeed, keys: self.keys(stage), arguments: ["rider-1", Self.message])
            try await call.refuses(
                badNames.map { (0, $0, "rider must be") }
                    + ["", "{", "}", "[]", "x"].map { (1, $0, "message must be") },
                on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer == .answer(1, 2))
        }
    }
}
