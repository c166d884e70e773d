import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import REST
@testable import Realtime

/// `DELETE jobs/{job}`: no data of the job stays, everybody who follows it is notified, and it can be created again.
@Suite struct JobErasureTests {
    private static let path = "/api/v1/jobs/order-1"
    private static let verdicts = "job:{order-1}:verdicts"

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                try await body(gateway)
            }
        }
    }

    private static func erase(_ gateway: RunningGateway, by person: String = "orders", _ role: Role = .service)
        async throws
        -> RESTResponse
    {
        try await gateway.rest("DELETE", Self.path, by: person, role)
    }

    /// A job that leaves traces everywhere: a task, a position, an arrival time, verdicts, a link.
    private static func travel(_ gateway: RunningGateway) async throws -> TrackingLinks.Issued {
        try await gateway.registerRider()
        _ = try await gateway.goOnline(PersonID("rider-1")!)
        let created = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"order-1","kind":"service","customer":"anna","rider":"rider-1","zone":"rome","#
                + #""destination":{"lat":41.9,"lon":12.5},"display":{"note":"Third floor"}}"#)
        #expect(created.status == 201, "\(created.text)")
        for (method, path, role, body) in [
            ("POST", Self.path + "/status", Role.service, #"{"status":"on_the_way"}"#),
            ("PUT", Self.path + "/travel", .rider, ""),
        ] {
            let changed = try await gateway.rest(
                method, path, by: role == .rider ? "rider-1" : "orders", role, body.isEmpty ? nil : body)
            #expect(changed.status == 200, "\(changed.text)")
        }
        let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
        return try await links.issueDurably(
            for: JobID("order-1")!, of: PersonID("anna")!, viewers: 2, by: PersonID("orders")!
        ).get().value
    }

    /// Events about riders are copies of the zone's log of changes. They contain the ids of a rider and a job, and
    /// nothing else about the job.
    private static func expectOnlyRidersToNameTheJob(_ gateway: RunningGateway) async throws {
        for shard in 0..<EventStreams.shards {
            let events = try await gateway.ledger.events.read(shard: shard, after: "0-0").compactMap(\.event)
            for event in events where event.subject != "order-1" && event.data.contains("order-1") {
                #expect([.riderAvailabilityChanged, .riderUnreachableWithTask].contains(event.kind), "\(event)")
                #expect(event.subject == "rider-1" && !event.data.contains("anna"), "\(event)")
            }
        }
    }

    @Test func `I7: an erasure leaves nothing of the job but its audit entry, and ends what its followers see`()
        async throws
    {
        try await Self.run { gateway in
            let link = try await Self.travel(gateway)
            try await gateway.connect("rider-1", .rider) { rider, reports in
                try await rider.report(JobID("order-1")!, step: 1)
                _ = try await reports.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: JobID("order-1")!, since: nil))
                    _ = try await messages.subscribed()
                    try await gateway.unsigned { guest, shown in
                        try await guest.send(.auth(.link(link.secret)))
                        _ = try await shown.welcome()
                        try await guest.send(.subscribe(job: JobID("order-1")!, since: nil))
                        _ = try await shown.subscribed()
                        let erased = try await Self.erase(gateway)
                        #expect(erased.status == 204 && erased.text.isEmpty, "\(erased.text)")
                        let reason = try await messages.first {
                            if case .ended(_, let reason) = $0 { reason } else { nil }
                        }
                        #expect(reason == .revoked)
                        await #expect(throws: ClientError.self) { while try await shown.next() != nil {} }
                    }
                }
                try await rider.report(JobID("order-1")!, step: 2)
                let refusal = try await reports.refusal()
                #expect(refusal.code == .travelModeOff || refusal.code == .notFound)
            }
            try await becomes("everything but the audit trail is gone") {
                var left: [String] = []
                for key in try await gateway.client.run("KEYS", "*").array?.compactMap(\.text) ?? [] {
                    // Data that expires within minutes, and data that stays on purpose: the audit trail.
                    let passes =
                        ["job:{order-1}", "job:{order-1}:travel", Self.verdicts].contains(key)
                        || key.hasPrefix("gateway")
                    if key.contains("order-1") || key.hasPrefix("link:"), !passes { left.append(key) }
                }
                return left.isEmpty
            }
            let events = try await gateway.events(about: JobID("order-1")!)
            #expect(events.map(\.kind) == [.erased] && events[0].data == "{}", "\(events)")
            let record = try await gateway.client.run("HKEYS", "job:{order-1}").array?.compactMap(\.text)
            #expect(record == ["fence", "erased"])
            let travel = try await gateway.client.run("GET", "job:{order-1}:travel").text
            #expect(travel?.contains("rider-1") != true)
            // The rider's phone may have been refused after the erasure; such counts and times stay for at most a
            // minute.
            let refusals = try await gateway.client.run("HVALS", Self.verdicts).array?.compactMap(\.text) ?? []
            #expect(refusals.allSatisfy { Int64($0) != nil }, "\(refusals)")
            let remaining = try #require(try await gateway.client.run("PTTL", Self.verdicts).integer)
            #expect(remaining == -2 || (0...60_000).contains(remaining), "\(remaining) ms")
            for list in ["jobs:rider:{rider-1}", "jobs:customer:{anna}", "zone:{rome}:jobs"] {
                let listed = try await gateway.client.run("ZSCORE", list, "order-1")
                #expect(listed == .null, "\(list)")
            }
            let tasks = try await gateway.riders.tasks(of: PersonID("rider-1")!, in: RunningGateway.rome).get()
            #expect(tasks.isEmpty)
            let entries = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
            let texts = entries.compactMap { $0.array?.last?.array?.compactMap(\.text) }
            #expect(texts.contains { $0.contains("request") && $0.contains("orders") && $0.contains("order-1") })
            var told: [LedgerEvent] = []
            for shard in 0..<EventStreams.shards {
                told += try await gateway.ledger.events.read(shard: shard, after: "0-0").compactMap(\.event)
                    .filter { $0.subject == "order-1" }
            }
            #expect(told.last?.kind == .erased && told.last?.data == "{}")
            try await Self.expectOnlyRidersToNameTheJob(gateway)
            #expect(told.allSatisfy { !$0.data.contains("41.9") && !$0.data.contains("Third floor") })
            let again = try await Self.erase(gateway)
            #expect(again.status == 404)
            let read = try await gateway.rest("GET", Self.path, by: "anna", .customer)
            #expect(read.status == 404)
        }
    }

    @Test func `an erasure leaves no entry in the lists of former riders, customers and zones`() async throws {
        try await Self.run { gateway in
            _ = try await Self.travel(gateway)
            let lists = ["jobs:rider:{rider-1}", "jobs:customer:{anna}", "zone:{rome}:jobs"]
            try await becomes("the job is listed") {
                for list in lists where try await gateway.client.run("ZSCORE", list, "order-1") == .null {
                    return false
                }
                return true
            }
            for (path, body) in [
                (Self.path + "/assignment", #"{"rider":"rider-2","customer":"bert","insteadOf":"rider-1"}"#),
                (Self.path, #"{"kind":"service","zone":"milan"}"#),
            ] {
                let changed = try await gateway.rest("PUT", path, by: "orders", .service, body)
                #expect(changed.status == 200, "\(changed.text)")
            }
            try await becomes("the former rider and the former customer have no entry") {
                for list in lists.prefix(2) where try await gateway.client.run("ZSCORE", list, "order-1") != .null {
                    return false
                }
                return true
            }
            let erased = try await Self.erase(gateway)
            #expect(erased.status == 204)
            for list in lists + ["jobs:rider:{rider-2}", "jobs:customer:{bert}", "zone:{milan}:jobs"] {
                let listed = try await gateway.client.run("ZSCORE", list, "order-1")
                #expect(listed == .null, "\(list)")
            }
        }
    }

    @Test func `a repeated erasure removes neither the event about it nor events about a rider with the same id`()
        async throws
    {
        try await Self.run { gateway in
            let store = WebhookStore(ledger: gateway.client, settings: gateway.settings.liveState)
            let webhook = Webhook(
                id: "wh_1", url: "https://shop.example/", kinds: [], secrets: [.init(text: "whsec_a", expiresAt: 0)],
                createdAt: 1_763_856_000_000)
            #expect(try await store.add(webhook))
            try await gateway.client.run("SET", "webhook:{wh_1}:lease", "gateway-1")
            try await JobListTests.create(gateway, "order-1", customer: "anna", rider: "rider-1")
            let ofRider = LedgerEvent(
                id: "rome.1", kind: .riderAvailabilityChanged, time: 1_763_856_000_000, subject: "order-1", data: "{}")
            try await store.streams.append(ofRider).get()
            // The endpoint is down: the worker moves each event to the waiting list.
            func park() async throws {
                for event in try await gateway.events(about: JobID("order-1")!) {
                    let waits = try await store.park(
                        WaitingEvent(event), for: "wh_1", attempts: 1, due: 9_000_000_000_000, by: "gateway-1")
                    #expect(waits)
                }
            }
            func waiting() async throws -> [String] {
                let list = try await gateway.client.run("LRANGE", "webhook:{wh_1}:waiting:order-1", "0", "-1")
                return (list.array ?? []).compactMap(\.text)
            }
            try await park()
            #expect(try await waiting().contains { $0.contains("anna") })
            for status in [204, 404, 404] {
                let erased = try await Self.erase(gateway)
                #expect(erased.status == status)
                try await park()
                let kinds = try await gateway.events(about: JobID("order-1")!).map(\.kind)
                #expect(kinds == [.riderAvailabilityChanged, .erased])
                let left = try await waiting()
                #expect(left.count == 2 && left[0].contains("rome.1") && left[1].contains("enroute.job.erased"))
                #expect(!left.contains { $0.contains("anna") })
            }
            #expect(try await store.read("wh_1")?.waiting == 2)
        }
    }

    @Test func `a job that is created again has its own history, and its rider can share its position`() async throws {
        try await Self.run { gateway in
            _ = try await Self.travel(gateway)
            let first = try await gateway.rest("GET", Self.path, by: "anna", .customer)
            let erased = try await Self.erase(gateway)
            #expect(erased.status == 204)
            _ = try await Self.travel(gateway)
            let second = try await gateway.rest("GET", Self.path, by: "anna", .customer)
            let (before, after): (String?, String?) = (first.member("epoch"), second.member("epoch"))
            #expect(before != nil && after != nil && before != after)
            // A follower of the first history that resumes starts again.
            try await gateway.connect("anna", .customer) { connection, messages in
                let id: String = try #require(first.member("id"))
                let since = ResumePoint(epoch: before ?? "", id: try #require(StatusID(id)))
                try await connection.send(.subscribe(job: JobID("order-1")!, since: since))
                let snapshot = try await messages.first { message in
                    switch message {
                    case .subscribed(_, let snapshot), .reset(_, let snapshot): snapshot
                    default: nil
                    }
                }
                #expect(snapshot.epoch == after && snapshot.missed.isEmpty)
            }
            try await gateway.connect("rider-1", .rider) { rider, reports in
                try await rider.report(JobID("order-1")!, step: 1)
                _ = try await reports.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
            }
        }
    }

    @Test func `an erased job is missing wherever it is read, and is not logged as malformed data`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                _ = try await Self.travel(gateway)
                let lists = ["jobs:rider:{rider-1}", "jobs:customer:{anna}", "zone:{rome}:jobs"]
                #expect(try await Self.erase(gateway).status == 204)
                // As if another gateway listed a job at the moment when it is erased.
                for list in lists { try await gateway.client.run("ZADD", list, "1795248617611", "order-1") }
                for (path, person, role) in [
                    ("jobs/order-1", "anna", Role.customer), ("jobs/order-1/log", "anna", .customer),
                    ("jobs/order-1/explanation", "olga", .ops),
                ] {
                    let answer = try await gateway.rest("GET", "/api/v1/" + path, by: person, role)
                    #expect(answer.status == 404, "\(path) \(answer.text)")
                }
                for (path, person, role) in [
                    ("jobs?customer=me", "anna", Role.customer), ("jobs?rider=me", "rider-1", .rider),
                    ("zones/rome/jobs", "olga", .ops),
                ] {
                    let answer = try await gateway.rest("GET", "/api/v1/" + path, by: person, role)
                    #expect(answer.status == 200 && !answer.text.contains("order-1"), "\(path) \(answer.text)")
                }
            }
        }
        #expect(!lines.all.contains { $0.message.contains("malformed data") }, "\(lines.all.map(\.metadata))")
    }

    @Test func `only services erase, and a token for another job finds nothing`() async throws {
        try await Self.run { gateway in
            _ = try await Self.travel(gateway)
            for (person, role) in [("anna", Role.customer), ("rider-1", .rider), ("olga", .ops)] {
                let refused = try await Self.erase(gateway, by: person, role)
                #expect(refused.status == 403)
            }
            let read = try await gateway.rest("GET", Self.path, by: "anna", .customer)
            #expect(read.status == 200)
        }
    }

    @Test func `parallel erasures and changes leave either the whole job or nothing`() async throws {
        try await Self.run { gateway in
            for round in 0..<10 {
                let job = "order-\(round)"
                try await JobListTests.create(gateway, job, customer: "anna", rider: "rider-1")
                let statuses = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            (
                                "erase",
                                try await gateway.rest("DELETE", "/api/v1/jobs/\(job)", by: "orders", .service).status
                            )
                        }
                    }
                    for customer in ["bert", "carla"] {
                        group.addTask {
                            let body = #"{"kind":"delivery","rider":"rider-1","customer":"\#(customer)"}"#
                            return (
                                "put",
                                try await gateway.rest("PUT", "/api/v1/jobs/\(job)", by: "orders", .service, body)
                                    .status
                            )
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let erasures = statuses.filter { $0.0 == "erase" }.map(\.1)
                #expect(erasures.contains(204) && erasures.allSatisfy { [204, 404, 503].contains($0) }, "\(statuses)")
                let kind = try await gateway.client.run("HMGET", "job:{\(job)}", "kind", "epoch").array ?? []
                #expect((kind.first == .null) == (kind.last == .null))
            }
        }
    }
}

