import LiveState
import Redis
import TestSupport
import Testing

@Suite struct OpenFeedTests {
    private static let message = #"{"type":"tracking"}"#

    private func keys(_ stage: Stage) -> [String] { [stage.travelKey, stage.positionKey, stage.feedChannel] }

    private func open(
        _ stage: Stage, _ rider: String, until deadline: Int64, mode: String = "", fence: Int = 5, device: String = ""
    )
        async throws -> RESPValue
    {
        try await stage.run(
            Scripts.openFeed, keys: self.keys(stage),
            [rider, String(deadline), Self.message, mode, String(fence), device])
    }

    private func expiry(_ stage: Stage) async throws -> Int64? {
        try await stage.client.run("PEXPIRETIME", stage.travelKey).integer
    }

    @Test func `a feed opens until its deadline, and its followers are notified`() async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            let answer = try await self.open(stage, "rider-1", until: deadline)
            #expect(answer == .answer(1))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "5 \(deadline) rider-1")
            #expect(try await self.expiry(stage) == deadline + 60_000)
            let told = try await stage.subscriber.messages.next()
            #expect(told == ReceivedMessage(channel: stage.feedChannel, payload: Array(Self.message.utf8)))
        }
    }

    @Test func `opening again notifies no follower, keeps the position and sets the given deadline`() async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            _ = try await self.open(stage, "rider-1", until: deadline)
            _ = try await stage.subscriber.messages.next()
            try await stage.client.run("SET", stage.positionKey, "where it was")
            let again = try await self.open(stage, "rider-1", until: deadline)
            #expect(again == .answer(2))
            #expect(try await self.expiry(stage) == deadline + 60_000)
            #expect(try await stage.client.run("GET", stage.positionKey).text == "where it was")
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `another device of the rider takes over silently, and the position stays`() async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            _ = try await self.open(stage, "rider-1", until: deadline, device: "phone-1")
            _ = try await stage.subscriber.messages.next()
            try await stage.client.run("SET", stage.positionKey, "where it was")
            #expect(try await self.open(stage, "rider-1", until: deadline, fence: 6, device: "phone-2") == .answer(2))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "6 \(deadline) rider-1 phone-2")
            #expect(try await stage.client.run("GET", stage.positionKey).text == "where it was")
            // A decision that arrives after a later one changes nothing.
            #expect(try await self.open(stage, "rider-1", until: deadline, fence: 5, device: "phone-1") == .answer(2))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "6 \(deadline) rider-1 phone-2")
            #expect(try await stage.hasNoMessages())
        }
    }

    /// The stored device, the device that resumes, and the device that reports afterwards.
    @Test(arguments: [
        ("~a", "~b", "~a"), ("~a", "~a", "~a"), ("phone-1", "~b", "~b"), ("~a", "phone-1", "phone-1"), ("", "~b", "~b"),
    ])
    func `of devices without a name, the one that reports continues when another resumes`(
        stored: String, resuming: String, reports: String
    ) async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            _ = try await self.open(stage, "rider-1", until: deadline, device: stored)
            let answer = try await self.open(
                stage, "rider-1", until: deadline, mode: "resume", fence: 6, device: resuming)
            #expect(answer == .answer(2))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "6 \(deadline) rider-1 \(reports)")
            // A device of another rider has nothing to continue.
            _ = try await self.open(stage, "rider-2", until: deadline, mode: "resume", fence: 7, device: "~c")
            #expect(try await stage.client.run("GET", stage.travelKey).text == "7 \(deadline) rider-2 ~c")
        }
    }

    @Test func `another rider takes over, and the first one's position is deleted immediately`() async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            _ = try await self.open(stage, "rider-1", until: deadline)
            try await stage.client.run("SET", stage.positionKey, "where the first was")
            let answer = try await self.open(stage, "rider-2", until: deadline + 1)
            #expect(answer == .answer(1))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "5 \(deadline + 1) rider-2")
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
            #expect(try await self.expiry(stage) == deadline + 60_001)
            #expect(try await stage.subscriber.messages.next(2).map(\.text) == [Self.message, Self.message])
        }
    }

    @Test func `a decision that arrives late does not open the feed, nor disturb its own rider`() async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            for known in ["6 \(deadline) rider-2", "6 \(deadline) "] {
                try await stage.client.run("SET", stage.travelKey, known)
                try await stage.leavesEverythingUnchanged {
                    let late = try await self.open(stage, "rider-1", until: deadline)
                    #expect(late == .answer(-2))
                }
            }
            try await stage.client.run("SET", stage.travelKey, "6 \(deadline) rider-1")
            try await stage.leavesEverythingUnchanged {
                let late = try await self.open(stage, "rider-1", until: deadline)
                #expect(late == .answer(2))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a lost feed is reopened, and an existing one is left unchanged`() async throws {
        try await Stage.set { stage in
            let deadline = try await stage.now() + 3_600_000
            let opened = try await self.open(stage, "rider-1", until: deadline, mode: "if_absent")
            #expect(opened == .answer(1))
            // Two reports may discover the loss at the same time.
            let twice = try await self.open(stage, "rider-1", until: deadline, mode: "if_absent")
            #expect(twice == .answer(2))
            for known in ["1 \(deadline) rider-2", "1 \(deadline) "] {
                try await stage.client.run("SET", stage.travelKey, known)
                try await stage.leavesEverythingUnchanged {
                    let answer = try await self.open(stage, "rider-1", until: deadline, mode: "if_absent")
                    #expect(answer == .answer(-1))
                }
            }
        }
    }

    @Test func `after the deadline nothing opens, and an open feed stays unchanged`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await stage.client.run("SET", stage.travelKey, "1 \(now) rider-1")
            try await stage.client.run("SET", stage.positionKey, "here")
            for rider in ["rider-1", "rider-2"] {
                try await stage.leavesEverythingUnchanged {
                    let answer = try await self.open(stage, rider, until: now)
                    #expect(answer.array?.first == .integer(0))
                    #expect((now...now + 20_000).contains(answer.array?.last?.integer ?? 0))
                }
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            // Another rider shares its position, which would be deleted before the deadline is checked.
            try await stage.client.run("SET", stage.travelKey, "1 9000000000000 rider-2")
            try await stage.client.run("SET", stage.positionKey, "here")
            let call = ValidCall(
                script: Scripts.openFeed, keys: self.keys(stage),
                arguments: ["rider-1", "9000000000000", Self.message, "", "5", "phone-1"])
            let deadlines = [
                "", "x", "999999999999", "10000000000000", "1700000000.00", "0x7fffffffff0", "9.0000000e+12",
                "9e12         ", "nan", "inf",
            ]
            try await call.refuses(
                (badNames + [""]).map { (0, $0, "rider must be") } + deadlines.map { (1, $0, "deadline must be") }
                    + ["", "{", "}", "[]", "x"].map { (2, $0, "message must be") }
                    + ["0", "1", "absent"].map { (3, $0, "mode must be") }
                    + badFences.map { (4, $0, "fence must be") }
                    + ["a b", String(repeating: "a", count: 65)].map { (5, $0, "device must be") }, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer == .answer(1))
        }
    }
}
