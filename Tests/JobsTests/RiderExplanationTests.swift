import EnrouteWire
import Redis
import Testing

@testable import Jobs
@testable import LiveState

/// Every finding about a rider.
@Suite struct RiderExplanationTests {
    private static let now = SampleFacts.now

    private static func record(
        status: String = "online", reachable: String = "1", approved: String = "1", capacity: Int = 1,
        heartbeat: Int64 = SampleFacts.now - 10_000, reason: String = "", tasks: [String] = []
    ) -> Reading<RiderRecord> {
        .value(
            RiderRecord(
                [
                    status, reachable, approved, "\(capacity)", "\(heartbeat)", "phone", "7", "\(Self.now - 60_000)",
                    reason,
                ],
                tasks: tasks)!)
    }

    private static func task(_ change: (inout JobRecord) -> Void = { _ in }) -> RiderFacts.TaskFacts {
        .init(
            job: SampleFacts.job, state: .accepted, record: .value(SampleFacts.record(change)),
            travel: .value(.init(fence: 2, deadline: SampleFacts.deadline, rider: SampleFacts.rider)))
    }

    /// Jobs that the rider had before they entered the zone.
    private static func wait(_ jobs: [String], _ facts: inout RiderFacts) {
        facts.record = Self.record(status: "offline", reachable: "0")
        facts.isJoining = .value(true)
        facts.jobs = jobs.map { job in
            let record = SampleFacts.record { ($0.status, $0.isTravelling) = (.assigned, false) }
            return .init(job: JobID(job)!, state: nil, record: .value(record), travel: .absent)
        }
    }

    private static func document(_ change: (inout RiderFacts) -> Void = { _ in }) -> Explanation {
        var facts = RiderFacts(rider: SampleFacts.rider, now: Self.now)
        facts.zone = .value(ZoneID("rome")!)
        facts.record = Self.record()
        facts.isInPool = .value(true)
        facts.nextCheck = .value(Double(Self.now + 80_000))
        facts.watching.gateways = .value([SampleFacts.gateway("g1", followers: 1)])
        facts.ledgerKeys.master = "127.0.0.1:2"
        change(&facts)
        return RiderExplanation(facts, settings: LiveStateSettings()).document
    }

    struct Finding: Sendable, CustomTestStringConvertible {
        let section: String
        let state: Explanation.State
        let text: String
        let change: @Sendable (inout RiderFacts) -> Void
        var testDescription: String { "\(self.section): \(self.text)" }

        init(
            _ section: String, _ state: Explanation.State, _ text: String,
            _ change: @escaping @Sendable (inout RiderFacts) -> Void = { _ in }
        ) {
            (self.section, self.state, self.text, self.change) = (section, state, text, change)
        }
    }

    private static let busy: @Sendable (inout RiderFacts) -> Void = {
        $0.record = Self.record(tasks: ["job-7", "accepted"])
        $0.jobs = [Self.task()]
    }

