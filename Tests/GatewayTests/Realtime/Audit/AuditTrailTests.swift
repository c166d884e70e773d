import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Logging
import NIOCore
import NIOPosix
import Redis
import Telemetry
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime
@testable import TrafficControl

@Suite struct AuditBufferTests {
    private typealias Queue = AuditBuffer<Int>

    /// Whether each number was added, rather than dropped.
    private func add(_ numbers: Range<Int>, to queue: inout Queue) -> [Bool] { numbers.map { queue.add($0) } }

    @Test func `the buffer holds 1,000 entries and drops further ones`() {
        var queue = Queue()
        let first = self.add(0..<1_001, to: &queue)
        #expect(first == Array(repeating: true, count: 1_000) + [false])
        let batch = queue.nextBatch(at: 0)
        #expect(batch == Array(0..<Queue.maxBatch))
        // Entries in flight may have to be sent again, so they still occupy the buffer.
        let second = self.add(0..<1, to: &queue)
        #expect(second == [false])
        queue.complete(batch.map { _ in true }, at: 0)
        let third = self.add(0..<Queue.maxBatch + 1, to: &queue)
        #expect(third == Array(repeating: true, count: Queue.maxBatch) + [false])
    }

    @Test func `one batch is in flight at a time, and unacknowledged entries are sent again after a pause`() {
        var queue = Queue()
        _ = self.add(0..<5, to: &queue)
        let first = queue.nextBatch(at: 3)
        #expect(first == [0, 1, 2, 3, 4])
        _ = queue.add(5)
        let meanwhile = queue.nextBatch(at: 4)
        #expect(meanwhile.isEmpty)
        queue.complete([true, false, true, true, false], at: 4)
        let paused = queue.nextBatch(at: 3 + Queue.retryTicks)
        #expect(paused.isEmpty)
        let again = queue.nextBatch(at: 4 + Queue.retryTicks)
        #expect(again == [1, 4, 5])
        queue.complete([true, true, true], at: 4 + Queue.retryTicks)
        #expect(queue.isEmpty)
    }

    @Test func `a full batch is ready to send, except during an outage`() {
        var queue = Queue()
        _ = self.add(0..<Queue.maxBatch - 1, to: &queue)
        #expect(!queue.isBatchReady)
        _ = queue.add(0)
        #expect(queue.isBatchReady)
        let batch = queue.nextBatch(at: 1)
        #expect(!queue.isBatchReady)
        queue.complete(batch.map { _ in false }, at: 1)
        #expect(!queue.isBatchReady)
    }
}

/// The audit entries that gateways write to a real ledger.
@Suite struct AuditTrailTests {
    private static let service = PersonID("service")!

    /// The given fields of all entries, or of those of one type, once at least `count` entries have been written.
    private static func entries(
        _ stream: AuditEntry.Stream, _ gateway: RunningGateway, count: Int, _ names: [String], type: String? = nil
    ) async throws -> [[String]] {
        let streams = AuditStreams(ledger: gateway.client, settings: gateway.settings.liveState)
        var written: [AuditStreams.StoredEntry] = []
        let isThere = await eventually {
            written = (try? await streams.read(stream, from: .since(0)).get().entries) ?? []
            if let type { written.removeAll { $0.value("type") != type } }
            return written.count >= count
        }
        #expect(isThere, "\(written)")
        #expect(Set(written.map { $0.value("entry") }).count == written.count)
        return written.map { entry in names.map { entry.value($0) ?? "-" } }
    }

