import Embedded
import EnrouteWire
import LiveState
import Redis
import Subprocess
import TestSupport
import Testing

/// The lines that lua/README.md offers to a program that must see every change of a zone, as the user that they make.
@Suite struct ConsumerGroupTests {
    private static let name = "allocation"

    /// The lines between ```shell and ```, by the first words of the comment above each.
    private func lines() throws -> [(comment: String, line: String)] {
        let block = try #require(LuaFolder.readme().split(separator: "```").first { $0.hasPrefix("shell\n") })
        let lines = block.split(separator: "\n").dropFirst().map { String($0) }
        return stride(from: 0, to: lines.count - 1, by: 2).map { (String(lines[$0].dropFirst(2)), lines[$0 + 1]) }
    }

    private func run(_ line: String, _ stage: ZoneStage, asUser: Bool) async throws -> String {
        let user = asUser ? "--user \(Self.name) --pass a-long-password --no-auth-warning" : ""
        let outcome = try await Subprocess.run(
            .name("sh"),
            arguments: ["-c", "alias redis-cli='redis-cli -e -s \(stage.base.socketPath) \(user)'\n\(line)"],
            output: .string(limit: 65_536), error: .combinedWithOutput)
        #expect(outcome.terminationStatus.isSuccess, "\(line): \(outcome.standardOutput)")
        return outcome.standardOutput
    }

    @Test func `a consumer group sees every change once, and again what was not acknowledged`() async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.carry(ZoneStage.jobs[0])
            let told = try await stage.told(3)
            let lines = try self.lines()
            try #require(lines.count == 6)
            var answers: [String] = []
            for (index, line) in lines.enumerated() {
                // What a minute would bring comes at once here.
                let words = line.line.replacing(" 60000 ", with: " 0 ")
                answers.append(try await self.run(words, stage, asUser: index > 0))
            }
            func names(_ change: RiderChange, in answer: String) -> Bool {
                answer.contains("\(change.version / 1000)-\(change.version % 1000)\n")
            }
            #expect(told.allSatisfy { names($0, in: answers[2]) && names($0, in: answers[3]) })
            #expect(answers[4] == "1\n")
            // The first was acknowledged, so the others come again.
            #expect(told.map { names($0, in: answers[5]) } == [false, true, true])
            #expect(answers[5].contains("assigned"))
            _ = try await stage.goOffline()
            let next = try await self.run(lines[2].line.replacing("BLOCK 5000 ", with: ""), stage, asUser: true)
            #expect(next.filter { !$0.isWhitespace }.isEmpty, "what was refused is no change: \(next)")
        }
    }

    @Test func `its user changes nothing but its place in the log`() async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.carry(ZoneStage.jobs[0])
            _ = try await self.run(self.lines()[0].line, stage, asUser: false)
            for refused in [
                ["XADD", stage.keyspace.changeLog(of: ZoneStage.zone), "*", "a", "b"],
                ["DEL", stage.keyspace.changeLog(of: ZoneStage.zone)], ["HGETALL", stage.keys[0]],
                ["SPUBLISH", stage.keyspace.changes(in: ZoneStage.zone), "x"],
                ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "access", ">"],
            ] {
                let words = ["ACL", "DRYRUN", Self.name] + refused
                let answer = try await stage.client.send(RedisCommand(words.map { .text($0) })).get()
                #expect(answer.text?.contains("no permissions") == true, "\(refused): \(answer)")
            }
        }
    }
}
