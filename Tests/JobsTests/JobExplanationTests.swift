import EnrouteWire
import Redis
import Testing

@testable import Jobs
@testable import LiveState

/// Every finding about a job.
@Suite struct JobExplanationTests {
    /// The section's state and verdict.
    private static func section(
        _ name: String, showsPosition: Bool = false, _ change: (inout JobFacts) -> Void = { _ in }
    ) throws -> Explanation.Section {
        let document = SampleFacts.explanation(of: SampleFacts.job(change), showsPosition: showsPosition)
        return try #require(document.sections.first { $0.name == name })
    }

    /// A change of the facts, and what the section then says.
    struct Finding: Sendable, CustomTestStringConvertible {
        let section: String
        let state: Explanation.State
        let text: String
        let change: @Sendable (inout JobFacts) -> Void
        var testDescription: String { "\(self.section): \(self.text)" }

        init(
            _ section: String, _ state: Explanation.State, _ text: String,
            _ change: @escaping @Sendable (inout JobFacts) -> Void = { _ in }
        ) {
            (self.section, self.state, self.text, self.change) = (section, state, text, change)
        }
    }

    private static func recording(
        _ change: @escaping @Sendable (inout JobRecord) -> Void
    ) -> @Sendable (inout JobFacts) -> Void {
        { $0.record = .value(SampleFacts.record(change)) }
    }

    private static let link = String(repeating: "a", count: 32)

    private static func link(
        _ link: LinkFacts.Link, revokedAt: Int64? = nil
    ) -> @Sendable (inout JobFacts) -> Void {
        { facts in
            facts.links = [LinkFacts(id: Self.link, link: .value(link), viewers: .value(2))]
            facts.revocations.links = revokedAt.map { [Self.link: $0] } ?? [:]
        }
    }

    private static let now = SampleFacts.now

    private static let aboutTheJob: [Finding] = [
        Finding("job", .ok, "The job is open: on_the_way."),
        Finding("job", .ok, "The job has ended: it is cancelled.", Self.recording { $0.status = .cancelled }),
        Finding("job", .attention, "There is no such job.") { $0.record = .absent },
        Finding("job", .attention, "gateways refuse every request for this job") { $0.record = .malformed(key: "k") },
        Finding("job", .unknown, "the ledger Redis is unavailable") { $0.record = .failed(SampleFacts.outage) },
        Finding("job", .attention, "disagree about the newest status") {
            $0.log = .value([
                StatusLogEntry(
                    id: StatusID("1-0")!, previous: nil, status: .assigned, at: 1, recordedAt: 1, actor: nil,
                    source: "rest", request: nil)
            ])
        },
        Finding("job", .attention, "The status log is missing") { $0.log = .absent },
        Finding("job", .attention, "status log k is malformed") { $0.log = .malformed(key: "k") },
        Finding("visibility", .ok, "It may be seen by the customer, the rider, operations and services."),
        Finding(
            "visibility", .ok, "services and 1 tracking link.",
            Self.link(.init(customer: SampleFacts.anna, mostViewers: 5, expiresAt: Self.now + 1000))),
        Finding(
            "visibility", .ok, "rider, operations and services.",
            Self.link(.init(customer: SampleFacts.rider, mostViewers: 5, expiresAt: Self.now + 1000))),
        Finding(
            "visibility", .ok, "rider, operations and services.",
            Self.link(.init(customer: SampleFacts.anna, mostViewers: 5, expiresAt: Self.now - 1000))),
        Finding(
            "visibility", .ok, "rider, operations and services.",
            Self.link(
                .init(customer: SampleFacts.anna, mostViewers: 5, expiresAt: Self.now + 1000),
                revokedAt: Self.now - 5_000)),
        Finding("visibility", .attention, "Only operations and services may see it: the job was revoked") {
            $0.revocations.job = Self.now - 60_000
        },
        Finding("visibility", .unknown, "the ledger Redis is unavailable") {
            $0.revocations.error = SampleFacts.outage
        },
    ]

