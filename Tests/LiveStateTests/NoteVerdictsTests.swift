import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct NoteVerdictsTests {
    private static let message = #"{"type":"unavailable","text":"unavailable_network"}"#

    private func note(
        _ stage: Stage, _ counts: String = "", _ words: String = "", _ message: String = "", lifetime: String = "60000",
        rider: String = "rider-1"
    ) async throws -> RESPValue {
        let key = stage.keyspace.verdicts(of: Stage.job)
        return try await stage.run(
            Scripts.noteVerdicts, keys: [key, stage.feedChannel, stage.travelKey],
            [counts, words, message, lifetime, rider])
    }

    @Test func `counts add up, annotations replace earlier ones, and followers are notified`() async throws {
        try await Stage.set { stage in
            _ = try await self.note(stage, "accepted 3 zero_zero 1", "unavailable network")
            let answer = try await self.note(
                stage, "accepted -1 held 2", "unavailable - proximity arrived", Self.message)
            #expect(answer == .answer(1))
            let key = stage.keyspace.verdicts(of: Stage.job)
            let told = try await stage.subscriber.messages.next()
            let times = ["at:accepted", "at:zero_zero", "at:held", "seen_at"]
            for time in times { #expect(try await stage.client.run("HDEL", key, time) == .integer(1), "\(time)") }
            let fields = try await stage.client.run("HGETALL", key).array?.compactMap(\.text) ?? []
            #expect(
                Set(stride(from: 0, to: fields.count, by: 2).map { "\(fields[$0]) \(fields[$0 + 1])" }) == [
                    "accepted 2", "zero_zero 1", "held 2", "unavailable ", "proximity arrived",
                ])
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: key)))
            #expect(told == ReceivedMessage(channel: stage.feedChannel, payload: Array(Self.message.utf8)))
        }
    }

    @Test func `B42: the data is stored as requested while travel mode is on or paused, else for a minute`()
        async throws
    {
        try await Stage.set { stage in
            let key = stage.keyspace.verdicts(of: Stage.job)
            for (travel, lifetime) in [
                ("3 9000000000000 rider-1", 3_600_000), ("3 9000000000000 ", 3_600_000), ("3 0 ", 60_000),
            ] {
                try await stage.client.run("SET", stage.travelKey, travel)
                _ = try await self.note(stage, "accepted 1", lifetime: "3600000")
                #expect(
                    (lifetime - 10_000...lifetime).contains(Int(try await stage.client.timeLeft(of: key))), "\(travel)")
            }
        }
    }

    @Test(arguments: [["SET", "here"], ["SET", "3 x rider-1"], ["RPUSH", "a list"]])
    func `malformed data of travel mode counts as off: the results are stored for a minute`(planted: [String])
        async throws
    {
        try await Stage.set { stage in
            let key = stage.keyspace.verdicts(of: Stage.job)
            try await stage.client.run(planted[0], stage.travelKey, planted[1])
            let answer = try await self.note(
                stage, "accepted 1", "unavailable network", Self.message, lifetime: "3600000")
            #expect(answer == .answer(1))
            #expect(try await stage.client.run("HGET", key, "accepted").text == "1")
            #expect((50_000...60_000).contains(try await stage.client.timeLeft(of: key)))
            #expect(try await stage.subscriber.messages.next().payload == Array(Self.message.utf8))
        }
    }

    @Test func `only the rider who shares their position writes results, and any rider while nobody does`() async throws
    {
        try await Stage.set { stage in
            let key = stage.keyspace.verdicts(of: Stage.job)
            for (travel, isWritten) in [
                ("3 9000000000000 rider-2 phone", false), ("3 9000000000000 rider-2", false),
                ("3 9000000000000 rider-1 phone", true), ("3 9000000000000 rider-10", false),
                ("3 9000000000000 ", true), ("3 0 ", true),
            ] {
                try await stage.client.run("SET", stage.travelKey, travel)
                let answer = try await self.note(stage, "accepted 1", "proximity arrived", Self.message)
                #expect(answer == .answer(isWritten ? 1 : -2), "\(travel)")
                #expect(try await stage.client.run("DEL", key) == .integer(isWritten ? 1 : 0), "\(travel)")
                if isWritten { _ = try await stage.subscriber.messages.next() }
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `stored results are read back, and a job without any has none`() async throws {
        try await Stage.set { stage in
            let notes = ValidationSummaryStore(live: stage.client, settings: stage.settings)
            #expect(try await notes.read(Stage.job).get() == ValidationSummary())
            try await notes.note(
                Stage.job, by: Stage.rider, counts: [("accepted", 4), ("implausible_speed", 1)],
                annotations: [.unavailable(.lowBattery), .proximity(.approaching)]
            ).get()
            var wanted = ValidationSummary()
            wanted.counts = ["accepted": 4, "implausible_speed": 1]
            (wanted.unavailable, wanted.proximity) = (.lowBattery, .approaching)
            var found = try await notes.read(Stage.job).get()
            (wanted.seenAt, found.sharingAt) = (found.seenAt, nil)
            #expect(found == wanted)
            try await notes.note(Stage.job, by: Stage.rider, annotations: [.unavailable(nil)]).get()
            #expect(try await notes.read(Stage.job).get().unavailable == nil)
        }
    }

    @Test
    func `D3: the times of the last accepted fix and of the start of sharing are stored, and malformed ones ignored`()
        async throws
    {
        try await Stage.set { stage in
            let notes = ValidationSummaryStore(live: stage.client, settings: stage.settings)
            let key = stage.keyspace.verdicts(of: Stage.job)
            try await notes.note(
                Stage.job, by: Stage.rider, counts: [("accepted", -1), ("held", 2)], annotations: [.unavailable(.noFix)]
            )
            .get()
            #expect(try await notes.read(Stage.job).get().seenAt == nil)
            try await notes.note(Stage.job, by: Stage.rider, counts: [("accepted", 1)], annotations: [.sharing]).get()
            let found = try await notes.read(Stage.job).get()
            let (seenAt, sharingAt) = (try #require(found.seenAt), try #require(found.sharingAt))
            #expect(seenAt == sharingAt && found.counts == ["accepted": 0, "held": 2])
            for nonsense in ["-9223372036854775808", "9223372036854775807", "inf", ""] {
                _ = try await stage.client.run("HSET", key, "seen_at", nonsense, "sharing_at", nonsense)
                let found = try await notes.read(Stage.job).get()
                #expect(found.seenAt == nil && found.sharingAt == nil)
            }
        }
    }

    @Test(arguments: [
        ("accepted 1; held 2", "", "", "60000"), ("Accepted 1", "", "", "60000"), ("", "unavailable 7", "", "60000"),
        ("", "", "[]", "60000"), ("", "", "", "0"), ("", "", "", "86400001"), ("", "", "", "soon"),
        (String(repeating: "a", count: 513), "", "", "60000"),
    ])
    func `a bad argument is refused and nothing is written`(
        counts: String, words: String, message: String, lifetime: String
    ) async throws {
        try await Stage.set { stage in
            try await stage.leavesEverythingUnchanged {
                await #expect(throws: RedisError.self) {
                    _ = try await self.note(stage, counts, words, message, lifetime: lifetime)
                }
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test(arguments: badNames + [""])
    func `a bad rider is refused and nothing is written`(rider: String) async throws {
        try await Stage.set { stage in
            try await stage.leavesEverythingUnchanged {
                await #expect(throws: RedisError.self) {
                    _ = try await self.note(stage, "accepted 1", "", Self.message, rider: rider)
                }
            }
            #expect(try await stage.hasNoMessages())
        }
    }
}
