import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct StartTravelTests {
    private static let arguments = ["rider-1", "14400000", "in_transit,on_the_way", "172800000", "phone-1", "0"]

    private func start(_ stage: Stage, _ change: (inout [String]) -> Void = { _ in }) async throws -> RESPValue {
        var arguments = Self.arguments
        change(&arguments)
        return try await stage.run(
            Scripts.startTravel, keys: [stage.jobKey, stage.logKey, stage.eventStream], arguments)
    }

    @Test func `the first start sets the deadline to the maximum from now`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            let now = try await stage.now()
            let answer = try await self.start(stage)
            let deadline = try #require(answer.array?[1].integer)
            #expect(answer == .answer(1, deadline, 1))
            #expect((now + 14_400_000...now + 14_420_000).contains(deadline))
            #expect(try await stage.record("travel_active", "travel_deadline") == ["1", String(deadline)])
        }
    }

    @Test func `starting again, even after a stop and with a greater maximum, does not extend it`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            let first = try await self.start(stage)
            let again = try await self.start(stage) { $0[1] = "86400000" }
            _ = try await stage.run(
                Scripts.stopTravel, keys: [stage.jobKey, stage.logKey, stage.eventStream], ["", "172800000", "", ""])
            let afterStop = try await self.start(stage) { $0[1] = "86400000" }
            let deadline = try #require(first.array?[1].integer)
            // Each start and each stop is a new decision with a greater fence.
            #expect([first, again, afterStop] == [1, 2, 4].map { .answer(1, deadline, $0) })
            #expect(try await stage.record("travel_active") == ["1"])
        }
    }

    private func start(_ stage: Stage, on device: String, resumes: Bool) async throws -> Int64? {
        try await self.start(stage) { ($0[4], $0[5]) = (device, resumes ? "1" : "0") }.array?.first?.integer
    }

    @Test func `the record names the device that started last, and only that one may resume`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            var answers = [try await self.start(stage, on: "phone-1", resumes: false)]
            answers.append(try await self.start(stage, on: "phone-2", resumes: false))
            answers.append(try await self.start(stage, on: "phone-1", resumes: true))
            #expect(answers == [1, 1, -4])
            #expect(try await stage.record("reporter", "fence") == ["rider-1 phone-2", "2"])
            // A time that no clock shows, to see that resuming does not change it.
            try await stage.client.run("HSET", stage.jobKey, "reporter_since", "1")
            answers = [try await self.start(stage, on: "phone-2", resumes: true)]
            #expect(try await stage.record("reporter_since") == ["1"])
            // Without `resume`, the first device takes the trip back.
            answers.append(try await self.start(stage, on: "phone-1", resumes: false))
            #expect(answers == [1, 1])
            #expect(try await stage.record("reporter") == ["rider-1 phone-1"])
            #expect(try await stage.record("reporter_since") != ["1"])
        }
    }

    @Test func `the live instance decides which of two devices without a name continues`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            var answers = [try await self.start(stage, on: "~a", resumes: false)]
            answers.append(try await self.start(stage, on: "~b", resumes: true))
            answers.append(try await self.start(stage, on: "phone-1", resumes: true))
            answers.append(try await self.start(stage, on: "phone-1", resumes: false))
            answers.append(try await self.start(stage, on: "~b", resumes: true))
            #expect(answers == [1, 1, -4, 1, -4])
        }
    }

    @Test func `travel mode that was never on or was switched off cannot be resumed, but can be started`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.start(stage, on: "phone-1", resumes: true)
                #expect(answer == -6)
            }
            for device in ["phone-1", "~a"] {
                let started = try await self.start(stage, on: device, resumes: false)
                let stop = try await stage.run(
                    Scripts.stopTravel, keys: [stage.jobKey, stage.logKey, stage.eventStream],
                    ["rider-1", "172800000", "", ""])
                #expect(started == 1 && stop.array?.first == .integer(1))
                try await stage.leavesEverythingUnchanged {
                    let answer = try await self.start(stage, on: device, resumes: true)
                    #expect(answer == -5)
                }
            }
            let again = try await self.start(stage, on: "phone-1", resumes: false)
            #expect(again == 1)
        }
    }

    @Test func `a rider does not resume what the former rider started, and the former rider's device does not matter`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            try await stage.client.run("HSET", stage.jobKey, "reporter", "rider-10 phone-9", "travel_active", "0")
            let resumed = try await self.start(stage, on: "phone-1", resumes: true)
            let started = try await self.start(stage, on: "phone-1", resumes: false)
            #expect(resumed == -5 && started == 1)
        }
    }

    @Test func `a start renews the lifetime of record and log`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await self.start(stage) { $0[3] = "120000" }
            for key in [stage.jobKey, stage.logKey] {
                #expect((100_000...120_000).contains(try await stage.client.timeLeft(of: key)))
            }
        }
    }

    @Test func `after the deadline travel mode is off, and the deadline is returned`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            try await stage.client.run(
                "HSET", stage.jobKey, "travel_deadline", "1700000000000", "travel_active", "1")
            let answer = try await self.start(stage)
            #expect(answer == .answer(-3, Int64(1_700_000_000_000)))
            #expect(try await stage.record("travel_active", "travel_deadline") == ["0", "1700000000000"])
        }
    }

    @Test func `a start does not create a job that does not exist`() async throws {
        try await Stage.set { stage in
            let answer = try await self.start(stage)
            #expect(answer == .answer(0))
            #expect(try await stage.client.dump().isEmpty)
        }
    }

    @Test func `only the job's rider may start travel mode, and no rider for a job without one`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            for rider in ["rider-2", "customer-1"] {
                try await stage.leavesEverythingUnchanged {
                    let answer = try await self.start(stage) { $0[0] = rider }
                    #expect(answer == .answer(-1))
                }
            }
            try await stage.client.run("HSET", stage.jobKey, "rider", "")
            let answer = try await self.start(stage)
            #expect(answer == .answer(-1))
        }
    }

    @Test(arguments: JobKind.allCases)
    func `travel mode starts only in a travelling status`(kind: JobKind) async throws {
        try await Stage.set { stage in
            try await stage.createJob(kind)
            for status in kind.statuses {
                try await stage.client.run("HSET", stage.jobKey, "status", status.rawValue)
                if status.allowsTravel {
                    let answer = try await self.start(stage)
                    #expect(answer.array?.first == .integer(1))
                } else {
                    try await stage.leavesEverythingUnchanged {
                        let answer = try await self.start(stage)
                        #expect(answer == .answer(-2, status.rawValue))
                    }
                }
            }
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            let call = ValidCall(
                script: Scripts.startTravel, keys: [stage.jobKey, stage.logKey, stage.eventStream],
                arguments: Self.arguments)
            let caps = ["", "x", "999", "86400001", "1000.5", "-1", "nan", "inf"]
            try await call.refuses(
                (badNames + [""]).map { (0, $0, "rider must be") } + caps.map { (1, $0, "cap_ms must be") }
                    + ["", "A", "a b", "a-b"].map { (2, $0, "allowed must be") }
                    + badRetentions.map { (3, $0, "retention_ms must be") }
                    + ["", "a b", String(repeating: "a", count: 65)].map { (4, $0, "device must be") }
                    + ["", "2"].map { (5, $0, "resume must be") }, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer.array?.first == .integer(1))
        }
    }
}