    @Test func `the audit trail records who followed and unfollowed, their credential, and no coordinates`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.name = "gateway-7"
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let subscribe = ClientMessage.subscribe(job: job, since: nil)
                try await gateway.connect("olga", .ops) { connection, messages in
                    try await connection.send(subscribe)
                    _ = try await messages.subscribed()
                    try await connection.send(.unsubscribe(job: job))
                    _ = try await Self.entries(.access, gateway, count: 2, [])
                    // A refused subscription is no access.
                    try await connection.send(.subscribe(job: JobID("absent")!, since: nil))
                    _ = try await messages.refusal()
                }
                let token = try await gateway.token("anna", .customer)
                let ticket = try #require(
                    try await JobRoutesTests.ask(gateway, "POST", "/api/v1/tickets", as: token).text
                        .firstMatch(of: /"ticket":"([0-9a-f]{32})"/)
                ).1
                let port = gateway.port
                try await blocking {
                    let socket = try RawSocket(port: port)
                    try socket.send(
                        RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1, ticket.\(ticket)\r\n"))
                    _ = try socket.readUntil(Array(#""welcome""#.utf8))
                    try socket.send(RawSocket.frame(0x81, subscribe.encoded))
                    _ = try socket.readUntil(Array(#""subscribed""#.utf8))
                    try socket.sayGoodbye()
                }
                _ = try await Self.entries(.access, gateway, count: 4, [])
                let link = try await TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                    .issueDurably(for: job, of: PersonID("anna")!, by: Self.service).get().value
                let session = try await gateway.unsigned { connection, messages in
                    try await connection.send(.auth(.link(link.secret)))
                    let session = try await messages.welcome().session
                    try await connection.send(subscribe)
                    _ = try await messages.subscribed()
                    return session
                }
                let names = ["type", "job", "person", "role", "via", "link", "gateway"]
                let all = try await Self.entries(.access, gateway, count: 6, names)
                let expected = [
                    ["olga", "ops", "token", ""], ["anna", "customer", "ticket", ""],
                    ["anna", "customer", "link", link.id],
                ].flatMap { who in
                    ["followed", "left"].map { [$0, "job-1"] + who + ["gateway-7"] }
                }
                #expect(all == expected)
                let sessions = try await Self.entries(.access, gateway, count: 6, ["session"]).map { $0[0] }
                #expect(sessions[4...] == [session, session] && Set(sessions).count == 3)
                let known = Set(names + ["session", "at", "entry"])
                let streams = AuditStreams(ledger: gateway.client, settings: gateway.settings.liveState)
                for entry in try await streams.read(.access, from: .since(0)).get().entries {
                    #expect(Set(entry.fields.map(\.name)) == known)
                }
            }
        }
    }

    @Test func `the audit trail records what is erased when a rider stops, arrives or the job ends`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("orders", .service)
                let rider = try await gateway.token("rider-1", .rider)
                for (name, status) in [("stop", nil), ("arrive", "work_in_progress"), ("end", "cancelled")] {
                    let job = try await gateway.travellingJob(name)
                    try await gateway.connect("rider-1", .rider) { connection, messages in
                        try await connection.send(.travel(job: job, active: true))
                        _ = try await messages.travelAnswer()
                        try await connection.report(job, step: 1)
                        _ = try await messages.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                    }
                    let path = "/api/v1/jobs/\(job)/"
                    let answer =
                        if let status {
                            try await JobRoutesTests.ask(
                                gateway, "POST", path + "status", as: token, #"{"status":"\#(status)"}"#)
                        } else {
                            try await JobRoutesTests.ask(gateway, "DELETE", path + "travel", as: rider)
                        }
                    #expect(answer.status == 200)
                    // The second time, nothing is left to erase, so nothing is recorded.
                    _ = try await JobRoutesTests.ask(gateway, "DELETE", path + "travel", as: rider)
                }
                let written = try await Self.entries(
                    .audit, gateway, count: 3, ["type", "job", "keys", "reason"], type: "erased")
                #expect(
                    written == [
                        ["erased", "stop", "2", "deactivated"], ["erased", "arrive", "2", "arrived"],
                        ["erased", "end", "2", "cancelled"],
                    ])
            }
        }
    }

    @Test func `the audit trail records a rider's proximity, and sharing that it stopped`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.arrivalStopsTravel = true
            } _: { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    for (meters, ago) in [(450.0, 50_000 as Int64), (20, 40_000), (20, 15_000)] {
                        let place = Coordinate(latitude: 41.9 - meters / 111_195, longitude: 12.5)!
                        let fix = Fix(
                            at: WallClock.nowMilliseconds - ago, place: place, accuracyMeters: 5,
                            speedMetersPerSecond: 1)
                        try await rider.send(.location(LocationReport(job: job, sequence: 1, fixes: [fix])))
                    }
                    _ = try await answers.first { if case .proximity(_, .arrived) = $0 { true } else { nil } }
                }
                let written = try await Self.entries(
                    .audit, gateway, count: 4, ["type", "job", "rider", "state", "reason"])
                #expect(
                    written == [
                        ["suggested", "job-1", "rider-1", "approaching", "-"],
                        ["suggested", "job-1", "rider-1", "arrived", "-"],
                        ["erased", "job-1", "-", "-", "arrived"],
                        ["stopped", "job-1", "rider-1", "-", "arrived"],
                    ])
            }
        }
    }

    @Test(.needsMachine(for: .faults))
    func `entries recorded during a ledger outage are written when the ledger is available again`() async throws {
        try await within {
            try await RestartableRedis.running { ledger in
                let ledgerAddress = try ledger.address
                try await withServer { live in
                    try await RunningGateway.run(isSecure: false, at: (live.address, ledgerAddress)) { gateway in
                        let job = try await gateway.travellingJob()
                        try await gateway.connect("anna", .customer) { connection, messages in
                            try await connection.send(.subscribe(job: job, since: nil))
                            _ = try await messages.subscribed()
                            _ = try await Self.entries(.access, gateway, count: 1, [])
                            await ledger.crash()
                            try await connection.send(.unsubscribe(job: job))
                            _ = try await messages.first { message in
                                if case .ok("unsubscribe", _, _, _, _) = message { true } else { nil }
                            }
                        }
                        try await ledger.start()
                        let written = try await Self.entries(.access, gateway, count: 2, ["type", "job", "person"])
                        #expect(written == [["followed", "job-1", "anna"], ["left", "job-1", "anna"]])
                    }
                }
            }
        }
    }

    @Test func `a stopping gateway records the followers it disconnects`() async throws {
        try await withRedis { client, server in
            let address = server.address
            try await within {
                try await RunningGateway.run(isSecure: false, at: (address, address)) { gateway in
                    let job = try await gateway.travellingJob()
                    try await gateway.connect("anna", .customer) { connection, messages in
                        try await connection.send(.subscribe(job: job, since: nil))
                        _ = try await messages.subscribed()
                        gateway.drain()
                        _ = try? await messages.first { _ in nil as Bool? }
                    }
                }
            }
            let written = try await AuditStreams(ledger: client, settings: LiveStateSettings())
                .read(.access, from: .since(0)).get().entries
            #expect(written.map { $0.value("type") } == ["followed", "left"])
        }
    }

    @Test(.needsMachine(for: .faults))
    func `a gateway stops although the ledger accepts no writes`() async throws {
        try await within {
            try await RestartableRedis.running { ledger in
                let ledgerAddress = try ledger.address
                try await withServer { live in
                    try await RunningGateway.run(isSecure: false, at: (live.address, ledgerAddress)) { gateway in
                        let job = try await gateway.travellingJob()
                        try await gateway.connect("anna", .customer) { connection, messages in
                            try await connection.send(.subscribe(job: job, since: nil))
                            _ = try await messages.subscribed()
                            await ledger.crash()
                            gateway.drain()
                            let last = await Result { try await messages.first { _ in nil as Bool? } }
                            #expect(throws: (any Error).self, "the session ended with the gateway") { try last.get() }
                        }
                    }
                }
            }
        }
    }

    @Test func `without a ledger, 1,000 entries are buffered and dropped ones are counted`() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let address = try RedisAddress(url: "unix:/nowhere.sock")
        let dropped = try await loop.submit {
            let counts = LoopCounts()
            let client = RedisClient(address: address, eventLoop: loop, logger: .quiet)
            let trail = AuditTrail(
                eventLoop: loop, streams: AuditStreams(ledger: client, settings: LiveStateSettings()), gateway: "g",
                counts: counts, logger: .quiet)
            for _ in 0..<AuditBuffer<AuditEntry>.capacity + 200 {
                trail.record(.erased(JobID("job-1")!, keys: 1, because: .arrived))
            }
            return counts.values[.auditEntriesLost]
        }.get()
        #expect(dropped == 200)
    }
}
