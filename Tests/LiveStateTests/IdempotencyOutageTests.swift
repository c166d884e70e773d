import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Idempotency keys while Redis is unavailable.
@Suite(.needsMachine(for: .faults)) struct IdempotencyOutageTests {
    private static let question = Array("POST /api/v1/jobs\n{}".utf8)
    /// No test waits until a claim expires.
    private static let hour = Duration.seconds(3600)

    private static func key(_ text: String) -> IdempotencyRecords.Key {
        IdempotencyRecords.Key(text, of: PersonID("orders")!, role: "service")
    }

    /// Runs with a Redis that knows the scripts.
    private static func set(_ body: (RestartableRedis, IdempotencyRecords) async throws -> Void) async throws {
        try await RestartableRedis.running { redis in
            var timing = RedisTiming.patient
            timing.answer = .seconds(1)
            let client = try await RedisClient.started(at: redis.address, timing: timing)
            defer { client.stop() }
            let records = IdempotencyRecords(writes: client, settings: LiveStateSettings())
            let claim = try await Self.claim("first", records)
            try await records.settle(#require(claim), of: Self.key("first"), as: .unused).get()
            try await body(redis, records)
        }
    }

    /// - Returns: `nil` when there is no claim.
    private static func claim(_ text: String, _ records: IdempotencyRecords) async throws -> IdempotencyRecords.Claim? {
        let result = try await records.claim(Self.key(text), for: Self.question, lasting: Self.hour).get()
        return if case .claimed(let claim) = result { claim } else { nil }
    }

    @Test func `a claim that Redis executes after the gateway gave up is released`() async throws {
        try await Self.set { redis, records in
            try await redis.freeze()
            let failed = await failure(of: records.claim(Self.key("k"), for: Self.question, lasting: Self.hour))
            #expect(failed == .timedOut)
            try await redis.thaw()
            var next: IdempotencyRecords.Claim?
            try await becomes("the key is free") {
                next = try? await Self.claim("k", records)
                return next != nil
            }
            // Redis has executed the claim: the key belongs to this request.
            #expect(next?.isRepeat == true)
            let other = try await records.claim(Self.key("k"), for: [1], lasting: Self.hour).get()
            #expect(other == .otherRequest)
        }
    }

    @Test func `a response that could not be stored during an outage is stored after it`() async throws {
        try await Self.set { redis, records in
            let claim = try #require(try await Self.claim("k", records))
            await redis.crash()
            let failed = await failure(
                of: records.settle(claim, of: Self.key("k"), as: .answered([1, 2], isBrief: false)))
            #expect(failed?.isOutage == true)
            try await redis.start()
            try await becomes("the answer is stored") {
                let result = try? await records.claim(Self.key("k"), for: Self.question, lasting: Self.hour).get()
                return result == .answered([1, 2])
            }
        }
    }

    @Test func `a claim that was never sent leaves the key free`() async throws {
        try await Self.set { redis, records in
            await redis.crash()
            try await becomes("Redis is disconnected") {
                await failure(of: records.claim(Self.key("k"), for: Self.question)) == .disconnected
            }
            try await redis.start()
            var next: IdempotencyRecords.Claim?
            try await becomes("Redis is connected") {
                next = try? await Self.claim("other", records)
                return next != nil
            }
            let claim = try await Self.claim("k", records)
            #expect(claim?.isRepeat == false)
        }
    }
}
