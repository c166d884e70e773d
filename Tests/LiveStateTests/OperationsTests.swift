import Access
import EnrouteWire
import LiveState
import NIOCore
import Redis
import Subprocess
import TestSupport
import Testing

/// The redis-cli examples of lua/README.md work exactly as printed.
@Suite struct OperationsTests {
    /// Runs one command in a shell in which `redis-cli` connects to this server.
    private func run(_ line: String, _ stage: Stage) async throws -> (isSuccess: Bool, output: String) {
        let script = "alias redis-cli='redis-cli -e -s \(stage.socketPath)'\n\(line)"
        let outcome = try await Subprocess.run(
            .name("sh"), arguments: ["-c", script], output: .string(limit: 65_536),
            error: .combinedWithOutput)
        return (outcome.terminationStatus.isSuccess, outcome.standardOutput)
    }

    @Test func `every redis-cli example of the README prints something for an active job`() async throws {
        let lines = try LuaFolder.commands("sh").map(\.line)
        #expect(lines.count >= 6)
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            let now = try await stage.now()
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            _ = try await stage.feed.open(Stage.job, for: Stage.rider, until: now + 3_600_000, fence: 1).get()
            let fix = Fix(at: now, place: Coordinate(latitude: 52.5, longitude: 13.4)!)
            _ = try await stage.publisher.publish(fix, for: Stage.job, by: Stage.rider, receivedAt: now).get()
            _ = try await TrackingLinks(ledger: stage.client, settings: stage.settings)
                .issue(for: Stage.job, of: Stage.customer, lifetime: .seconds(60), by: Stage.customer).get()
            _ = try await RevocationLog(ledger: stage.client, settings: stage.settings)
                .revoke(.user(Stage.customer), by: Stage.rider, because: "lost phone").get()
            for entry in [AuditEntry.erased(Stage.job, keys: 2, because: .arrived), .init(.access, type: "left", [:])] {
                try await AuditStreams(ledger: stage.client, settings: stage.settings).append(entry).get()
            }
            try await Riders(ledger: stage.client, settings: stage.settings).setUpTask(Stage.job)
            _ = try await GeoIndex(live: stage.client, settings: stage.settings)
                .place(Stage.rider, in: ZoneStage.zone, at: fix.place).get()
            try await ValidationSummaryStore(live: stage.client, settings: stage.settings)
                .note(Stage.job, by: Stage.rider, counts: [("accepted", 1)]).get()
            try await stage.client.run("HSET", stage.jobKey, "zone", ZoneStage.zone.text)
            try await stage.ledger.listing.update(Stage.job, now: now).get()
            try await GatewayRegistry(live: stage.client, settings: stage.settings)
                .report("gateway-1", Array("{}".utf8), followed: [Stage.job: 1], now: now).get()
            for line in lines {
                let (isSuccess, output) = try await self.run(line, stage)
                #expect(isSuccess, "\(line): \(output)")
                let text = output.filter { !$0.isWhitespace }
                #expect(
                    !text.isEmpty && !text.contains("(nil)") && !text.contains("(emptyarray)") && text != "0",
                    "\(line): \(output)")
            }
        }
    }

    @Test func `a failing command is detected`() async throws {
        try await Stage.set { stage in
            let wrong = try await self.run("redis-cli nosuchcommand", stage)
            #expect(!wrong.isSuccess)
            #expect(wrong.output.contains("unknown command"))
        }
    }

    @Test func `the README names every script and every kind of key`() throws {
        let readme = try LuaFolder.readme()
        for (name, _) in try LuaFolder.scripts() { #expect(readme.contains("`\(name)`"), "\(name)") }
        for key in [
            "job:{J}", "job:{J}:log", "job:{J}:travel", "job:{J}:position", "job:{J}:verdicts", "job:{J}:feed",
            "job:{J}:events", "control",
            "link:{L}", "link:{L}:viewers", "idempotency:{N}", "access", "audit", "rider:{Z}:R", "rider:{Z}:R:tasks",
            "riders:{Z}:available", "riders:{Z}:due", "riders:{Z}:tasks", "riders:{Z}:audit", "riders:{Z}:changes",
            "request:{Z}:R:<id>", "home:{R}", "moving:{R}", "zones", "riders:{Z}:geo", "riders:{Z}:seen",
        ] {
            #expect(readme.contains("`\(key)`"), "\(key)")
        }
    }
}