    private static let aboutFollowers: [Finding] = [
        Finding("watching", .ok, "1 follower on g1 (1)."),
        Finding("watching", .ok, "Nobody follows the job.") {
            $0.watching.gateways = .value([SampleFacts.gateway("g1", followers: 0)])
            $0.watching.feedSubscribers = .value(0)
        },
        Finding("watching", .attention, "No gateway has reported for 10 minutes") { $0.watching.gateways = .absent },
        Finding("watching", .attention, "g3-y stopped reporting 30 s ago") {
            $0.watching.gateways = .value([GatewayFacts(id: "g3-y", at: Self.now - 30_000, health: .absent)])
        },
        Finding("watching", .attention, "g1 is degraded.") {
            $0.watching.gateways = .value([SampleFacts.gateway("g1", followers: 2, state: "degraded")])
        },
        Finding("watching", .attention, "Followers receive no locations: no event loop is subscribed") {
            $0.watching.feedSubscribers = .value(0)
        },
        Finding("watching", .attention, "Followers receive no statuses: no event loop is subscribed") {
            $0.watching.eventSubscribers = .value(0)
        },
        Finding("watching", .unknown, "the live Redis is unavailable") {
            $0.watching.gateways = .failed(SampleFacts.outage)
        },
        Finding("watching", .attention, "The data in gateways is malformed") {
            $0.watching.gateways = .malformed(key: "gateways")
        },
        Finding("followers", .ok, "Followers see the rider live: the position is 3 s old."),
        Finding("followers", .attention, "the last position, marked as old: it is 45 s old; the phone reported hidden.")
        {
            $0.position = .value(SampleFacts.position(age: 45_000))
            var verdicts = StoredVerdicts()
            verdicts.summary.unavailable = .hidden
            $0.verdicts = .value(verdicts)
        },
        Finding("followers", .attention, "travel mode is on, but no position has been accepted yet") {
            $0.position = .absent
        },
        Finding("followers", .attention, "no position has arrived for a long time although travel mode is on") {
            $0.position = .absent
            var verdicts = StoredVerdicts()
            verdicts.summary.seenAt = Self.now - 700_000
            $0.verdicts = .value(verdicts)
        },
        Finding("followers", .attention, "the position in k is malformed") { $0.position = .malformed(key: "k") },
        Finding("followers", .ok, "because travel mode has been off since 17:20:17 (status is completed).") {
            $0.record = .value(
                SampleFacts.record {
                    $0.status = .completed; $0.isTravelling = false
                })
            $0.travel = .value(.init(fence: 3, deadline: 0, rider: nil))
        },
        Finding("followers", .ok, "see that the rider has arrived") {
            $0.record = .value(
                SampleFacts.record {
                    $0.status = .workInProgress; $0.isTravelling = false
                })
            $0.travel = .value(.init(fence: 3, deadline: 0, rider: nil))
        },
        Finding("followers", .attention, "because the rider switched travel mode off") {
            $0.record = .value(SampleFacts.record { $0.isTravelling = false })
            $0.travel = .value(.init(fence: 3, deadline: 0, rider: nil))
        },
        Finding("followers", .attention, "because the time limit of travel mode passed") {
            $0.record = .value(
                SampleFacts.record {
                    $0.isTravelling = false; $0.travelDeadline = Self.now - 1
                })
            $0.travel = .absent
        },
        Finding("followers", .ok, "because no rider is assigned") {
            $0.record = .value(
                SampleFacts.record {
                    $0.rider = nil; $0.isTravelling = false; $0.travelDeadline = nil
                })
        },
        Finding("followers", .ok, "the status is assigned: the rider is not travelling to them yet") {
            $0.record = .value(
                SampleFacts.record {
                    $0.status = .assigned; $0.isTravelling = false; $0.travelDeadline = nil
                })
            $0.travel = .absent
        },
        Finding("followers", .attention, "the rider has not switched travel mode on") {
            $0.record = .value(
                SampleFacts.record {
                    $0.isTravelling = false; $0.travelDeadline = nil
                })
            $0.travel = .absent
        },
        Finding("followers", .attention, "the two Redis instances disagree about travel mode") { $0.travel = .absent },
        Finding("followers", .attention, "links see nothing: the job was revoked") {
            $0.revocations.job = Self.now - 60_000
        },
        Finding("followers", .unknown, "updates are delayed: the live Redis is unavailable") {
            $0.travel = .failed(SampleFacts.outage)
        },
        Finding("followers", .attention, "there is no such job") { $0.record = .absent },
    ]

