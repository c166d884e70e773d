import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Arguments that look like Lua, RESP or JSON, where scripts accept free text.
@Suite struct ScriptInjectionTests {
    private static let hostile = [
        "'] redis.call('FLUSHALL') --", "'];redis.call('FLUSHALL')--", "\"..redis.call('DEL',KEYS[1])..\"",
        "\" .. redis.call('DEL', KEYS[1]) .. \"", "]] os.exit() [[", "${jndi}",
        "*1\r\n$8\r\nFLUSHALL\r\n", "a\r\nb\0c", "%s%n", "KEYS[1]", "' OR 1=1",
    ]

    @Test(arguments: Self.hostile)
    func `T4: text that looks like a program is stored verbatim or refused`(text: String) async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob().head
            let names = ["job-7", "pending_vendor_acceptance", "accepted", "rider-1"]
            let keys = [stage.jobKey, stage.logKey, stage.eventsChannel, stage.eventStream]
            // The request id is free text; actor and source are names.
            let words = names + ["rest", "", text, "0", "172800000", "", "1", "", "", "", "0"]
            guard let answer = try? await stage.run(Scripts.publishStatus, keys: keys, words) else {
                // Only text with a space or an unprintable character is refused, and then nothing was written.
                #expect(text.utf8.contains { !(33...126).contains($0) })
                return try #expect(await stage.record("head") == [head.description])
            }
            #expect(answer.array?.first == .integer(1))
            let entry = try await stage.client.run("XREVRANGE", stage.logKey, "+", "-", "COUNT", "1").array?.first
            let fields = entry?.array?.last?.array?.compactMap(\.bytes) ?? []
            #expect(fields.last == Array(text.utf8))
            #expect(try await stage.record("status") == ["accepted"])
            #expect(try await stage.client.run("EXISTS", stage.jobKey) == .integer(1))
        }
    }
}
