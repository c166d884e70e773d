import Embedded
import EnrouteWire
import LiveState
import Redis
import Subprocess
import TestSupport
import Testing

/// Runs the commands of lua/README.md for a consumer group, as the user that the first of them creates.
@Suite struct ConsumerGroupTests {
    private static let name = "allocation"

    private func run(_ line: String, _ stage: ZoneStage, asUser: Bool) async throws -> String {
        let user = asUser ? "--user \(Self.name) --pass a-long-password --no-auth-warning" : ""
        let outcome = try await Subprocess.run(
            .name("sh"),
            arguments: ["-c", "alias redis-cli='redis-cli -e -s \(stage.base.socketPath) \(user)'\n\(line)"],
            output: .string(limit: 65_536), error: .combinedWithOutput)
        #expect(outcome.terminationStatus.isSuccess, "\(line): \(outcome.standardOutput)")
        return outcome.standardOutput
    }

    @Test func `a consumer group receives every change once, and unacknowledged changes again`() async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.setUpTask(ZoneStage.jobs[0])
            let told = try await stage.nextChanges(3)
            let lines = try LuaFolder.commands("shell").prefix(6)
            try #require(lines.count == 6)
            var answers: [String] = []
            for (index, line) in lines.enumerated() {
                // The command of the README waits a minute; the test does not.
                let words = line.line.replacing(" 60000 ", with: " 0 ")
                answers.append(try await self.run(words, stage, asUser: index > 0))
            }
            func names(_ change: RiderChange, in answer: String) -> Bool {
                answer.contains("\(change.version / 1000)-\(change.version % 1000)\n")
            }
            #expect(told.allSatisfy { names($0, in: answers[2]) && names($0, in: answers[3]) })
            #expect(answers[4] == "1\n")
            // The first change was acknowledged, so only the others are delivered again.
            #expect(told.map { names($0, in: answers[5]) } == [false, true, true])
            #expect(answers[5].contains("assigned"))
            _ = try await stage.goOffline()
            let next = try await self.run(lines[2].line.replacing("BLOCK 5000 ", with: ""), stage, asUser: true)
            #expect(next.filter { !$0.isWhitespace }.isEmpty, "a refused call must not be a change: \(next)")
        }
    }

    @Test func `a consumer group receives the events of a shard`() async throws {
        try await ZoneStage.set { stage in
            let lines = try LuaFolder.commands("shell").dropFirst(6)
            try #require(lines.count == 5)
            let job = (0...).lazy.map { JobID("job-\($0)")! }.first { job in
                stage.keyspace.events(of: job.text) == stage.keyspace.events(shard: 0)
            }
            let new = NewJob(
                job: try #require(job), kind: .delivery, customer: Stage.customer, rider: nil, zone: nil,
                destination: nil, actor: PersonID("service-1")!)
            _ = try await stage.base.ledger.create(new, epoch: "epoch-1").get()
            var answers: [String] = []
            for (index, line) in lines.enumerated() {
                let words = line.line.replacing(" 60000 ", with: " 0 ").replacing(
                    "billing on '>", with: "\(Self.name) on '>")
                answers.append(try await self.run(words, stage, asUser: index > 0))
            }
            #expect(answers[2].contains("enroute.job.created") && answers[2].contains("epoch-1.1."))
            #expect(answers[3] == "1\n")
        }
    }

    @Test func `the user for a consumer group can change nothing but its position in the log`() async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.setUpTask(ZoneStage.jobs[0])
            _ = try await self.run(LuaFolder.commands("shell")[0].line, stage, asUser: false)
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
