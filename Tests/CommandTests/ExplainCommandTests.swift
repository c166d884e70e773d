import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// `enroute explain` as an operator runs it.
@Suite struct ExplainCommandTests {
    static func fill(_ client: RedisClient) async throws {
        let settings = LiveStateSettings()
        let ledger = JobLedger(ledger: client, settings: settings)
        let (rider, job) = (PersonID("rider-1")!, JobID("job-7")!)
        _ = try await ledger.create(
            NewJob(
                job: job, kind: .service, customer: PersonID("anna")!, rider: rider, zone: ZoneID("rome"),
                destination: Coordinate(latitude: 41.91, longitude: 12.51), actor: PersonID("orders")!), epoch: "e"
        ).get()
        _ = try await ledger.publish(.onTheWay, of: job, by: rider, source: "event").get()
        guard case .on(let deadline, let fence) = try await ledger.startTravel(for: job, by: rider).get() else {
            throw BadMessage("travel mode is off")
        }
        _ = try await JobFeed(live: client, settings: settings).open(job, for: rider, until: deadline, fence: fence)
            .get()
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        let fix = Fix(at: now, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
        _ = try await LocationPublisher(live: client, settings: settings).publish(
            fix, for: job, by: rider, receivedAt: now
        )
        .get()
        let estimate = ArrivalEstimate(
            state: .ok, arrivesAt: now + 480_000, seconds: 480, source: "osrm", confidence: .medium, at: now)
        let published = try await ETAStore(live: client, settings: settings).publish(estimate, of: job, by: rider).get()
        #expect(published == .published)
        try await ValidationSummaryStore(live: client, settings: settings)
            .note(job, by: rider, counts: [("accepted", 1)]).get()
        try await GatewayRegistry(live: client, settings: settings).report(
            "g1-x", Array(#"{"name":"g1","state":"serving"}"#.utf8), followed: [job: 1], riders: [rider: 1], now: now
        ).get()
        let riders = Riders(ledger: client, settings: settings)
        _ = try await riders.describe(
            rider, in: ZoneID("rome")!, isApproved: true, capacity: 1, by: .init(PersonID("orders")!)
        ).get()
        _ = try await riders.setOnline(rider, in: ZoneID("rome")!, by: .init(rider)).get()
        _ = try await riders.assign(job, to: rider, in: ZoneID("rome")!, by: .init(PersonID("orders")!)).get()
        try await client.run("ZADD", "zone:{rome}:jobs", "\(now)", "job-7")
        try await client.run("ZADD", "zones:jobs", "\(now)", "rome")
    }

    private static func explain(
        _ url: String, _ words: String..., ledger: String? = nil
    ) async throws -> CommandTests.Outcome {
        var environment = ["ENROUTE_REDIS_LIVE_URL": url]
        environment["ENROUTE_REDIS_LEDGER_URL"] = ledger
        return try await CommandTests.run(["explain"] + words, environment: environment)
    }

    @Test func `a job fills one screen of 80 columns, without its position`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            let outcome = try await Self.explain(server.url, "job-7")
            #expect(outcome.code == 0 && outcome.error.isEmpty, "\(outcome)")
            let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(
                lines.allSatisfy { $0.count <= 80 || $0.contains("unix:") } && lines.count < 70, "\(outcome.output)")
            #expect(lines[0].hasPrefix("job job-7, at 20") && lines[0].hasSuffix(" UTC"))
            #expect(lines[1].hasPrefix("Followers see the rider live: the position is "))
            #expect(!outcome.output.contains("41.9") && !outcome.output.contains("12.5"))
            #expect(outcome.output.contains("=> Travel mode is on until "))
        }
    }

