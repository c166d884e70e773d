import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// The routes of the operations page on a running gateway.
@Suite struct OperationsRoutesTests {
    /// Polls until the zone's jobs are as expected. A gateway reads a zone again only after some time.
    private static func jobs(
        _ gateway: RunningGateway, in zone: String, _ claim: String, _ isSo: ([String: [String: Any]]) -> Bool
    ) async throws {
        try await becomes(claim) {
            let answer = try await gateway.rest("GET", "/api/v1/zones/\(zone)/jobs", by: "olga", .ops)
            return isSo(try Self.rows(answer))
        }
    }

    private static func rows(_ answer: RESTResponse) throws -> [String: [String: Any]] {
        let rows: [[String: Any]] = try #require(answer.member("jobs"), "\(answer)")
        return Dictionary(rows.map { ($0["job"] as? String ?? "", $0) }) { $1 }
    }

    private static func put(_ gateway: RunningGateway, _ job: String, _ body: String) async throws {
        let answer = try await gateway.rest("PUT", "/api/v1/jobs/\(job)", by: "orders", .service, body)
        #expect([200, 201].contains(answer.status), "\(answer)")
    }

    private static func change(_ gateway: RunningGateway, _ job: String, to status: String) async throws {
        let answer = try await gateway.rest(
            "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
        #expect(answer.status == 200, "\(answer)")
    }

    private static let service = #"{"kind":"service","customer":"anna","rider":"rider-1","zone":"rome"}"#

    @Test func `one malformed job or rider does not hide the others of its zone or person`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let keyspace = gateway.settings.liveState.keyspace
                for number in 1...2 {
                    let rider = PersonID("rider-\(number)")!
                    try await gateway.registerRider(rider.text)
                    try await gateway.goOnline(rider)
                    try await Self.put(gateway, "job-\(number)", #"{"kind":"service","customer":"anna","zone":"rome"}"#)
                }
                let rider = keyspace.rider(PersonID("rider-1")!, in: RunningGateway.rome)
                _ = try await gateway.client.run("HSET", rider, "capacity", "many")
                let job = keyspace.job(JobID("job-1")!)
                _ = try await gateway.client.run("DEL", job)
                _ = try await gateway.client.run("SET", job, "garbage")
                let riders = try await gateway.rest("GET", "/api/v1/zones/rome/riders", by: "olga", .ops)
                #expect(riders.status == 200 && riders.text.contains(#""rider":"rider-2""#), "\(riders)")
                try await Self.jobs(gateway, in: "rome", "the other job is listed") { Set($0.keys) == ["job-2"] }
                let list = try await gateway.rest("GET", "/api/v1/jobs?customer=anna", by: "orders", .service)
                #expect(list.status == 200 && list.text.contains(#""job":"job-2""#), "\(list)")
            }
        }
    }

    @Test func `a job is listed in its zone from creation to end, without its position`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let placed =
                    #"{"kind":"service","customer":"anna","zone":"rome","destination":{"lat":41.9,"lon":12.5}}"#
                try await Self.put(gateway, "job-1", placed)
                try await Self.put(gateway, "job-2", #"{"kind":"delivery","customer":"ben"}"#)
                try await Self.jobs(gateway, in: "rome", "it is listed") {
                    $0["job-1"]?["customer"] as? String == "anna"
                }
                try await Self.jobs(gateway, in: "-", "one without a zone is") { Set($0.keys) == ["job-2"] }
                let answer = try await gateway.rest("GET", "/api/v1/zones/rome/jobs", by: "olga", .ops)
                #expect(!answer.text.contains("41.9") && !answer.text.contains("lat"))
                try await Self.change(gateway, "job-1", to: "on_the_way")
                try await Self.jobs(gateway, in: "rome", "its status is") {
                    $0["job-1"]?["status"] as? String == "on_the_way"
                }
                try await Self.put(gateway, "job-1", #"{"kind":"service","zone":"milan"}"#)
                try await Self.jobs(gateway, in: "milan", "it has moved") { $0["job-1"] != nil }
                try await Self.jobs(gateway, in: "rome", "it has left") { $0.isEmpty }
                try await Self.change(gateway, "job-1", to: "cancelled")
                try await Self.jobs(gateway, in: "milan", "it has ended") { $0.isEmpty }
                let zones = try await gateway.rest("GET", "/api/v1/zones", by: "olga", .ops)
                #expect(zones.text == #"{"zones":[{"available":0,"jobs":1,"online":0,"zone":"-"}]}"#)
            }
        }
    }

    @Test func `a row has the order number of its job until the order system removes it, and no other detail`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let display = #""display":{"orderNumber":"A-7","note":"Third floor"}"#
                try await Self.put(
                    gateway, "job-1", #"{"kind":"delivery","customer":"anna","zone":"rome",\#(display)}"#)
                try await Self.put(gateway, "job-2", Self.service)
                try await Self.jobs(gateway, in: "rome", "the row has the number") {
                    $0.count == 2 && $0["job-1"]?["display"] as? [String: String] == ["orderNumber": "A-7"]
                        && $0["job-2"]?["display"] == nil
                }
                try await gateway.connect("olga", .ops) { connection, messages in
                    try await connection.send(.watchJobs(zone: RunningGateway.rome))
                    var witness = ZoneJobsWitness()
                    try await messages.watchJobs(&witness) { $0["job-1"]?.orderNumber == "A-7" }
                    try await gateway.putJob("job-1", #"{"kind":"delivery","display":{"note":"Third floor"}}"#)
                    try await messages.watchJobs(&witness) { $0["job-1"].map { $0.orderNumber == nil } ?? false }
                }
            }
        }
    }

    @Test func `changes since a version are returned, or all jobs for the version of another gateway`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 1...3 { try await Self.put(gateway, "job-\(number)", Self.service) }
                try await Self.jobs(gateway, in: "rome", "all are listed") { $0.count == 3 }
                let first = try await gateway.rest("GET", "/api/v1/zones/rome/jobs", by: "olga", .ops)
                var version: String = try #require(first.member("version"))
                try await Self.change(gateway, "job-2", to: "on_the_way")
                var changed: Set<String> = []
                try await becomes("the change is returned") {
                    let answer = try await gateway.rest(
                        "GET", "/api/v1/zones/rome/jobs?since=\(version)", by: "olga", .ops)
                    version = try #require(answer.member("version"))
                    #expect(answer.member("reset") == false)
                    changed.formUnion(try Self.rows(answer).keys)
                    return !changed.isEmpty
                }
                #expect(changed == ["job-2"])
                let other = try await gateway.rest("GET", "/api/v1/zones/rome/jobs?since=another.7", by: "olga", .ops)
                #expect(other.member("reset") == true)
                let page = try await gateway.rest(
                    "GET", "/api/v1/zones/rome/jobs?status=on_the_way,assigned&limit=2", by: "olga", .ops)
                #expect(page.status == 200, "\(page)")
                for query in ["since=a.1&limit=0", "status=lost", "tracking=", "limit=0", "limit=20001", "after=a.b"] {
                    let answer = try await gateway.rest("GET", "/api/v1/zones/rome/jobs?\(query)", by: "olga", .ops)
                    #expect(answer.status == 400, "\(query): \(answer)")
                }
            }
        }
    }

    @Test func `operations see why a location is unavailable, the verdicts and the number of followers`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.put(gateway, "job-1", Self.service)
                try await Self.change(gateway, "job-1", to: "on_the_way")
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    try await connection.send(.travel(job: JobID("job-1")!, active: true))
                    try await connection.send(.unavailable(job: JobID("job-1")!, .lowBattery))
                    try await gateway.connect("anna", .customer) { follower, _ in
                        try await follower.send(.subscribe(job: JobID("job-1")!, since: nil))
                        try await Self.jobs(gateway, in: "rome", "it is unavailable, and followed") { rows in
                            let row = rows["job-1"]
                            return row?["unavailable"] as? String == "low_battery"
                                && row?["tracking"] as? String == "waiting"
                                && row?["followers"] as? Int == 1
                        }
                    }
                    let early = Int64(Date.now.timeIntervalSince1970 * 1000) - 3_600_000
                    let batch = #"{"fixes":[{"at":\#(early),"lat":41.9,"lon":12.5}]}"#
                    _ = try await gateway.rest("POST", "/api/v1/jobs/job-1/locations", by: "rider-1", .rider, batch)
                }
                try await becomes("the refusal is counted") {
                    let answer = try await gateway.rest("GET", "/api/v1/zones/rome/verdicts", by: "olga", .ops)
                    let jobs: [[String: Any]] = try #require(answer.member("jobs"))
                    return jobs.first?["refused"] as? Int == 1
                }
                try await becomes("who followed is written down") {
                    let answer = try await gateway.rest("GET", "/api/v1/zones/rome/audit", by: "olga", .ops)
                    let accesses: [[String: String]] = try #require(answer.member("accesses"))
                    return accesses.first?["type"] == "left" && accesses.last?["person"] == "anna"
                }
            }
        }
    }

    @Test func `D3: a rider without a report for the lifetime of a position is shown as lost`()
        async throws
    {
        let short: @Sendable (inout GatewaySettings) -> Void = { settings in
            settings.freshness = .milliseconds(200)
            settings.liveState.positionLifetime = .milliseconds(600)
        }
        try await within {
            try await RunningGateway.run(isSecure: false, short) { gateway in
                try await Self.put(gateway, "job-1", Self.service)
                try await Self.change(gateway, "job-1", to: "on_the_way")
                try await Self.jobs(gateway, in: "rome", "it has not begun") {
                    $0["job-1"]?["tracking"] as? String == "waiting"
                }
                let early = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(!early.text.contains("lastSeenAt"))
                let before = WallClock.nowMilliseconds
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    try await connection.send(.travel(job: JobID("job-1")!, active: true))
                    _ = try await messages.travelAnswer()
                    try await connection.report(JobID("job-1")!, step: 1)
                    // A report of a session that has closed may be lost.
                    _ = try await messages.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                }
                try await Self.jobs(gateway, in: "rome", "it is lost, and when it was seen is known") { rows in
                    guard let row = rows["job-1"], row["tracking"] as? String == "lost" else { return false }
                    let seenAt = (row["seenAt"] as? Int).map(Int64.init) ?? 0
                    return (before...WallClock.nowMilliseconds).contains(seenAt) && row["unavailable"] is String
                        && row["lat"] == nil
                }
                let lost = try await gateway.rest("GET", "/api/v1/zones/rome/jobs?tracking=lost", by: "olga", .ops)
                #expect(try Self.rows(lost).keys.sorted() == ["job-1"])
                // D17: The customer's page can say since when the phone is silent.
                let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(read.text.contains(#""tracking":"waiting""#), "\(read)")
                let seenAt = Int64(try #require(read.member("lastSeenAt", as: Int.self)))
                #expect((before...WallClock.nowMilliseconds).contains(seenAt))
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    try await connection.send(.travel(job: JobID("job-1")!, active: false))
                    _ = try await messages.travelAnswer()
                }
                try await Self.jobs(gateway, in: "rome", "it is paused, and not lost") {
                    $0["job-1"]?["tracking"] as? String == "paused" && $0["job-1"]?["seenAt"] == nil
                }
            }
        }
    }

    @Test func `a key that is not the audit stream is named in the answer and in the log`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let client = try await RedisClient.started(at: gateway.settings.ledger)
                defer { client.stop() }
                let keyspace = gateway.settings.liveState.keyspace
                for key in [AuditEntry.Stream.access, .audit].map(keyspace.stream) {
                    try await client.run("DEL", key)
                    try await client.run("SET", key, "x")
                }
                try await Self.put(gateway, "job-1", Self.service)
                let read = try await gateway.rest("GET", "/api/v1/zones/rome/audit", by: "olga", .ops)
                let written = try await gateway.rest(
                    "PUT", "/api/v1/jobs/job-1/operations-note", by: "olga", .ops, #"{"text":"ring twice"}"#)
                for (answer, stream) in [(read, AuditEntry.Stream.access), (written, .audit)] {
                    let named = "key \(keyspace.stream(stream)) of the ledger is not a stream"
                    #expect(answer.status == 500 && answer.text.contains(named), "\(answer)")
                    #expect(lines.all.contains { "\($0.metadata["reason"] ?? "")".contains(named) })
                }
            }
        }
    }

    @Test func `online riders are listed with their tasks, and their changes are in the audit`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for rider in ["rider-1", "rider-2", "rider-3"] { try await gateway.register(PersonID(rider)!) }
                for rider in ["rider-1", "rider-2"] { try await gateway.goOnline(PersonID(rider)!) }
                try await Self.put(gateway, "job-1", Self.service)
                let answer = try await gateway.rest("GET", "/api/v1/zones/rome/riders", by: "olga", .ops)
                let riders: [[String: Any]] = try #require(answer.member("riders"))
                #expect(riders.map { $0["rider"] as? String } == ["rider-1", "rider-2"])
                #expect(riders.map { $0["available"] as? Bool } == [false, true])
                #expect(riders.first?["tasks"] as? [String] == ["job-1"])
                let totals = try ["count", "free", "busy"].map { try #require(answer.member($0, as: Int.self)) }
                #expect(totals == [2, 1, 1])
                let audit = try await gateway.rest("GET", "/api/v1/zones/rome/audit?limit=1", by: "olga", .ops)
                let changes: [[String: String]] = try #require(audit.member("changes"))
                #expect(changes.map { $0["change"] } == ["assigned"] && changes.first?["job"] == "job-1")
                let zones = try await gateway.rest("GET", "/api/v1/zones", by: "olga", .ops)
                #expect(zones.text.contains(#"{"available":1,"jobs":1,"online":2,"zone":"rome"}"#))
            }
        }
    }

    @Test func `each gateway lists all gateways, and only itself without Redis`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.name = "first" }) { first in
                let address = first.settings.ledger
                try await RunningGateway.run(isSecure: false, at: (address, address), { $0.name = "second" }) {
                    second in
                    try await becomes("both are known at both") {
                        let answers = [
                            try await first.rest("GET", "/api/v1/gateways", by: "olga", .ops),
                            try await second.rest("GET", "/api/v1/gateways", by: "orders", .service),
                        ]
                        return answers.allSatisfy { answer in
                            ["first", "second"].allSatisfy { answer.text.contains(#""name":"\#($0)""#) }
                        }
                    }
                }
                try await becomes("one that has stopped is not missed") {
                    let answer = try await first.rest("GET", "/api/v1/gateways", by: "olga", .ops)
                    return !answer.text.contains("second") && answer.member("complete") == true
                }
                kill(try #require(first.redis).processID, SIGKILL)
                let alone = try await first.rest("GET", "/api/v1/gateways", by: "olga", .ops)
                #expect(alone.status == 200 && alone.member("complete") == false)
                #expect(alone.text.contains(#""name":"first""#))
            }
        }
    }
}
