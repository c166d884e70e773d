import Access
import Embedded
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// The time limit for sharing does not depend on a gateway, on the phone, or on the live Redis: it survives the loss of each.
@Suite(.needsMachine(for: .volume)) struct TimeLimitTests {
    private static let secret = "a secret of at least thirty-two bytes"
    private static let (job, rider) = (JobID("visit-1")!, PersonID("rider-1")!)
    /// In seconds; longer than two gateways and a Redis need to start on a busy machine.
    private static let cap = 15

    /// Runs a gateway on a free port for as long as `body` takes, then kills it.
    private static func withGateway<Result: Sendable>(
        live: String, ledger: String, _ body: @escaping @Sendable (_ url: String) async throws -> Result
    ) async throws -> Result {
        let environment = Environment.custom([
            "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": live, "ENROUTE_REDIS_LEDGER_URL": ledger,
            "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": self.secret, "ENROUTE_LOG_LEVEL": "critical",
            "ENROUTE_MANAGEMENT_PORT": "0", "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_MODE": "development",
            "ENROUTE_TRACKING_MAX_SHARING_SECONDS": "\(self.cap)", "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000",
        ])
        let outcome = try await Subprocess.run(
            .path(.init(CommandTests.binary)), arguments: ["serve", "--host", "127.0.0.1", "--port", "0"],
            environment: environment, input: .none, output: .sequence, error: .discarded
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            let line = try #require(try await lines.next())
            let port = try #require(line.firstMatch(of: /listening on 127.0.0.1 port (\d+)/).flatMap { Int($0.1) })
            do {
                let result = try await body("ws://127.0.0.1:\(port)")
                try execution.send(signal: .kill)
                return result
            } catch {
                try execution.send(signal: .kill)
                throw error
            }
        }
        return outcome.closureResult
    }

    private static func connect<Result: Sendable>(
        _ url: String, _ person: String, _ role: Role,
        _ body: (GatewayConnection, inout GatewayConnection.Messages.AsyncIterator) async throws -> Result
    ) async throws -> Result {
        let mint = try await TokenMint(secret: self.secret, issuer: "enroute", audience: "enroute")
        let token = try await mint.token(
            for: PersonID(person)!, role: role, now: Int64(Date.now.timeIntervalSince1970))
        return try await GatewayConnection.open(url, token: token, trust: .anybody) { connection in
            var messages = connection.messages.makeAsyncIterator()
            return try await body(connection, &messages)
        }
    }

    /// - Returns: the deadline, in ms since the epoch.
    private static func start(_ url: String) async throws -> Int64 {
        try await self.connect(url, "rider-1", .rider) { connection, messages in
            try await connection.send(.travel(job: self.job, active: true))
            while let message = try await messages.next() {
                if case .ok("travel", _, _, let deadline?, _) = message { return deadline }
            }
            throw ClientError.connectionLost
        }
    }

    private static func makeVisit(_ address: RedisAddress) async throws {
        let client = try await RedisClient.started(at: address)
        defer { client.stop() }
        let ledger = JobLedger(ledger: client, settings: LiveStateSettings())
        let new = NewJob(
            job: self.job, kind: .service, customer: PersonID("anna")!, rider: self.rider, actor: self.rider)
        _ = try await ledger.create(new, epoch: "e").get()
        _ = try await ledger.publish(.onTheWay, of: self.job, by: self.rider, source: "event").get()
    }

    @Test func `the limit survives the loss of a gateway, of the live Redis and of the rider's phone`()
        async throws
    {
        try await RestartableRedis.running { live in
            try await RedisServer.running { ledger in
                try await Self.makeVisit(try RedisAddress(url: ledger.url))
                let deadline = try await Self.withGateway(live: live.url, ledger: ledger.url) {
                    try await Self.start($0)
                }
                try await live.restart(.empty)
                try await Self.withGateway(live: live.url, ledger: ledger.url) { url in
                    // Another phone, another gateway and an empty Redis have the same deadline.
                    #expect(try await Self.start(url) == deadline)
                    async let customer = Self.follow(url)
                    let reported = try await Self.travel(url, until: deadline)
                    #expect(reported == .timeLimit)
                    let (reason, newest) = try await customer
                    #expect(reason == .timeLimit)
                    #expect(newest <= deadline)
                }
                #expect(try await live.run("EXISTS", "job:{visit-1}:position") == .integer(0))
            }
        }
    }

    /// - Returns: why sharing ended, and when the last location was received, in ms since the epoch.
    private static func follow(_ url: String) async throws -> (EndReason?, Int64) {
        try await self.connect(url, "anna", .customer) { connection, messages in
            try await connection.send(.subscribe(job: self.job, since: nil))
            var newest: Int64 = 0
            while let message = try await messages.next() {
                switch message {
                case .location(let location): newest = location.receivedAt
                case .tracking(_, .ended, let reason): return (reason, newest)
                default: break
                }
            }
            throw ClientError.connectionLost
        }
    }

    /// Keeps sending locations until the gateway ends it, on a new connection after every ten locations.
    ///
    /// - Returns: the reason that the gateway sent.
    private static func travel(_ url: String, until deadline: Int64) async throws -> EndReason? {
        var (step, last) = (0, Int64(0))
        while true {
            let reason: EndReason?? = try await self.connect(url, "rider-1", .rider) { connection, messages in
                for _ in 0..<10 {
                    step += 1
                    last = max(last + 1, Int64(Date.now.timeIntervalSince1970 * 1000))
                    let place = Coordinate(latitude: 41.9 + Double(step) / 100_000, longitude: 12.5)!
                    try await connection.send(
                        .location(
                            LocationReport(
                                job: self.job, sequence: Int64(step), fixes: [Fix(at: last, place: place)])))
                    while let message = try await messages.next() {
                        switch message {
                        case .tracking(_, .ended, let reason): return .some(reason)
                        case .ok("location", _, _, _, _): break
                        // Already ended for the follower; starting again returns the reason.
                        case .error(let refusal) where refusal.code == .travelModeOff:
                            try await connection.send(.travel(job: self.job, active: true))
                            continue
                        case .error(let refusal) where refusal.replyTo == "travel":
                            #expect(refusal.code == .forbidden)
                            return .some(.timeLimit)
                        case .error(let refusal): throw refusal.code
                        default: continue
                        }
                        break
                    }
                }
                return nil
            }
            if let reason { return reason }
        }
    }
}