    private static let findings: [Finding] = [
        Finding("availability", .ok, "The rider is available for tasks."),
        Finding("availability", .ok, "receives no tasks: they are offline after a long silence (expired).") {
            $0.record = Self.record(status: "offline", reachable: "0", reason: "expired")
        },
        Finding("availability", .attention, "receives no tasks: they have sent no heartbeat for 90 s") {
            $0.record = Self.record(reachable: "0")
        },
        Finding("availability", .attention, "not approved and they have as many tasks as their capacity allows") {
            $0.record = Self.record(approved: "0", tasks: ["job-7", "accepted"])
        },
        Finding("availability", .attention, "the pool does not list them") { $0.isInPool = .absent },
        Finding("availability", .attention, "The data in p is malformed") { $0.isInPool = .malformed(key: "p") },
        Finding("availability", .attention, "is not registered in any zone") {
            ($0.zone, $0.record) = (.absent, .absent)
        },
        Finding("availability", .attention, "registered in zone rome, but has no record there") { $0.record = .absent },
        Finding("availability", .attention, "The data in k is malformed") { $0.record = .malformed(key: "k") },
        Finding("availability", .unknown, "the ledger Redis is unavailable") { $0.zone = .failed(.disconnected) },
        Finding("presence", .ok, "without a heartbeat they become unreachable in 80 s."),
        Finding("presence", .ok, "is offline; presence does not matter") { $0.record = Self.record(status: "offline") },
        Finding("presence", .attention, "they are set offline in 28 min unless they return") {
            $0.record = Self.record(reachable: "0", heartbeat: Self.now - 100_000)
        },
        Finding("presence", .attention, "unreachable with a task, so they stay online") {
            $0.record = Self.record(reachable: "0", tasks: ["job-7", "accepted"])
            $0.nextCheck = .value(.infinity)
        },
        Finding("presence", .ok, "has never sent a heartbeat") { $0.record = Self.record(heartbeat: 0) },
        Finding("tasks", .ok, "has no active task"),
        Finding("tasks", .ok, "has 1 job; travel mode is on for job-7.", Self.busy),
        Finding("tasks", .ok, "on for none. When the rider goes online, job-7 becomes a task.") {
            Self.wait(["job-7"], &$0)
        },
        Finding("tasks", .ok, "When the rider goes online, job-7 and job-8 become tasks.") {
            Self.wait(["job-7", "job-8"], &$0)
        },
        Finding("tasks", .attention, "Something is wrong with job-7") {
            $0.jobs = [Self.task { $0.rider = nil }]
        },
        Finding("tasks", .attention, "Something is wrong with job-7") {
            $0.jobs = [Self.task { $0.status = .completed }]
        },
        Finding("offline", .ok, "can go offline"),
        Finding("offline", .attention, "cannot go offline: they have 1 active task (job-7).", Self.busy),
        Finding("offline", .ok, "is already offline") { $0.record = Self.record(status: "offline") },
        Finding("sessions", .ok, "is connected to g1."),
        Finding("sessions", .attention, "No gateway has reported a session of the rider.") {
            $0.watching.gateways = .value([])
        },
        Finding("sessions", .unknown, "the live Redis is unavailable") {
            $0.watching.gateways = .failed(.disconnected)
        },
        Finding("sessions", .attention, "The data in gateways is malformed") {
            $0.watching.gateways = .malformed(key: "gateways")
        },
        Finding("revocations", .ok, "No revocation applies"),
        Finding("revocations", .attention, "Tokens issued before 17:29:17 (60 s ago) are revoked") {
            $0.revocations.people = [SampleFacts.rider: Self.now - 60_000]
        },
        Finding("revocations", .unknown, "the ledger Redis is unavailable") { $0.revocations.error = .disconnected },
    ]

    @Test(arguments: Self.findings) func `each finding has its verdict`(finding: Finding) throws {
        let document = Self.document(finding.change)
        let section = try #require(document.sections.first { $0.name == finding.section })
        #expect(section.verdict.contains(finding.text), "\(section.verdict)")
        #expect(section.state == finding.state, "\(section.verdict)")
    }

    @Test func `a rider without zone and sessions does not exist, one with a session does`() {
        let unknown = Self.document {
            ($0.zone, $0.record, $0.watching.gateways) = (.absent, .absent, .value([]))
        }
        #expect(unknown.found == false)
        #expect(Self.document { ($0.zone, $0.record) = (.absent, .absent) }.found == true)
        #expect(Self.document { $0.zone = .failed(.disconnected) }.found == nil)
    }

    @Test func `whether a rider without a zone exists is unknown while sessions cannot be read`() {
        let changes: [@Sendable (inout RiderFacts) -> Void] = [
            { $0.watching.gateways = .failed(.disconnected) },
            { ($0.watching.gateways, $0.watching.sessions) = (.value([]), .failed(.disconnected)) },
            { facts in
                var gateway = SampleFacts.gateway("g1", followers: 0)
                gateway.riderSessions = .failed(.disconnected)
                facts.watching.gateways = .value([gateway])
            },
        ]
        for change in changes {
            let document = Self.document {
                ($0.zone, $0.record) = (.absent, .absent)
                change(&$0)
            }
            #expect(document.found == nil && document.isUnavailable)
        }
    }

    @Test func `a reason cannot control the terminal`() throws {
        let document = Self.document { $0.record = Self.record(status: "offline", reason: "a\u{1B}[2Jb\nc\u{202E}d") }
        let reason = document.sections.flatMap(\.facts).first { $0.name == "reason" }
        #expect(reason?.text == "a?[2Jb?c?d")
    }
}