/// The keys that belong to a job are in as many slots as they can be.
@Suite(.needsMachine(for: .faults)) struct ClusteredListTests {
    @Test func `in a cluster of three masters jobs are listed, handed over and erased`() async throws {
        try await within {
            try await ClusterFleet.running { fleet in
                let address = try RedisAddress(url: fleet.url)
                try await RunningGateway.run(isSecure: false, at: (address, address)) { gateway in
                    let names = (0..<12).map { "order-\($0)" }
                    for name in names {
                        try await JobListTests.create(gateway, name, customer: "anna", rider: "rider-1")
                    }
                    let all = try await JobListTests.list(gateway, "customer=me", by: "anna", .customer)
                    #expect(Set(all.jobs) == Set(names))
                    let link = try await gateway.rest("POST", "/api/v1/jobs/order-0/links", by: "anna", .customer)
                    #expect(link.status == 201, "\(link.text)")
                    let assigned = try await gateway.rest(
                        "PUT", "/api/v1/jobs/order-1/assignment", by: "orders", .service,
                        #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                    #expect(assigned.status == 200)
                    let second = try await JobListTests.list(gateway, "rider=me", by: "rider-2", .rider)
                    #expect(second.jobs == ["order-1"])
                    for name in names {
                        let erased = try await gateway.rest("DELETE", "/api/v1/jobs/\(name)", by: "orders", .service)
                        #expect(erased.status == 204, "\(erased.text)")
                    }
                    for query in ["customer=anna", "rider=rider-1", "rider=rider-2", "zone=rome"] {
                        let none = try await JobListTests.list(gateway, query, by: "orders", .service)
                        #expect(none.status == 200 && none.jobs.isEmpty)
                    }
                    let id: String = try #require(link.member("id"))
                    let left = try await gateway.client.run("EXISTS", "link:{\(id)}")
                    #expect(left == .integer(0))
                }
            }
        }
    }
}