    private static func travel(
        _ rider: String?, deadline: Int64 = SampleFacts.deadline
    ) -> @Sendable (inout JobFacts) -> Void {
        { $0.travel = .value(.init(fence: 2, deadline: deadline, rider: rider.flatMap { PersonID($0) })) }
    }

    private static let aboutTravel: [Finding] = [
        Finding("travel", .ok, "Travel mode is on until 19:30:17 (in 2 h 0 min)."),
        Finding("travel", .attention, "no entry, for example because it lost its data") { $0.travel = .absent },
        Finding("travel", .attention, "but off in the live Redis: rider-1 has to switch it on again", Self.travel(nil)),
        Finding(
            "travel", .attention, "accepts positions of rider-2, but the job is assigned to rider-1",
            Self.travel("rider-2")),
        Finding("travel", .attention, "The time limit passed at", Self.travel("rider-1", deadline: Self.now - 1)),
        Finding("travel", .attention, "but k is malformed") { $0.travel = .malformed(key: "k") },
        Finding("travel", .unknown, "the live Redis is unavailable") { $0.travel = .failed(SampleFacts.outage) },
        Finding("travel", .ok, "off: no rider is assigned", Self.recording { $0.rider = nil }),
        Finding("travel", .attention, "still accepts positions", Self.recording { $0.status = .completed }),
        Finding("travel", .ok, "off since 17:20:17 (10 min ago): the status is completed") {
            $0.record = .value(SampleFacts.record { $0.status = .completed })
            $0.travel = .absent
        },
        Finding(
            "travel", .attention, "off in the ledger, but the live Redis accepts positions",
            Self.recording { $0.isTravelling = false }),
        Finding("travel", .ok, "cannot be on yet: the status is assigned, not in_transit or on_the_way") {
            $0.record = .value(
                SampleFacts.record {
                    $0.status = .assigned; $0.isTravelling = false
                })
            $0.travel = .absent
        },
        Finding("travel", .attention, "rider-1 has not switched it on") {
            $0.record = .value(
                SampleFacts.record {
                    $0.isTravelling = false; $0.travelDeadline = nil
                })
            $0.travel = .absent
        },
        Finding("travel", .attention, "(1 s ago): the time limit passed") {
            $0.record = .value(
                SampleFacts.record {
                    $0.isTravelling = false; $0.travelDeadline = Self.now - 1_000
                })
            $0.travel = .absent
        },
        Finding("travel", .attention, "rider-1 switched it off, and may switch it on until") {
            $0.record = .value(SampleFacts.record { $0.isTravelling = false })
            $0.travel = .absent
        },
        Finding("travel", .attention, "the gateway switched it off when rider-1 arrived") {
            $0.record = .value(SampleFacts.record { $0.isTravelling = false })
            $0.travel = .absent
            var verdicts = StoredVerdicts()
            verdicts.summary.wasStoppedByArrival = true
            $0.verdicts = .value(verdicts)
        },
        Finding("travel", .attention, "no such job") { $0.record = .absent },
    ]

    private static func verdicts(_ latest: String, _ counts: [String: Int]) -> @Sendable (inout JobFacts) -> Void {
        { facts in
            var stored = StoredVerdicts()
            stored.summary.counts = counts
            stored.lastAt = counts.mapValues { _ in Self.now - 90_000 }
            stored.lastAt[latest] = Self.now - 4_000
            facts.verdicts = .value(stored)
        }
    }

