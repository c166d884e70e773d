import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// The card of a rider is shown to the followers of its job, and to nobody else at any time.
@Suite struct RiderCardTests {
    static let rosa = RiderCard(
        name: "Rosa <b>", photo: "https://photos.example/rosa.jpg", vehicle: .cargoBike, plate: "AB 123",
        contact: "tel:+390612345,42")
    private static let ugo = RiderCard(name: "Ugo")
    private static let job = JobID("order-1")!
    private static let path = "/api/v1/jobs/order-1"
    private static let delivery =
        #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1","display":{"orderNumber":"A-7"},"#
        + #""metadata":{"tenant":"north"}}"#

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                try await body(gateway)
            }
        }
    }

    /// Writes a rider with the service's request, and takes it online.
    private static func ride(_ gateway: RunningGateway, _ card: RiderCard?, of rider: String = "rider-1") async throws {
        let written = try await Self.write(gateway, rider, card)
        #expect([200, 201].contains(written.status), "\(written.text)")
        _ = try await gateway.goOnline(PersonID(rider)!)
    }

    @discardableResult
    private static func write(_ gateway: RunningGateway, _ rider: String, _ card: RiderCard?) async throws
        -> RESTResponse
    {
        let member = card.map { #","card":"# + String(decoding: $0.json, as: UTF8.self) } ?? ""
        return try await gateway.rest(
            "PUT", "/api/v1/riders/\(rider)", by: "orders", .service,
            #"{"zone":"rome","approved":true,"capacity":5\#(member)}"#)
    }

    private static func create(_ gateway: RunningGateway, _ body: String = delivery) async throws {
        let created = try await gateway.rest("POST", "/api/v1/jobs", by: "orders", .service, body)
        #expect(created.status == 201, "\(created.text)")
    }

    private static func change(_ gateway: RunningGateway, to status: JobStatus) async throws {
        let changed = try await gateway.rest(
            "POST", Self.path + "/status", by: "orders", .service, #"{"status":"\#(status.rawValue)"}"#)
        #expect(changed.status == 200, "\(changed.text)")
    }

    /// The job as this person may read it.
    private static func read(_ gateway: RunningGateway, by person: String, _ role: Role) async throws -> RESTResponse {
        try await gateway.rest("GET", Self.path, by: person, role)
    }

    private static func follow(
        _ gateway: RunningGateway, by person: String = "anna", _ role: Role = .customer,
        _ body: (Snapshot, inout GatewayConnection.Messages.AsyncIterator) async throws -> Void
    ) async throws {
        try await gateway.connect(person, role) { connection, messages in
            try await connection.send(.subscribe(job: Self.job, since: nil))
            let snapshot = try await messages.subscribed()
            try await body(snapshot, &messages)
        }
    }

    @Test func `followers see the card and its changes without reconnecting`() async throws {
        try await Self.run { gateway in
            try await Self.ride(gateway, Self.rosa)
            try await Self.create(gateway)
            try await Self.change(gateway, to: .accepted)
            try await Self.follow(gateway) { snapshot, messages in
                #expect(snapshot.riderCard == Self.rosa)
                #expect(snapshot.display == JobDisplay(orderNumber: "A-7") && snapshot.metadata == nil)
                let renamed = try await Self.write(gateway, "rider-1", Self.ugo)
                #expect(renamed.status == 200 && renamed.text.contains(#""card":{"name":"Ugo"}"#), "\(renamed.text)")
                #expect(try await messages.reset().riderCard == Self.ugo)
                // Another description of the rider keeps the card, and followers receive nothing.
                try await Self.write(gateway, "rider-1", nil)
                let shown = try await gateway.rest(
                    "PUT", Self.path, by: "orders", .service,
                    #"{"kind":"delivery","display":{"note":"Ring"},"metadata":{}}"#)
                #expect(shown.status == 200)
                let reset = try await messages.reset()
                #expect(reset.riderCard == Self.ugo && reset.display == JobDisplay(note: "Ring"))
                try await Self.write(gateway, "rider-1", RiderCard())
                #expect(try await messages.reset().riderCard == nil)
            }
        }
    }

    @Test func `metadata reaches services and operations staff only`() async throws {
        try await Self.run { gateway in
            try await Self.ride(gateway, Self.rosa)
            try await Self.create(gateway)
            for (person, role) in [("orders", Role.service), ("olga", .ops), ("anna", .customer), ("rider-1", .rider)] {
                let sees = role == .service || role == .ops
                let read = try await Self.read(gateway, by: person, role)
                #expect(read.text.contains("north") == sees, "\(role): \(read.text)")
                try await Self.follow(gateway, by: person, role) { snapshot, messages in
                    #expect(snapshot.metadata?.values == (sees ? ["tenant": "north"] : nil), "\(role)")
                    try await gateway.client.run("SPUBLISH", "job:{order-1}:events", #"{"type":"assigned"}"#)
                    let reset = try await messages.reset()
                    #expect(reset.metadata?.values == (sees ? ["tenant": "north"] : nil), "\(role)")
                }
            }
        }
    }

    @Test func `the card appears and disappears with the status`() async throws {
        try await Self.run { gateway in
            try await Self.ride(gateway, Self.rosa)
            try await Self.create(gateway)
            try await Self.follow(gateway) { snapshot, messages in
                #expect(snapshot.riderCard == nil)
                for (status, shows) in [
                    (JobStatus.accepted, true), (.allocationFailed, false), (.readyForPickup, true),
                ] {
                    try await Self.change(gateway, to: status)
                    let reset = try await messages.reset()
                    #expect(reset.status == status && (reset.riderCard == Self.rosa) == shows, "\(status)")
                    let read = try await Self.read(gateway, by: "anna", .customer)
                    #expect(read.text.contains("Rosa") == shows, "\(status)")
                }
                try await Self.change(gateway, to: .inTransit)
                try await Self.change(gateway, to: .delivered)
                let ended = try await messages.first { if case .ended(_, let reason) = $0 { reason } else { nil } }
                #expect(ended == .completed)
            }
            for (person, role) in [("anna", Role.customer), ("orders", .service), ("olga", .ops)] {
                let read = try await Self.read(gateway, by: person, role)
                #expect(read.status == 200 && !read.text.contains("Rosa"), "\(role)")
            }
        }
    }

    @Test func `a status that shows a rider without a card is one message, and no whole state follows`() async throws {
        try await Self.run { gateway in
            try await Self.ride(gateway, nil)
            try await Self.create(gateway)
            try await Self.follow(gateway) { _, messages in
                let statuses: [JobStatus] = [.accepted, .preparing, .readyForPickup, .inTransit, .delivered]
                for status in statuses { try await Self.change(gateway, to: status) }
                var received: [ServerMessage] = []
                repeat { received.append(try #require(try await messages.next())) } while received.last?.isEnd == false
                #expect(received.count { if case .status = $0 { true } else { false } } == statuses.count)
                #expect(!received.contains { if case .reset = $0 { true } else { false } }, "\(received)")
            }
        }
    }

    @Test func `I7: after a reassignment followers see the next card or none, and the former rider sees nothing`()
        async throws
    {
        try await Self.run { gateway in
            try await Self.ride(gateway, Self.rosa)
            try await Self.ride(gateway, Self.ugo, of: "rider-2")
            try await Self.create(gateway)
            try await Self.change(gateway, to: .accepted)
            try await Self.follow(gateway) { snapshot, messages in
                #expect(snapshot.riderCard == Self.rosa)
                let assigned = try await gateway.rest(
                    "PUT", Self.path + "/assignment", by: "orders", .service,
                    #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                #expect(assigned.status == 200, "\(assigned.text)")
                #expect(try await messages.reset().riderCard == Self.ugo)
                // A change of the former rider's card no longer concerns anybody here.
                try await Self.write(gateway, "rider-1", RiderCard(name: "Rosina"))
                let unassigned = try await gateway.rest("DELETE", Self.path + "/assignment", by: "orders", .service)
                #expect(unassigned.status == 200)
                #expect(try await messages.reset().riderCard == nil)
            }
            let former = try await Self.read(gateway, by: "rider-1", .rider)
            #expect(former.status == 404)
            let stored = try await gateway.storedTexts()
            #expect(stored.contains("Rosina") && !stored.contains("Rosa"))
        }
    }

    @Test func `I7: nobody else sees the card, and links see it in their session only`() async throws {
        try await Self.run { gateway in
            try await Self.ride(gateway, Self.rosa)
            try await Self.create(gateway)
            try await Self.change(gateway, to: .accepted)
            try await Self.create(gateway, #"{"job":"order-2","kind":"delivery","customer":"bert","rider":"rider-1"}"#)
            for (person, role) in [("bert", Role.customer), ("rider-2", .rider)] {
                let read = try await Self.read(gateway, by: person, role)
                #expect(read.status == 404 && !read.text.contains("Rosa"))
            }
            // The second job of the same rider is not accepted yet.
            let other = try await gateway.rest("GET", "/api/v1/jobs/order-2", by: "bert", .customer)
            #expect(other.status == 200 && !other.text.contains("Rosa"))
            for path in ["/api/v1/riders/rider-1", "/api/v1/zones/rome/riders", "/api/v1/riders/me"] {
                let answer = try await gateway.rest("GET", path, by: "anna", .customer)
                #expect(answer.status == 403, "\(path)")
            }
            let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
            let link = try await links.issueDurably(
                for: Self.job, of: PersonID("anna")!, viewers: 2, by: PersonID("orders")!
            ).get().value
            let page = try await gateway.rest(
                "GET", "/track/order-1", as: nil, headers: ["Authorization: Link \(link.secret)"])
            #expect(page.status == 200 && page.text.contains("A-7") && !page.text.contains("Rosa"))
            try await gateway.unsigned { connection, messages in
                try await connection.send(.auth(.link(link.secret)))
                _ = try await messages.welcome()
                try await connection.send(.subscribe(job: Self.job, since: nil))
                let snapshot = try await messages.subscribed()
                #expect(snapshot.riderCard == Self.rosa && snapshot.metadata == nil)
            }
            // A page for a signed-in customer contains it, escaped.
            let own = try await gateway.rest("GET", "/track/order-1", by: "anna", .customer)
            #expect(own.text.contains(#""name":"Rosa \u003cb\u003e""#), "\(own.text)")
        }
    }

    @Test func `I7: the card of a removed rider is gone, and one that moves to another zone keeps it`() async throws {
        try await Self.run { gateway in
            // Registered after the job was created, so the job is not a task that would keep the rider in its zone.
            try await Self.create(gateway)
            try await Self.change(gateway, to: .accepted)
            try await Self.write(gateway, "rider-1", Self.rosa)
            let before = try await Self.read(gateway, by: "anna", .customer)
            #expect(before.text.contains("Rosa"))
            let moved = try await gateway.rest(
                "PUT", "/api/v1/riders/rider-1", by: "orders", .service, #"{"zone":"milan","approved":true}"#)
            #expect(moved.status == 201 && moved.text.contains("Rosa"), "\(moved.text)")
            try await Self.follow(gateway) { snapshot, messages in
                #expect(snapshot.riderCard == Self.rosa)
                let removed = try await gateway.rest("DELETE", "/api/v1/riders/rider-1", by: "orders", .service)
                #expect(removed.status == 204)
                #expect(try await messages.reset().riderCard == nil)
            }
            let after = try await Self.read(gateway, by: "anna", .customer)
            #expect(after.status == 200 && !after.text.contains("Rosa"))
            let stored = try await gateway.storedTexts()
            #expect(stored.contains("rider-1") && !stored.contains("Rosa"))
        }
    }

    @Test func `a lost message about a change is noticed by the next check`() async throws {
        try await Self.run { gateway in
            try await Self.ride(gateway, Self.rosa)
            try await Self.create(gateway)
            try await Self.change(gateway, to: .accepted)
            try await Self.follow(gateway) { snapshot, messages in
                #expect(snapshot.riderCard == Self.rosa)
                // Simulates a lost message of refresh_job.
                try await gateway.client.run(
                    "HSET", "rider:{rome}:rider-1", "card", String(decoding: Self.ugo.json, as: UTF8.self))
                try await gateway.client.run("HINCRBY", "job:{order-1}", "revision", "1")
                #expect(try await messages.reset().riderCard == Self.ugo)
            }
        }
    }

    @Test func `invalid cards, display details and metadata are refused with the reason`() async throws {
        try await Self.run { gateway in
            for (card, reason) in [
                (#"{"photo":"http://x.example/"}"#, "card.photo"), (#"{"vehicle":"ufo"}"#, "card.vehicle"),
                (#"{"contact":"tel:*21#"}"#, "card.contact"), (#"{"name":7}"#, "card.name"), ("[]", "card"),
            ] {
                let refused = try await gateway.rest(
                    "PUT", "/api/v1/riders/rider-1", by: "orders", .service,
                    #"{"zone":"rome","approved":true,"card":\#(card)}"#)
                #expect(refused.status == 422 && refused.text.contains(reason), "\(refused.text)")
            }
            for (member, reason) in [
                (#""display":{"items":[""]}"#, "display.items"), (#""display":{"window":{"from":1}}"#, "until"),
                (#""display":"x""#, "display"), (#""metadata":{"a":1}"#, "metadata.a"),
                (#""metadata":{"a b":"x"}"#, "metadata"),
            ] {
                let refused = try await gateway.rest(
                    "POST", "/api/v1/jobs", by: "orders", .service,
                    #"{"job":"order-1","kind":"delivery","customer":"anna",\#(member)}"#)
                #expect(refused.status == 422 && refused.text.contains(reason), "\(refused.text)")
            }
            for pattern in ["job*", "rider*", "home*"] {
                let stored = try await gateway.client.run("KEYS", pattern)
                #expect(stored == .array([]), "\(pattern)")
            }
        }
    }

    @Test func `a created event contains display details and metadata`() async throws {
        try await Self.run { gateway in
            let told = try await gateway.rest(
                "POST", "/api/v1/events", by: "orders", .service,
                #"{"specversion":"1.0","id":"e-1","source":"/orders","type":"io.enroute.job.created","data":\#(Self.delivery)}"#,
                headers: ["Content-Type: application/cloudevents+json"])
            #expect(told.member("outcome") == "applied", "\(told.text)")
            let record = try #require(try await gateway.ledger.recover(Self.job).get()).record
            #expect(record.display == JobDisplay(orderNumber: "A-7") && record.metadata?.values == ["tenant": "north"])
        }
    }

    @Test func `pages load photos only from the origins that the operator named`() async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false, { $0.photoOrigins = ["https://a.example", "https://b.example:8443"] }
            ) {
                gateway in
                let page = try await gateway.rest("GET", "/track/order-1", as: nil)
                let policy = page.headers["content-security-policy"] ?? ""
                #expect(policy.contains("img-src 'self' data: https://a.example https://b.example:8443;"), "\(policy)")
                #expect(
                    page.text.contains(
                        #"<meta name="enroute-photo-origins" content="https://a.example https://b.example:8443">"#))
            }
            try await RunningGateway.run(isSecure: false) { gateway in
                let page = try await gateway.rest("GET", "/track/order-1", as: nil)
                #expect(page.headers["content-security-policy"]?.contains("img-src 'self' data:;") == true)
                #expect(!page.text.contains("enroute-photo-origins"))
            }
        }
    }
}

/// The job and the rider are in different slots.
@Suite(.needsMachine(for: .faults)) struct ClusteredRiderCardTests {
    @Test func `in a cluster of three masters followers see the card and its changes`() async throws {
        try await within {
            try await ClusterFleet.running { fleet in
                let address = try RedisAddress(url: fleet.url)
                try await RunningGateway.run(isSecure: false, at: (address, address)) { gateway in
                    for number in 0..<8 {
                        let (rider, zone, job) = ("rider-\(number)", "zone-\(number)", "order-\(number)")
                        func write(_ name: String) async throws {
                            let written = try await gateway.rest(
                                "PUT", "/api/v1/riders/\(rider)", by: "orders", .service,
                                #"{"zone":"\#(zone)","approved":true,"card":{"name":"\#(name)"}}"#)
                            #expect([200, 201].contains(written.status), "\(written.text)")
                        }
                        try await write("Rosa")
                        _ = try await gateway.riders.setOnline(
                            PersonID(rider)!, in: ZoneID(zone)!, by: .init(PersonID(rider)!)
                        )
                        .get()
                        let created = try await gateway.rest(
                            "POST", "/api/v1/jobs", by: "orders", .service,
                            #"{"job":"\#(job)","kind":"service","customer":"anna","rider":"\#(rider)"}"#)
                        #expect(created.status == 201, "\(created.text)")
                        try await gateway.connect("anna", .customer) { connection, messages in
                            try await connection.send(.subscribe(job: JobID(job)!, since: nil))
                            let snapshot = try await messages.subscribed()
                            #expect(snapshot.riderCard == RiderCard(name: "Rosa"))
                            try await write("Ugo")
                            #expect(try await messages.reset().riderCard == RiderCard(name: "Ugo"))
                        }
                    }
                }
            }
        }
    }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// The next whole state that replaces what was shown.
    mutating func reset() async throws -> Snapshot {
        try await self.first { if case .reset(_, let snapshot) = $0 { snapshot } else { nil } }
    }
}

extension RunningGateway {
    /// Everything that Redis stores, as text.
    func storedTexts() async throws -> String {
        var texts = ""
        for key in try await self.client.run("KEYS", "*").array ?? [] {
            let name = key.text ?? ""
            let read =
                switch try await self.client.run("TYPE", name).text {
                case "hash": ["HGETALL", name]
                case "set": ["SMEMBERS", name]
                case "stream": ["XRANGE", name, "-", "+"]
                case "zset": ["ZRANGE", name, "0", "-1"]
                default: ["GET", name]
                }
            let value = try await self.client.send(RedisCommand(read.map { .text($0) })).get()
            texts += "\(name): \(value.allTexts.joined(separator: " "))\n"
        }
        return texts
    }
}

extension RESPValue {
    fileprivate var allTexts: [String] {
        self.array.map { $0.flatMap(\.allTexts) } ?? self.text.map { [$0] } ?? []
    }
}
