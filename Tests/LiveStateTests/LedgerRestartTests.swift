import Embedded
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The data of a ledger after a restart, with the files of deploy/redis, written by the scripts as the gateway's user. A plain
/// SET would not reveal the fault, because only transactions were refused while the file was loaded.
@Suite struct LedgerRestartTests {
    private static let settings = LiveStateSettings()
    private static let service = PersonID("service-1")!

    private static func job(_ number: Int) -> JobID { JobID("job-\(number)")! }

    /// Writes jobs with statuses, travel mode, links, riders and revocations.
    private static func write(_ jobs: Range<Int>, as client: RedisClient) async throws {
        let ledger = JobLedger(ledger: client, settings: Self.settings)
        for number in jobs {
            let job = Self.job(number)
            let new = NewJob(
                job: job, kind: .delivery, customer: Stage.customer, rider: Stage.rider, actor: Self.service)
            _ = try await ledger.create(new, epoch: "epoch-\(number)").get()
            for status in Stage.statusesUntilTransit {
                _ = try await ledger.publish(status, of: job, by: Stage.rider, source: "rest").get()
            }
            _ = try await ledger.startTravel(for: job, by: Stage.rider).get()
            _ = try await TrackingLinks(ledger: client, settings: Self.settings)
                .issue(for: job, of: Stage.customer, by: Stage.rider).get()
        }
        _ = try await RevocationLog(ledger: client, settings: Self.settings)
            .revoke(.user(PersonID("eve")!), by: Self.service, because: "a test").get()
        try await Riders(ledger: client, settings: Self.settings).setUpTask(Self.job(jobs.lowerBound))
    }

    @Test(arguments: [SIGTERM, SIGKILL], [false, true])
    func `B31: a restarted ledger still has every job and every status`(
        signal: Int32, isRewritten: Bool
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-ledger-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var before: [String: KeyContent] = [:]
        try await DeployedRedis.ledger.run(options: ["--dir", folder.path]) { server in
            let gateway = try await RedisClient.started(at: server.address(for: "enroute"))
            let admin = try await RedisClient.started(at: server.address(for: "admin"))
            defer { for client in [gateway, admin] { client.stop() } }
            try await Self.write(0..<5, as: gateway)
            if isRewritten {
                try await admin.run("BGREWRITEAOF")
                try await becomes("the append-only file is rewritten", every: .milliseconds(5)) {
                    let fields = InfoFields(try await admin.run("INFO", "persistence").text ?? "")
                    return fields["aof_rewrite_in_progress"] == "0" && fields["aof_rewrite_scheduled"] == "0"
                }
            }
            try await Self.write(5..<8, as: gateway)
            before = try await admin.dump()
            kill(server.processID, signal)
            guard signal == SIGTERM else { return }
            // The server is killed when this returns, so it needs time to shut down first.
            try await becomes("the ledger has ended", every: .milliseconds(5)) {
                !FileManager.default.fileExists(atPath: server.socketPath)
            }
        }
        #expect(before.count >= 24)
        try await DeployedRedis.ledger.run(options: ["--dir", folder.path]) { server in
            let admin = try await RedisClient.started(at: server.address(for: "admin"))
            defer { admin.stop() }
            let after = try await admin.dump()
            #expect(Set(after.keys) == Set(before.keys))
            #expect(after.filter { before[$0.key] != $0.value }.keys.sorted() == [])
            let gateway = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { gateway.stop() }
            let ledger = JobLedger(ledger: gateway, settings: Self.settings)
            for number in 0..<8 {
                let found = try await ledger.recover(Self.job(number), since: nil).get()
                #expect(found?.record.status == Stage.statusesUntilTransit.last)
            }
        }
    }
}