    private static let aboutFixes: [Finding] = [
        Finding("fixes", .ok, "The latest fix was accepted 3 s ago."),
        Finding("fixes", .attention, "No fix has been accepted for 45 s.") {
            $0.position = .value(SampleFacts.position(age: 45_000))
        },
        Finding("fixes", .ok, "its position has been erased or has expired") { $0.position = .absent },
        Finding("fixes", .attention, "No fix has arrived although travel mode is on.") { $0.verdicts = .absent },
        Finding("fixes", .ok, "No fix has arrived.") {
            ($0.verdicts, $0.travel) = (.absent, .absent)
        },
        Finding(
            "fixes", .attention, "The latest verdict is implausible_speed (4 s ago): the speed was impossible",
            Self.verdicts("implausible_speed", ["accepted": 9, "implausible_speed": 2])),
        Finding(
            "fixes", .attention, "The latest verdict is future (4 s ago): the phone's clock is ahead",
            Self.verdicts("future", ["future": 2])),
        Finding(
            "fixes", .attention, "of_a_later_version (4 s ago): it was not accepted",
            Self.verdicts("of_a_later_version", ["of_a_later_version": 2])),
        Finding("fixes", .attention, "The data in k is malformed") { $0.verdicts = .malformed(key: "k") },
        Finding("fixes", .unknown, "the live Redis is unavailable") { $0.position = .failed(SampleFacts.outage) },
    ]

    private static func estimate(
        _ state: ArrivalState, fence: Int64 = 2, source: String? = "osrm", arrivesAt: Int64? = SampleFacts.now + 300_000
    ) -> @Sendable (inout JobFacts) -> Void {
        {
            $0.estimate = .value(
                .init(
                    fence: fence,
                    estimate: ArrivalEstimate(
                        state: state, arrivesAt: arrivesAt, seconds: arrivesAt.map { _ in 300 }, source: source,
                        confidence: .medium, at: Self.now - 20_000)))
        }
    }

    private static let aboutArrivals: [Finding] = [
        Finding("eta", .ok, "Arrival at 17:35:17 (in 5 min), by osrm, calculated 20 s ago.", Self.estimate(.ok)),
        Finding("eta", .ok, "by straight-line distance (built_in)", Self.estimate(.ok, source: "built_in")),
        Finding("eta", .ok, "belongs to an earlier travel mode", Self.estimate(.ok, fence: 1)),
        Finding("eta", .attention, "no provider answered", Self.estimate(.unavailable, arrivesAt: nil)),
        Finding("eta", .attention, "being recalculated", Self.estimate(.recalculating, arrivesAt: nil)),
        Finding("eta", .attention, "although somebody follows the job"),
        Finding("eta", .ok, "a gateway is calculating it") { $0.isEstimateLeased = .value(true) },
        Finding("eta", .ok, "calculated only while somebody follows") { $0.watching.gateways = .value([]) },
        Finding("eta", .ok, "there is no position yet") { $0.position = .absent },
        Finding("eta", .ok, "travel mode is not on") { $0.travel = .absent },
        Finding("eta", .attention, "the job has no destination", Self.recording { $0.destination = nil }),
        Finding("eta", .ok, "the status is completed", Self.recording { $0.status = .completed }),
        Finding("eta", .attention, "The data in k is malformed") { $0.estimate = .malformed(key: "k") },
        Finding("eta", .unknown, "the live Redis is unavailable") { $0.estimate = .failed(SampleFacts.outage) },
    ]

    private static let aboutKeys: [Finding] = [
        Finding("redis", .ok, "live and ledger answered."),
        Finding("redis", .unknown, "The master of live is unknown") { $0.liveKeys = KeyFacts() },
        Finding("redis", .attention, "ledger has no replica") { $0.ledgerKeys.isSentinel = true },
    ]

