import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Logging
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Data in Redis is untrusted input: no value may crash the process, and malformed values are refused, logged and counted.
@Suite struct MalformedDataTests {
    private static let message = "ignoring unknown or malformed data in redis"

    private static let table =
        MalformedData.ofJobs + MalformedData.ofSecrets + MalformedData.ofZones + MalformedData.ofAll

    /// Each new key or channel of Keyspace needs an entry in the table.
    @Test func `B27: every key and channel of Keyspace is in the table of malformed values`() throws {
        let source = try String(
            contentsOf: Checkout.root.appending(path: "Sources/LiveState/Keyspace.swift"), encoding: .utf8)
        let functions = source.matches(of: /package func (\w+)\([^)]*\) -> String/).map { String($0.1) }
        let variables = source.matches(of: /package var (\w+): String/).map { String($0.1) }
        let names = Set(functions + variables)
        #expect(names.count > 30)
        #expect(Set(Self.table.map(\.name)).union(MalformedData.elsewhere) == names)
    }

    /// Returns the metrics of refused values.
    private static func refused(_ gateway: RunningGateway, _ faults: RedisFaultMonitors) async throws -> Int {
        let text = try await gateway.manage("/metrics").text + faults.text
        return text.split(separator: "\n").filter { $0.hasPrefix("enroute_redis_invalid_values_total{") }
            .reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
    }

    private static func run(_ entries: [MalformedData]) async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { settings in
                settings.limits.requestsPerPersonBurst = 1_000_000
                settings.limits.refusedTokensPerAddressBurst = 1_000_000
                settings.limits.anonymousRequestsPerAddressBurst = 1_000_000
                // Only the trials use these zones.
                settings.sweepPace = .seconds(3600)
            } _: { gateway in
                let faults = RedisFaultMonitors(keyspace: gateway.settings.liveState.keyspace, logger: lines.logger)
                var number = 0
                for entry in entries {
                    for value in HostileValue.allCases {
                        number += 1
                        let trial = Trial(gateway: gateway, faults: faults, number: number)
                        try await entry.plant(trial, value)
                        let (before, counted) = (lines.all.count, try await Self.refused(gateway, faults))
                        try await entry.meet(trial)
                        let key = entry.key(trial)
                        let logged = lines.all.dropFirst(before).filter { line in
                            guard line.message == Self.message else { return false }
                            let keys = "\(line.metadata["key"] ?? "")".split(separator: " ")
                            return keys.contains { $0 == key || key.hasSuffix(":") && $0.hasPrefix(key) }
                        }
                        let isRefused = !entry.tolerated.contains(value)
                        #expect(logged.isEmpty == !isRefused, "\(entry.name) \(key) \(value)")
                        // Once for each command that read it: a session that ends here writes its counts with another
                        // script.
                        let commands = logged.map { "\($0.metadata["command"] ?? "")" }
                        #expect(Set(commands).count == commands.count, "\(entry.name) \(key) \(value) \(commands)")
                        #expect(logged.allSatisfy { $0.level == .error && $0.metadata["role"] != nil })
                        let counts = try await Self.refused(gateway, faults)
                        #expect(isRefused ? counts > counted : counts >= counted, "\(entry.name) \(key) \(value)")
                    }
                }
                #expect(try await gateway.manage("/livez").status == 200)
            }
        }
        // The log must not contain values: none is that long, and positions must never be logged.
        for line in lines.all where line.level >= .info {
            #expect(!"\(line.metadata)".contains("AAAAAAAA") && !"\(line.metadata)".contains("41.9"))
        }
    }

    @Test func `B27, B48: a malformed value in a job's keys is refused, logged and counted`()
        async throws
    {
        try await Self.run(MalformedData.ofJobs)
    }

    @Test func `B27, B48: a malformed ticket, link or sign-in code is refused, logged and counted`() async throws {
        try await Self.run(MalformedData.ofSecrets)
    }

    @Test func `B27, B48: a malformed value in the keys of a rider or zone is refused, logged and counted`()
        async throws
    {
        try await Self.run(MalformedData.ofZones)
    }

    @Test func `B27, B48: a malformed value in the shared keys is refused, logged and counted`() async throws {
        try await Self.run(MalformedData.ofAll)
    }

    @Test func `a job is shown and shared when its verdicts or its last position are of another type`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let keyspace = gateway.settings.liveState.keyspace
                for key in [keyspace.verdicts(of: job), keyspace.position(of: job)] {
                    _ = try await gateway.client.send(["DEL", .text(key)]).get()
                    _ = try await gateway.client.send(["RPUSH", .text(key), "x"]).get()
                }
                let shown = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "olga", .ops)
                #expect(shown.status == 200, "\(shown)")
                let travel = try await gateway.rest("PUT", "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
                #expect(travel.status == 200, "\(travel)")
                let at = Int64(Date.now.timeIntervalSince1970 * 1000)
                let reported = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider,
                    #"{"fixes":[{"at":\#(at),"lat":41.9,"lon":12.5}]}"#)
                #expect(reported.status == 200 && reported.text.contains(#""accepted":["\#(job)"]"#), "\(reported)")
            }
        }
    }

    @Test func `a job whose record is malformed can be erased, and created again`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                let changes = [
                    ["HSET", "job:{order-1}", "status", "lost"], ["HSET", "job:{order-1}", "epoch", "!"],
                    ["HDEL", "job:{order-1}", "customer"], ["SET", "job:{order-1}", "x"],
                    ["SET", "job:{order-1}:links", "x"],
                ]
                for (index, change) in changes.enumerated() {
                    _ = try await gateway.travellingJob("order-1", epoch: "epoch-\(index)")
                    _ = try await gateway.client.send(RedisCommand(change.map { .text($0) })).get()
                    let read = try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "orders", .service)
                    let isRecord = change[1] == "job:{order-1}"
                    #expect(
                        read.status == (isRecord ? 500 : 200) && (!isRecord || read.text.contains("malformed data")))
                    let erased = try await gateway.rest("DELETE", "/api/v1/jobs/order-1", by: "orders", .service)
                    #expect(erased.status == 204, "\(change) \(erased.text)")
                    let gone = try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "orders", .service)
                    #expect(gone.status == 404, "\(change) \(gone.text)")
                }
            }
        }
    }

    @Test func `travel mode starts and stops although its key is of another type`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let key = gateway.settings.liveState.keyspace.travel(of: job)
                for method in ["PUT", "DELETE", "PUT"] {
                    _ = try await gateway.client.run("DEL", key)
                    _ = try await gateway.client.run("RPUSH", key, "x")
                    let answer = try await gateway.rest(method, "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
                    #expect(answer.status == 200, "\(method) \(answer)")
                    let type = try await gateway.client.run("TYPE", key)
                    #expect(type.text == "string", "\(method)")
                }
            }
        }
    }

    // MARK: channels

    /// Malformed payloads for a channel, and valid messages of other channels.
    private static func payloads(_ others: [String]) -> [[UInt8]] {
        let values: [[UInt8]] = HostileValue.allCases.filter { $0 != .wrongType }.map { $0.bytes(others[0]) }
        let strangers: [[UInt8]] = [
            Array(#"{"type":"location","id":"1795000000000000","at":1795000000000,"lat":41.9,"lon":12.5}"#.utf8),
            Array(#"{"type":"degraded"}"#.utf8), Array(#"{"type":"unknown"}"#.utf8),
            Array(#"{"type":"ended","job":"j","reason":"completed"}"#.utf8) + [0xFF],
        ]
        return values + others.map { Array($0.utf8) } + strangers
    }

    @Test func `B27: only valid messages are relayed from a channel to followers`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let (job, zone) = (try await gateway.travellingJob(), ZoneID("rome")!)
                let keyspace = gateway.settings.liveState.keyspace
                let location = { (name: String, lat: String) in
                    #"{"type":"location","id":"1795000000000000","at":1795000000000,"job":"\#(name)","#
                        + #""received":1795000000000,"lat":\#(lat),"lon":12.5}"#
                }
                let others: [(channel: String, messages: [String])] = [
                    (
                        keyspace.feed(of: job),
                        [
                            location("another", "41.9"), location(job.text, "91"), location(job.text, "1e308"),
                            location(job.text, "\"41.9\""), location(job.text, "41.9") + "x",
                            #"{"type":"eta","job":"\#(job)","state":"ok","arrivesAt":999999999999999999,"seconds":999999999999999999,"at":-999999999999999999}"#,
                            #"{"type":"tracking","job":"another","state":"ended"}"#, #"{"type":"assigned"}"#,
                        ]
                    ),
                    (
                        keyspace.events(of: job),
                        [
                            location(job.text, "41.9"),
                            #"{"type":"status","job":"another","epoch":"e","prev":"","id":"1-1","status":"completed","at":1}"#,
                            #"{"type":"status","job":"\#(job)","epoch":"e","prev":"","id":"1-1","status":"gone","at":1}"#,
                        ]
                    ),
                    (
                        keyspace.changes(in: zone),
                        [
                            location(job.text, "41.9"),
                            #"{"type":"rider","zone":"paris","version":1,"prev":0,"rider":"r","change":"online","status":"online","reachable":true,"approved":true,"tasks":0,"capacity":1,"available":true,"at":1}"#,
                        ]
                    ),
                ]
                try await gateway.connect("olga", .ops) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    _ = try await messages.subscribed()
                    try await connection.send(.watch(zone: zone, since: nil))
                    _ = try await messages.first { if case .pool = $0 { true } else { nil } }
                    for (channel, messages) in others {
                        for payload in Self.payloads(messages) {
                            let received = try await gateway.client.send(
                                RedisCommand([.text("SPUBLISH"), .text(channel), .bytes(payload)])
                            ).get()
                            #expect((received.integer ?? 0) > 0)
                        }
                    }
                    // The valid message at the end must be the first that followers receive.
                    let status = try await gateway.ledger.publish(
                        .workInProgress, of: job, by: PersonID("orders")!, source: "rest"
                    ).get()
                    guard case .published(let event) = status else { throw Missing() }
                    let next = try await messages.next()
                    #expect(next == .status(job: job, event), "\(String(describing: next))")
                }
                for (index, kind) in ["feed", "events", "changes"].enumerated() {
                    let count = Self.payloads(others[index].messages).count
                    let line = "enroute_redis_invalid_values_total{kind=\"\(kind)\"} \(count)\n"
                    #expect(try await gateway.eventually("/metrics") { $0.text.contains(line) }, "\(kind)")
                    let logged = lines.all.filter { $0.message == Self.message && $0.metadata["kind"] == "\(kind)" }
                    // Many malformed messages of one channel are logged once.
                    #expect(logged.count == 1 && logged.allSatisfy { $0.level == .error }, "\(kind)")
                }
            }
        }
    }

    @Test func `B27: malformed entries of the revocation stream do not delay valid ones`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let control = gateway.settings.liveState.keyspace.control
                for at in ["9223372036854775807", "-9223372036854775808", "inf", "", "1e308"] {
                    try await gateway.client.run("XADD", control, "*", "kind", "user", "id", "anna", "at", at)
                }
                try await gateway.client.run("XADD", control, "*", "x", "\u{1}")
                let anna = try await gateway.token("anna", .customer)
                let bert = try await gateway.token("bert", .customer)
                _ = try await RevocationLog(ledger: gateway.client, settings: gateway.settings.liveState)
                    .revoke(.user(PersonID("bert")!), by: PersonID("olga")!, because: "").get()
                try await becomes("the revocation is known", every: .milliseconds(10)) {
                    try await gateway.rest("GET", "/api/v1/jobs/none", as: bert).status == 401
                }
                #expect(try await gateway.rest("GET", "/api/v1/jobs/none", as: anna).status == 404)
            }
        }
        let logged = lines.all.filter { $0.message == Self.message }
        #expect(logged.count == 1 && logged.first?.metadata["key"] == "control" && logged.first?.level == .error)
    }
}
