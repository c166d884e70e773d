import HTTPValues
import LiveState
import Redis
import TestSupport
import Testing
import Webhooks

/// The entry that a worker has read last is missing: a failover lost it, or its job was erased.
@Suite struct LostEntriesTests {
    private static let job = "job-1"

    /// Replaces the entries of the job's shard.
    ///
    /// - Parameter entries: the number of the event, and when it was appended, ms since the epoch.
    private func replace(_ stage: WorkerStage, with entries: [(event: Int, at: Int64)]) async throws {
        let script = """
            local fields = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1][2]
            redis.call('DEL', KEYS[1])
            for index = 1, #ARGV, 2 do
              for place = 1, #fields, 2 do
                if fields[place] == 'id' then fields[place + 1] = ARGV[index] end
              end
              redis.call('XADD', KEYS[1], ARGV[index + 1] .. '-0', unpack(fields))
            end
            """
        var words: [RedisCommand.Word] = ["EVAL", .text(script), "1", .text(stage.keyspace.events(of: Self.job))]
        for (event, at) in entries { words += [.text("e.\(event)"), .integer(at)] }
        _ = try await stage.client.send(RedisCommand(words)).get()
    }

    /// Delivers two events and then runs `body`. The worker runs during both.
    ///
    /// - Parameter now: when the second event was appended, ms since the epoch.
    private func deliver(_ stage: WorkerStage, _ now: Int64, then body: () async throws -> Void = {}) async throws {
        try await stage.append([Self.job])
        try await self.replace(stage, with: [(0, now - 60_000), (1, now)])
        try await stage.running {
            try await becomes("both events") { stage.endpoint.sent(Self.job) == ["e.0", "e.1"] }
            try await becomes("the cursor") { try await stage.record().cursors.values.contains("\(now)-0") }
            try await body()
        }
    }

    @Test(arguments: [[-30_000], [-30_000, 1_000]] as [[Int64]])
    func `after a failover that lost an entry, events with smaller ids are delivered, and no other is repeated`(
        offsets: [Int64]
    ) async throws {
        try await WorkerStage.set { stage in
            let now = WallClock.nowMilliseconds
            let new = offsets.enumerated().map { (event: 2 + $0.offset, at: now + $0.element) }
            try await self.deliver(stage, now) {
                try await self.replace(stage, with: [(event: 0, at: now - 60_000)] + new)
                try await becomes("the new events") { stage.endpoint.sent(Self.job).count == 2 + new.count }
            }
            #expect(stage.endpoint.sent(Self.job) == (0..<2 + new.count).map { "e.\($0)" })
        }
    }

    @Test func `a worker that does not know what was read last repeats the last minutes instead of missing an event`()
        async throws
    {
        try await WorkerStage.set { stage in
            let now = WallClock.nowMilliseconds
            try await self.deliver(stage, now)
            try await self.replace(stage, with: [(0, now - 60_000), (2, now - 30_000)])
            try await stage.running {
                try await becomes("the new event") { stage.endpoint.sent(Self.job).last == "e.2" }
            }
            #expect(stage.endpoint.sent(Self.job) == ["e.0", "e.1", "e.0", "e.2"])
        }
    }

    @Test func `the erasure of the event that was read last repeats no other one`() async throws {
        try await WorkerStage.set { stage in
            let now = WallClock.nowMilliseconds
            try await self.deliver(stage, now) {
                try await self.replace(stage, with: [(0, now - 60_000)])
                try await stage.append([Self.job], from: 2)
                try await becomes("the next event") { stage.endpoint.sent(Self.job).contains("e.2") }
            }
            #expect(stage.endpoint.sent(Self.job) == ["e.0", "e.1", "e.2"])
        }
    }
}
