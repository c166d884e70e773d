import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct CloseFeedTests {
    private static let message = #"{"type":"tracking","state":"ended"}"#

    private func keys(_ stage: Stage) -> [String] {
        [
            stage.travelKey, stage.positionKey, stage.feedChannel, stage.keyspace.eta(of: Stage.job),
            self.verdicts(stage),
        ]
    }

    private func verdicts(_ stage: Stage) -> String { stage.keyspace.verdicts(of: Stage.job) }

    private func close(
        _ stage: Stage, _ rider: String, fence: String = "", limit: String = "", ended: String = "0",
        notLater: String = "0", reassigned: String = "0"
    ) async throws -> RESPValue {
        try await stage.run(
            Scripts.closeFeed, keys: self.keys(stage),
            [rider, Self.message, fence, limit, ended, notLater, reassigned])
    }

    private func open(_ stage: Stage, until deadline: Int64 = 9_000_000_000_000) async throws {
        try await stage.client.run("SET", stage.travelKey, "3 \(deadline) rider-1", "PX", "60000")
        try await stage.client.run("SET", stage.positionKey, "here")
    }

    @Test(arguments: ["rider-1", ""])
    func `closing deletes the position immediately and notifies the followers`(rider: String) async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let answer = try await self.close(stage, rider)
            #expect(answer.array?.dropLast() == [.integer(1), .integer(2)])
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
            #expect(try await stage.client.run("GET", stage.travelKey).text == "3 9000000000000 ")
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: stage.travelKey)))
            let message = try await stage.subscriber.messages.next()
            #expect(message == ReceivedMessage(channel: stage.feedChannel, payload: Array(Self.message.utf8)))
        }
    }

    @Test func `B42: when the job ends, all its live data is gone within a minute`() async throws {
        try await Stage.set { stage in
            let until = try await stage.now() + 14_400_000
            _ = try await stage.feed.open(Stage.job, for: Stage.rider, until: until, fence: 7).get()
            try await stage.client.run("SET", stage.positionKey, "here", "PX", "600000")
            let notes = ValidationSummaryStore(live: stage.client, settings: stage.settings)
            try await notes.note(Stage.job, by: Stage.rider, counts: [("accepted", 4)]).get()
            #expect(try await stage.client.timeLeft(of: self.verdicts(stage)) > 3_600_000)
            // After an arrival the job continues, and its validation results stay.
            _ = try await stage.feed.close(Stage.job, because: .arrived).get()
            #expect(try await stage.client.timeLeft(of: stage.travelKey) > 3_600_000)
            #expect(try await stage.client.timeLeft(of: self.verdicts(stage)) > 3_600_000)
            _ = try await stage.feed.close(Stage.job, because: .completed).get()
            // Counts that the rider's gateway had not written yet.
            try await notes.note(Stage.job, by: Stage.rider, counts: [("accepted", 1)]).get()
            let late = try await stage.feed.open(Stage.job, for: Stage.rider, until: until, fence: 6).get()
            #expect(late == .overtaken)
            for key in try await stage.client.run("KEYS", "*").array?.compactMap(\.text) ?? [] {
                #expect((0...60_000).contains(try await stage.client.timeLeft(of: key)), "\(key)")
            }
        }
    }

    @Test func `when a job is reassigned, its counts stay and what they say about the former rider is deleted`()
        async throws
    {
        try await Stage.set { stage in
            let notes = ValidationSummaryStore(live: stage.client, settings: stage.settings)
            try await notes.note(
                Stage.job, by: Stage.rider, counts: [("accepted", 4), ("held", 1)],
                annotations: [.proximity(.arrived), .stoppedByArrival(true), .unavailable(.noFix), .sharing]
            ).get()
            for (reason, isKept) in [(EndReason.deactivated, true), (.arrived, true), (.reassigned, false)] {
                try await self.open(stage)
                _ = try await stage.feed.close(Stage.job, because: reason).get()
                let found = try await notes.read(Stage.job).get()
                #expect((found.proximity == .arrived) == isKept, "\(reason)")
                #expect(found.wasStoppedByArrival == isKept, "\(reason)")
                #expect((found.unavailable == .noFix) == isKept, "\(reason)")
                #expect((found.seenAt != nil) == isKept && (found.sharingAt != nil) == isKept, "\(reason)")
                #expect(found.counts == ["accepted": 4, "held": 1], "\(reason)")
            }
        }
    }

    @Test func `validation results of another type do not keep a feed open when the job is reassigned`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.client.run("SET", self.verdicts(stage), "malformed")
            let answer = try await self.close(stage, "", reassigned: "1")
            #expect(answer.array?.dropLast() == [.integer(1), .integer(2)])
            #expect(try await stage.feed.read(Stage.job).get().isOpen == false)
        }
    }

    @Test func `a full instance still deletes the data of a feed that is closed`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.client.run("CONFIG", "SET", "maxmemory", "1")
            let answer = try await self.close(stage, "rider-1")
            #expect(answer.array?.dropLast() == [.integer(1), .integer(2)])
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
        }
    }

    @Test func `a feed that another rider shares is not closed`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.close(stage, "rider-2")
                #expect(answer == .answer(-2))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `closing a closed feed notifies no follower`() async throws {
        try await Stage.set { stage in
            for rider in ["rider-1", ""] {
                let answer = try await self.close(stage, rider)
                #expect(answer == .answer(0))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test(arguments: [nil, "3 9000000000000 ", "malformed"] as [String?])
    func `a call that names a rider writes nothing if no rider has the feed, so a lost feed can be reopened`(
        travel: String?
    ) async throws {
        try await Stage.set { stage in
            if let travel { try await stage.client.run("SET", stage.travelKey, travel) }
            try await stage.client.run("SET", stage.positionKey, "here")
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.close(stage, "rider-2", fence: "9", ended: "1")
                #expect(answer == .answer(0))
            }
            #expect(try await stage.hasNoMessages())
            guard travel?.hasPrefix("3") != true else { return }
            let reopening = try await stage.feed.open(
                Stage.job, for: Stage.rider, until: stage.now() + 60_000, fence: 4, .ifAbsent
            ).get()
            #expect(reopening == .open)
        }
    }

    @Test func `a closed feed differs from a lost one: for at least a minute it is not reopened automatically`()
        async throws
    {
        try await Stage.set { stage in
            _ = try await self.close(stage, "")
            #expect(try await stage.client.run("GET", stage.travelKey).text == "0 0 ")
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: stage.travelKey)))
            try await stage.leavesEverythingUnchanged {
                let opening = try await stage.feed.open(
                    Stage.job, for: Stage.rider, until: stage.now() + 60_000, fence: 9, .ifAbsent
                ).get()
                #expect(opening == .overtaken)
            }
            #expect(try await stage.feed.read(Stage.job).get().isOpen == false)
        }
    }

    @Test func `a decision below the fence cannot open the feed`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            _ = try await self.close(stage, "", fence: "5")
            #expect(try await stage.client.run("GET", stage.travelKey).text == "5 9000000000000 ")
            // A smaller fence, or none, does not lower the stored one.
            _ = try await self.close(stage, "", fence: "4")
            _ = try await self.close(stage, "")
            #expect(try await stage.client.run("GET", stage.travelKey).text == "5 9000000000000 ")
            let until = try await stage.now() + 60_000
            let early = try await stage.feed.open(Stage.job, for: Stage.rider, until: until, fence: 4).get()
            #expect(early == .overtaken)
            let next = try await stage.feed.open(Stage.job, for: Stage.rider, until: until, fence: 5).get()
            #expect(next == .open)
        }
    }

    @Test func `closing again does not close a feed that a later decision has opened`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            try await stage.leavesEverythingUnchanged {
                let overtaken = try await self.close(stage, "", fence: "2", notLater: "1")
                #expect(overtaken == .answer(-4))
            }
            let closed = try await self.close(stage, "", fence: "3", notLater: "1")
            #expect(closed.array?.dropLast() == [.integer(1), .integer(2)])
        }
    }

    @Test func `a feed is closed once when its deadline has passed, and not before`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            try await self.open(stage, until: now + 60_000)
            try await stage.leavesEverythingUnchanged {
                let early = try await self.close(stage, "", limit: String(now + 60_000))
                #expect(early.array?.first == .integer(-3))
                #expect((now...now + 30_000).contains(early.array?.last?.integer ?? 0))
                // The feed was reopened in the meantime, with another deadline.
                let other = try await self.close(stage, "", limit: String(now))
                #expect(other == .answer(0))
            }
            try await self.open(stage, until: now)
            let closed = try await self.close(stage, "", limit: String(now))
            #expect(closed.array?.dropLast() == [.integer(1), .integer(2)])
            let again = try await self.close(stage, "", limit: String(now))
            #expect(again == .answer(0))
            _ = try await stage.subscriber.messages.next()
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a position that outlived travel mode is deleted by a call that names no rider`() async throws {
        try await Stage.set { stage in
            try await stage.client.run("SET", stage.positionKey, "here")
            let answer = try await self.close(stage, "")
            #expect(answer.array?.dropLast() == [.integer(1), .integer(1)])
            #expect(try await stage.client.run("EXISTS", stage.positionKey) == .integer(0))
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await self.open(stage)
            let call = ValidCall(
                script: Scripts.closeFeed, keys: self.keys(stage),
                arguments: ["rider-1", Self.message, "4", "", "0", "0", "0"])
            try await call.refuses(
                badNames.map { (0, $0, "rider must be") }
                    + ["", "{", "}", "[]", "x"].map { (1, $0, "message must be") }
                    + badFences.filter { $0 != "" }.map { (2, $0, "fence must be") }
                    + ["x", "1", "0999999999999", "17000000000000"].map { (3, $0, "deadline must be") }
                    + ["", "2", "yes"].map { (4, $0, "ended must be") }
                    + ["", "2", "yes"].map { (5, $0, "not_later must be") }
                    + ["", "2", "yes"].map { (6, $0, "reassigned must be") },
                on: stage)
            await #expect(throws: (any Error).self, "there is no decision to compare with") {
                try await self.close(stage, "", notLater: "1")
            }
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer.array?.dropLast() == [.integer(1), .integer(2)])
        }
    }
}
