import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct RecoverJobTests {
    @Test(arguments: [["maxmemory", "1"], ["min-replicas-to-write", "1"]])
    func `a ledger that accepts no writes can still be read`(setting: [String]) async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.client.run("CONFIG", "SET", setting[0], setting[1])
            let recovery = try await stage.ledger.recover(Stage.job).get()
            #expect(recovery?.record.kind == .delivery)
        }
    }

    private func recover(_ stage: Stage, _ epoch: String = "", _ since: String = "") async throws -> RESPValue {
        try await stage.run(Scripts.recoverJob, keys: [stage.jobKey, stage.logKey], [epoch, since])
    }

    /// The code, and the ids of the events.
    private func events(_ answer: RESPValue) -> (code: Int64?, ids: [String]) {
        (answer.array?.first?.integer, answer.array?.last?.array?.compactMap { $0.array?.first?.text } ?? [])
    }

    @Test func `the state is complete and in the documented order`() async throws {
        try await Stage.set { stage in
            let record = try await stage.createJob(through: Stage.statusesUntilTransit)
            guard
                case .on(let deadline, let fence) = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider)
                    .get()
            else {
                Issue.record("travel did not start")
                return
            }
            let answer = try await self.recover(stage)
            let since = try #require(try await stage.record("reporter_since").first ?? nil)
            #expect(Int64(since) != nil)
            let accepted = try #require(try await stage.record("accepted_at").first ?? nil)
            #expect(Int64(accepted) ?? .max <= record.statusAt)
            #expect(
                answer.array?[1].array?.map(\.text) == [
                    "delivery", "customer-1", "rider-1", "berlin", #"{"lat":52.5,"lon":13.4}"#, "", "in_transit",
                    String(record.statusAt), "epoch-1", record.head.description, "1", String(deadline),
                    String(fence), "in_transit", "", "", accepted, "", "", "rider-1 ~rest", "", since,
                ])
            #expect(self.events(answer) == (1, []))
        }
    }

    @Test func `fields that a record lacks are empty`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let answer = try await self.recover(stage)
            #expect(
                answer.array?[1].array?.suffix(11).map(\.text)
                    == ["", "", "pending_vendor_acceptance", "", "", "", "", "", "", "", ""])
            #expect(answer.array?[1].array?.count == 22)
        }
    }

    @Test(arguments: [0, 1, 10])
    func `missed events are returned in order, each with its predecessor`(count: Int) async throws {
        try await Stage.set { stage in
            let seen = try await stage.createJob(through: [.accepted]).head
            var expected: [RESPValue] = []
            for status in Stage.round(count) {
                let event = try await stage.publish(status)
                expected.append(.answer(event.id, event.previous?.description ?? "", status.rawValue, event.at))
            }
            let texts = expected.map { $0.array?.map { $0.text ?? String($0.integer ?? 0) } }
            let answer = try await self.recover(stage, "epoch-1", seen.description)
            #expect(answer.array?.first == .integer(1))
            #expect(answer.array?.last?.array?.map { $0.array?.map { $0.text } } == texts.map { $0?.map { $0 } })
        }
    }

    @Test func `up to sixty-three missed events are returned, and with more the follower starts again`() async throws {
        try await Stage.set { stage in
            let seen = try await stage.createJob(through: [.accepted]).head.description
            for status in Stage.round(63) { try await stage.publish(status) }
            let inReach = self.events(try await self.recover(stage, "epoch-1", seen))
            #expect(inReach.code == 1)
            #expect(inReach.ids.count == 63)
            try await stage.publish(.allocationFailed)
            #expect(self.events(try await self.recover(stage, "epoch-1", seen)) == (2, []))
        }
    }

    @Test func `a follower that missed a hundred events gets the state and no part of the history`() async throws {
        try await Stage.set { stage in
            let seen = try await stage.createJob(through: [.accepted]).head.description
            for status in Stage.round(100) { try await stage.publish(status) }
            let answer = try await self.recover(stage, "epoch-1", seen)
            #expect(self.events(answer) == (2, []))
            #expect(answer.array?[1].array?[6].text == "allocation_failed")
        }
    }

    @Test func `another epoch is another history`() async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob(through: [.accepted]).head.description
            for epoch in ["epoch-2", "", "epoch-11"] {
                #expect(self.events(try await self.recover(stage, epoch, head)) == (2, []))
            }
        }
    }

    @Test func `an id that never existed is another history`() async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob(through: [.accepted]).head
            for id in ["0-0", "0-1", "\(head.milliseconds + 1)-0", "\(head.milliseconds)-\(head.sequence + 1)"] {
                #expect(self.events(try await self.recover(stage, "epoch-1", id)) == (2, []), "\(id)")
            }
        }
    }

    @Test func `a follower that has seen the last event has missed nothing, even without the log`() async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob(through: [.accepted]).head.description
            try await stage.client.run("DEL", stage.logKey)
            #expect(self.events(try await self.recover(stage, "epoch-1", head)) == (1, []))
        }
    }

    @Test func `reading changes nothing, not even the lifetime`() async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob(through: Stage.statusesUntilTransit).head.description
            try await stage.leavesEverythingUnchanged {
                _ = try await self.recover(stage)
                _ = try await self.recover(stage, "epoch-1", head)
                _ = try await self.recover(stage, "epoch-2", "0-1")
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a job that does not exist is reported as missing`() async throws {
        try await Stage.set { stage in
            for (epoch, since) in [("", ""), ("epoch-1", "1-0")] {
                let answer = try await self.recover(stage, epoch, since)
                #expect(answer == .answer(0))
            }
        }
    }

    @Test func `a bad argument is refused by name`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(
                script: Scripts.recoverJob, keys: [stage.jobKey, stage.logKey], arguments: ["epoch-1", "1-0"])
            let ids = [
                "x", "1", "1-", "-1", "-", "+", "(1-0", "1-0-0", "1-0 ", "1.5-0", "$",
                String(repeating: "1", count: 40) + "-0",
            ]
            try await call.refuses(
                badNames.map { (0, $0, "epoch must be") } + ids.map { (1, $0, "since must be") }, on: stage)
        }
    }
}