    @Test(
        arguments: Self.aboutTheJob + Self.aboutFollowers + Self.aboutTravel + Self.aboutFixes + Self.aboutArrivals
            + Self.aboutKeys)
    func `each finding has its verdict`(finding: Finding) throws {
        let section = try Self.section(finding.section, finding.change)
        #expect(section.verdict.contains(finding.text), "\(section.verdict)")
        #expect(section.state == finding.state, "\(section.verdict)")
    }

    @Test func `the position is shown only on request, with its age and expiry otherwise`() throws {
        let hidden = try Self.section("fixes").facts
        #expect(!hidden.contains { $0.text.contains("41.9") || $0.name == "lat" })
        let position = try #require(hidden.first { $0.name == "position" })
        #expect(position.text == "stored 17:30:14 (3 s ago), expires in 9 min")
        let shown = try Self.section("fixes", showsPosition: true).facts
        #expect(shown.first { $0.name == "lat" }?.value == .degrees(41.9))
        #expect(shown.first { $0.name == "lon" }?.value == .degrees(12.5))
    }

    @Test func `a position does not outlive the deadline`() throws {
        let facts = try Self.section("fixes") {
            $0.travel = .value(.init(fence: 2, deadline: Self.now + 5_000, rider: SampleFacts.rider))
        }.facts
        #expect(facts.contains { $0.name == "position" && $0.text.hasSuffix("expires in 5 s") })
    }

    @Test func `a person whose tokens are revoked is named, with the time from which new ones are valid`() throws {
        let section = try Self.section("visibility") {
            $0.revocations.people = [SampleFacts.anna: Self.now - 60_000]
        }
        let customer = try #require(section.facts.first { $0.name == "customer" })
        #expect(customer.text == "anna: no, tokens issued before 17:29:17 (60 s ago) are revoked")
        #expect(section.verdict == "It may be seen by the rider, operations and services.")
    }

    @Test func `the section on travel mode names the device that reports`() throws {
        let devices: [(reporter: Reporter?, text: String?)] = [
            (Reporter(DeviceID("phone-1")!), "phone-1"), (.requests, "one without a name"),
            (nil, "the next that reports"),
        ]
        for (reporter, text) in devices {
            let section = try Self.section("travel") {
                $0.travel = .value(
                    .init(fence: 2, deadline: SampleFacts.deadline, rider: PersonID("rider-1"), reporter: reporter))
            }
            #expect(section.facts.first { $0.name == "device" }?.text == text)
        }
        let off = try Self.section("travel", Self.travel(nil))
        #expect(!off.facts.contains { $0.name == "device" })
    }

    @Test func `sessions on a gateway that is gone are marked`() throws {
        let section = try Self.section("watching") { facts in
            facts.watching.sessions = .value(
                ["g1", "g9"].map {
                    SessionFacts(
                        job: SampleFacts.job, person: SampleFacts.anna, role: "customer", via: "link", session: $0,
                        gateway: $0, since: Self.now - 1_000)
                })
        }
        let sessions = section.facts.filter { $0.name == "session" }.map(\.text)
        #expect(sessions[0] == "customer anna by link on g1 since 17:30:16 (1 s ago)")
        #expect(sessions[1].hasSuffix("that gateway is gone"))
    }

    @Test func `the summary is what followers see, and one failure per unavailable role is listed`() {
        let facts = SampleFacts.job {
            ($0.travel, $0.position) = (.failed(.disconnected), .failed(.timedOut))
            $0.estimate = .failed(.refused(code: "NOPERM", message: "NOPERM no"))
            $0.record = .malformed(key: "job:{job-7}")
        }
        let document = SampleFacts.explanation(of: facts)
        #expect(document.summary == document.sections.first { $0.name == "followers" }?.verdict)
        #expect(document.failures.map(\.role) == [.live, .live] && document.failures.map(\.outage) == [true, false])
        #expect(document.failures[1].reason.contains("install the access list"))
        #expect(document.malformed == [MalformedKey(role: .ledger, key: "job:{job-7}")])
        #expect(document.found == true && !document.complete && document.isUnavailable)
    }
}