    @Test func `the explanation of a rider with a task says why it cannot go offline`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            let outcome = try await Self.explain(server.url, "rider", "rider-1")
            #expect(outcome.code == 0, "\(outcome)")
            #expect(outcome.output.contains("!! The rider cannot go offline: they have 1 active task (job-7)."))
            #expect(outcome.output.contains("=> The rider is connected to g1."), "\(outcome.output)")
            #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.contains("unix:") })
        }
    }

    @Test func `a delivery that is prepared has an arrival time, unless that is switched off`() async throws {
        try await withRedis { client, server in
            let (ledger, rider) = (JobLedger(ledger: client, settings: LiveStateSettings()), PersonID("rider-1")!)
            let (job, place) = (JobID("job-8")!, Coordinate(latitude: 41.9, longitude: 12.48))
            _ = try await ledger.create(
                NewJob(
                    job: job, kind: .delivery, customer: PersonID("anna")!, rider: rider,
                    destination: Coordinate(latitude: 41.91, longitude: 12.51), vendor: PickupPlace(place: place),
                    actor: PersonID("orders")!), epoch: "e"
            ).get()
            for status in [JobStatus.accepted, .preparing] {
                _ = try await ledger.publish(status, of: job, by: rider, source: "rest").get()
            }
            for (setting, verdict) in [("on", "=> Arrival at "), ("off", "=> No arrival time: travel mode is not on.")]
            {
                let outcome = try await CommandTests.run(
                    ["explain", "job-8"],
                    environment: ["ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_ETA_BEFORE_PICKUP": setting])
                #expect(outcome.code == 0 && outcome.output.contains(verdict), "\(outcome)")
            }
        }
    }

    @Test func `JSON has the same sections`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            for words in [["job-7"], ["rider", "rider-1"]] {
                let outcome = try await CommandTests.run(
                    ["explain", "--json"] + words, environment: ["ENROUTE_REDIS_LIVE_URL": server.url])
                let document = try #require(
                    try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
                let sections = try #require(document["sections"] as? [[String: Any]])
                #expect(document["complete"] as? Bool == true && sections.count >= 7, "\(outcome)")
                #expect(sections.allSatisfy { ($0["verdict"] as? String)?.isEmpty == false })
            }
        }
    }

    @Test func `the position is shown only after the audit trail has recorded it`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            let shown = try await Self.explain(server.url, "job-7", "--positions", "--actor", "olga")
            #expect(shown.code == 0 && shown.output.contains("41.9"), "\(shown)")
            let entries = try await AuditStreams(ledger: client, settings: LiveStateSettings())
                .read(.access, from: .since(0)).get().entries
            #expect(entries.last?.value("type") == "explained" && entries.last?.value("person") == "olga")
            #expect(entries.last?.value("position") == "shown" && entries.count == 1)
            try await client.run("DEL", "access")
            try await client.run("SET", "access", "not a stream")
            let refused = try await Self.explain(server.url, "job-7", "--positions")
            #expect(refused.code == 78 && refused.output.isEmpty, "\(refused)")
            #expect(refused.error.contains("The key access of the ledger is not a stream"), "\(refused)")
        }
    }

    @Test func `an unknown id has exit code 1 and a suggestion`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            for (words, reason) in [
                (["job-8"], "There is no job job-8: it never existed, or its record has expired"),
                (["job-8"], "Did you mean job-7?"), (["rider-1"], "rider-1 is a rider: enroute explain rider rider-1"),
                (["rider", "job-7"], "job-7 is a job: enroute explain job-7"),
                (["rider", "rider-2"], "Did you mean rider-1?"), (["somewhere-else"], "There is no job somewhere-else"),
            ] {
                let outcome = try await CommandTests.run(
                    ["explain"] + words, environment: ["ENROUTE_REDIS_LIVE_URL": server.url])
                #expect(outcome.code == 1 && outcome.output.isEmpty, "\(outcome)")
                #expect(outcome.error.contains(reason), "\(outcome.error)")
            }
        }
    }

    @Test func `an unavailable Redis is reported, and the other one is explained`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            let nowhere = "unix:/nowhere.sock"
            let live = try await Self.explain(nowhere, "job-7", ledger: server.url)
            #expect(live.code == 69, "\(live)")
            #expect(live.output.contains("?? Unknown: the live Redis is unavailable."), "\(live.output)")
            #expect(live.output.contains("=> The job is open: on_the_way."))
            let ledger = try await Self.explain(server.url, "job-7", ledger: nowhere)
            #expect(ledger.code == 69 && ledger.output.contains("Unknown: the ledger Redis is unavailable."))
            #expect(ledger.output.contains("=> The latest fix was accepted"), "\(ledger.output)")
        }
    }

    @Test func `while sessions are unknown, no rider is reported as missing`() async throws {
        try await withRedis { client, server in
            try await Self.fill(client)
            let outcome = try await Self.explain("unix:/nowhere.sock", "rider", "rider-2", ledger: server.url)
            #expect(outcome.code == 69 && !outcome.error.contains("There is no rider"), "\(outcome)")
            #expect(outcome.output.contains("?? Unknown: the live Redis is unavailable."), "\(outcome.output)")
            #expect(outcome.output.contains("The rider is not registered in any zone"), "\(outcome.output)")
        }
    }

    @Test(
        arguments: [
            ([], "Missing expected argument"), (["a b"], "The job must be 1 to 64 characters"),
            (["rider", "a b"], "The rider must be"),
            (["a", "b", "c"], "Name one job, or `rider` and one rider"), (["job-7", "--actor", ""], "--actor must be"),
            (["rider", "r", "--positions"], "--positions needs a job"),
        ] as [([String], String)])
    func `wrong arguments are reported`(words: [String], reason: String) async throws {
        let outcome = try await CommandTests.run(
            ["explain"] + words, environment: ["ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock"])
        #expect(outcome.code == 64, "\(outcome)")
        #expect(outcome.error.contains(reason), "\(outcome.error)")
    }

    /// The words before colons and verdict marks, for which a reader of the document searches.
    private static func shape(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").compactMap { line in
            if line.hasPrefix("  => ") || line.hasPrefix("  !! ") || line.hasPrefix("  ?? ") { return "verdict" }
            if line.hasPrefix("   ") { return nil }
            if line.hasPrefix("  ") { return line.prefix(15).trimmingCharacters(in: .whitespaces) }
            return line.contains(",") || line.hasSuffix(".") ? nil : String(line)
        }
    }

    @Test func `the screen in deploy/troubleshooting.md has the shape of a real one`() async throws {
        let document = try String(
            contentsOf: Checkout.root.appending(path: "deploy/troubleshooting.md"), encoding: .utf8)
        let block = try #require(document.firstMatch(of: /```text\n(job [^`]*?)```/)).1
        try await withRedis { client, server in
            try await Self.fill(client)
            let outcome = try await Self.explain(server.url, "job-7")
            #expect(Self.shape(block) == Self.shape(outcome.output), "\(outcome.output)")
        }
    }
}

/// `enroute explain` on a cluster.
@Suite(.needsMachine(for: .faults)) struct ExplainClusterTests {
    @Test func `the slot and the node of a job's keys are printed`() async throws {
        try await ClusterFleet.running { fleet in
            let client = try await RedisClient.started(at: try RedisAddress(url: fleet.url))
            defer { client.stop() }
            try await ExplainCommandTests.fill(client)
            let owner = try await fleet.master(of: HashSlot.of("job:{job-7}"))
            let outcome = try await CommandTests.run(
                ["explain", "job-7"], environment: ["ENROUTE_REDIS_LIVE_URL": fleet.url])
            #expect(outcome.code == 0, "\(outcome)")
            #expect(outcome.output.contains("slot \(HashSlot.of("job:{job-7}")) on 127.0.0.1:\(owner.port)"))
        }
    }
}
