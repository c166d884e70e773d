import Access
import EnrouteClient
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Events from other systems, over real sockets, with a real ledger.
@Suite struct EventRoutesTests {
    struct Answer: Decodable, Equatable {
        var id: String?
        var outcome: String?
        var status: Int
        var job: String?
        var statusId: String?
        var jobStatus: String?
        var detail: String?
        var retryable: Bool?
    }

    /// Sends events, as a service by default.
    struct Sender: Sendable {
        let gateway: RunningGateway
        let token: String

        func post(_ body: String, _ headers: [String: String]) async throws -> (status: Int, body: Data) {
            var request = URLRequest(url: URL(string: "http://127.0.0.1:\(self.gateway.port)/api/v1/events")!)
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
            request.setValue("Bearer \(self.token)", forHTTPHeaderField: "Authorization")
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            let (data, response) = try await URLSession.shared.data(for: request)
            return ((response as! HTTPURLResponse).statusCode, data)
        }

        /// A structured event.
        func send(_ event: String) async throws -> Answer {
            let answer = try await self.post(event, ["Content-Type": "application/cloudevents+json; charset=utf-8"])
            let decoded = try JSONDecoder().decode(Answer.self, from: answer.body)
            #expect(decoded.status == answer.status)
            return decoded
        }

        func sendBatch(_ events: [String]) async throws -> [Answer] {
            let answer = try await self.post(
                "[\(events.joined(separator: ","))]", ["Content-Type": "application/cloudevents-batch+json"])
            #expect(answer.status == 200)
            return try JSONDecoder().decode([Answer].self, from: answer.body)
        }

        func status(_ job: String = "j1") async throws -> String? {
            try await self.gateway.ledger.recover(JobID(job)!).get()?.record.status.rawValue
        }

        func rider() async throws -> String? {
            try await self.gateway.ledger.recover(JobID("j1")!).get()?.record.rider?.text
        }
    }

    static func run(_ body: @escaping @Sendable (Sender) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await body(Sender(gateway: gateway, token: try await gateway.token("orders", .service)))
            }
        }
    }

    /// - Parameter second: the second within a minute at which the event occurred; `nil` for an event without a time.
    static func event(_ id: String, _ type: String, _ data: String, second: Int? = nil) -> String {
        self.event(id, type, data, time: second.map { "2026-11-21T18:00:\($0 < 10 ? "0" : "")\($0)Z" })
    }

    static func event(_ id: String, _ type: String, _ data: String, time: String?) -> String {
        let time = time.map { #","time":"\#($0)""# } ?? ""
        return #"{"specversion":"1.0","id":"\#(id)","source":"/orders","type":"io.enroute.job.\#(type)"\#(time),"#
            + #""datacontenttype":"application/json","data":\#(data)}"#
    }

    static let created = event(
        "e-0", "created", #"{"job":"j1","kind":"delivery","customer":"anna","rider":"rider-1"}"#, second: 0)

    static func status(_ id: String, _ status: String, second: Int? = nil) -> String {
        self.event(id, "status", #"{"job":"j1","status":"\#(status)"}"#, second: second)
    }

    @Test func `a repeated event is applied once and always gets the same response`()
        async throws
    {
        try await Self.run { sender in
            let created = try await sender.send(Self.created)
            #expect(created.outcome == "applied" && created.job == "j1")
            let accepted = Self.status("e-1", "accepted", second: 1)
            let first = try await sender.send(accepted)
            #expect(first.outcome == "applied" && first.statusId != nil)
            for (index, status) in ["preparing", "ready_for_pickup"].enumerated() {
                #expect(try await sender.send(Self.status("e-\(index + 2)", status, second: index + 2)).status == 200)
            }
            #expect(try await sender.send(accepted) == first)
            #expect(try await sender.send(Self.created) == created)
            #expect(try await sender.status() == "ready_for_pickup")
            let record = try await sender.gateway.ledger.recover(JobID("j1")!).get()?.record
            #expect(record?.statusAt == 1_795_284_003_000)
            let metrics = try await sender.gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_events_processed_total{outcome="applied"} 4"#))
            #expect(metrics.contains(#"enroute_events_processed_total{outcome="repeated"} 2"#))
        }
    }

    @Test func `a job has been created when its event says so, and the log says when it was received`() async throws {
        try await Self.run { sender in
            let now = WallClock.nowMilliseconds
            let untimed = Self.event("e-1", "created", #"{"job":"j2","kind":"service","customer":"anna"}"#, second: nil)
            for event in [Self.created, untimed] { #expect(try await sender.send(event).outcome == "applied") }
            for (job, at) in [("j1", 1_795_284_000_000...1_795_284_000_000), ("j2", now...Int64.max)] {
                let entry = try #require(try await sender.gateway.ledger.log(of: JobID(job)!).get().first)
                #expect(at.contains(entry.at) && entry.recordedAt >= now, "\(entry)")
                let record = try await sender.gateway.ledger.recover(JobID(job)!).get()?.record
                #expect(record?.statusAt == entry.at)
            }
        }
    }

    @Test func `I7: an event that is delivered again does not bring back the job that it created and that was erased`()
        async throws
    {
        try await Self.run { sender in
            #expect(try await sender.send(Self.created).outcome == "applied")
            let path = "/api/v1/jobs/j1"
            let erased = try await sender.gateway.rest("DELETE", path, by: "orders", .service)
            #expect(erased.status == 204)
            let again = try await sender.send(Self.created)
            #expect(again.outcome == "superseded" && again.status == 200, "\(again)")
            #expect(try await sender.gateway.rest("GET", path, by: "orders", .service).status == 404)
            let listed = try await sender.gateway.client.run("EXISTS", "jobs:customer:{anna}", "jobs:rider:{rider-1}")
            #expect(listed == .integer(0))
            // Another event creates the job, and then the first one still does not undo a second erasure.
            let other = Self.event("e-9", "created", #"{"job":"j1","kind":"delivery","customer":"anna"}"#, second: 9)
            #expect(try await sender.send(other).outcome == "applied")
            #expect(try await sender.gateway.rest("DELETE", path, by: "orders", .service).status == 204)
            for event in [Self.created, other] { #expect(try await sender.send(event).outcome == "superseded") }
            #expect(try await sender.gateway.rest("GET", path, by: "orders", .service).status == 404)
        }
    }

    @Test func `events in any order, retried while they cannot be applied yet, reach the final status`() async throws {
        try await Self.run { sender in
            let way = [
                Self.created, Self.status("e-1", "accepted", second: 1), Self.status("e-2", "preparing", second: 2),
                Self.status("e-3", "allocation_failed", second: 3), Self.status("e-4", "ready_for_pickup", second: 4),
                Self.status("e-5", "in_transit", second: 5), Self.event("e-6", "cancelled", #"{"job":"j2"}"#),
            ]
            let early = try await sender.send(way[1])
            #expect(early.status == 409 && early.retryable == true)
            var (waiting, rounds) = ([5, 2, 4, 1, 3, 0], 0)
            while !waiting.isEmpty, rounds < 10 {
                rounds += 1
                var left: [Int] = []
                for index in waiting where try await sender.send(way[index]).status == 409 { left.append(index) }
                waiting = left
            }
            #expect(waiting.isEmpty)
            #expect(try await sender.status() == "in_transit")
            let late = try await sender.send(Self.status("e-9", "accepted", second: 1))
            #expect(late.outcome == "superseded" && late.jobStatus == "in_transit")
            // The event is for a job that does not exist yet.
            #expect(try await sender.send(way[6]).status == 409)
            let metrics = try await sender.gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_events_refused_total{reason="not_yet"}"#))
            #expect(!metrics.contains(#"enroute_events_processed_total{outcome="superseded"} 0"#))
        }
    }

    @Test func `an event from the future is refused and does not supersede later ones`() async throws {
        try await Self.run { sender in
            _ = try await sender.send(Self.created)
            let data = #"{"job":"j1","customer":"bert"}"#
            let future = Date(timeIntervalSinceNow: 3600).ISO8601Format()
            for (type, data) in [("assigned", data), ("status", #"{"job":"j1","status":"accepted"}"#)] {
                for time in [future, "9999-12-31T00:00:00Z"] {
                    let refused = try await sender.send(Self.event("e-\(time)-\(type)", type, data, time: time))
                    #expect(refused.status == 422 && refused.detail?.contains("time is in the future") == true)
                }
            }
            let record = try await sender.gateway.ledger.recover(JobID("j1")!).get()?.record
            #expect(record?.customer != PersonID("bert") && record?.status == .pendingVendorAcceptance)
            let now = Date(timeIntervalSinceNow: 5).ISO8601Format()
            #expect(try await sender.send(Self.event("e-now", "assigned", data, time: now)).outcome == "applied")
        }
    }

    @Test func `a batch is answered event by event, in order, and continues after a refused event`() async throws {
        try await Self.run { sender in
            let answers = try await sender.sendBatch([
                Self.created, "7", Self.status("e-1", "accepted"), Self.status("e-2", "in_transit"),
                Self.event("e-3", "lost", "{}"), Self.event("e-4", "cancelled", #"{"job":"j1"}"#),
                Self.status("e-5", "delivered"), Self.status("e-6", "preparing"),
            ])
            #expect(answers.map(\.status) == [200, 400, 200, 409, 422, 200, 422, 200])
            #expect(
                answers.map(\.outcome) == [
                    "applied", "refused", "applied", "refused", "refused", "applied", "refused", "superseded",
                ])
            #expect(answers.map(\.id) == ["e-0", nil, "e-1", "e-2", "e-3", "e-4", "e-5", "e-6"])
            #expect(answers[6].jobStatus == "cancelled" && answers[6].detail?.contains("cannot become") == true)
            let metrics = try await sender.gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_events_refused_total{reason="unprocessable"} 2"#))
            #expect(metrics.contains(#"enroute_events_refused_total{reason="malformed"} 1"#))
        }
    }

    @Test func `binary mode takes attributes from headers, and an invalid event gets a hint`() async throws {
        try await Self.run { sender in
            _ = try await sender.send(Self.created)
            let headers = [
                "Content-Type": "application/json", "ce-specversion": "1.0", "ce-id": "e-1", "ce-source": "/orders",
                "ce-type": "io.enroute.job.status",
            ]
            let body = #"{"job":"j1","status":"accepted"}"#
            #expect(try await sender.post(body, headers).status == 200)
            #expect(try await sender.status() == "accepted")
            #expect(try await sender.post(body, ["Content-Type": "application/json"]).status == 415)
            let mediaType = ["Content-Type": "application/cloudevents+json"]
            #expect(try await sender.post(body, mediaType).status == 400)
            let long = Self.event("e-2", "status", #"{"job":"j1","x":"\#(String(repeating: "x", count: 65_536))"}"#)
            #expect(try await sender.post(long, mediaType).status == 413)
        }
    }

    @Test func `the latest assignment wins, in whatever order and however often they arrive`() async throws {
        try await Self.run { sender in
            _ = try await sender.send(Self.created)
            func assigned(_ rider: String, _ second: Int) -> String {
                Self.event("a-\(second)", "assigned", #"{"job":"j1","rider":\#(rider)}"#, second: second)
            }
            for (event, outcome, holder) in [
                (assigned(#""rider-2""#, 10), "applied", "rider-2"),
                (assigned(#""rider-3""#, 30), "applied", "rider-3"),
                (assigned(#""rider-4""#, 20), "superseded", "rider-3"),
                (assigned(#""rider-2""#, 10), "superseded", "rider-3"),
                (assigned(#""rider-3""#, 40), "applied", "rider-3"), (assigned("null", 35), "superseded", "rider-3"),
                (assigned("null", 50), "applied", nil),
            ] as [(String, String, String?)] {
                let answer = try await sender.send(event)
                let now = try await sender.rider()
                #expect(answer.outcome == outcome && now == holder, "\(event) \(answer)")
            }
        }
    }

    @Test(arguments: ["PUT", "POST"])
    func `an assignment from before the job was created does not replace the rider given at creation`(method: String)
        async throws
    {
        try await Self.run { sender in
            let path = method == "PUT" ? "/api/v1/jobs/j1" : "/api/v1/jobs"
            let job = method == "PUT" ? "" : #""job":"j1","#
            let made = try await sender.gateway.rest(
                method, path, by: "orders", .service,
                "{\(job)" + #""kind":"delivery","customer":"anna","rider":"rider-1"}"#)
            #expect(made.status == 201, "\(made)")
            func assigned(_ rider: String, at seconds: Double) -> String {
                Self.event(
                    "a-\(rider)", "assigned", #"{"job":"j1","rider":"\#(rider)"}"#,
                    time: Date(timeIntervalSinceNow: seconds).ISO8601Format())
            }
            #expect(try await sender.send(assigned("rider-2", at: -600)).outcome == "superseded")
            #expect(try await sender.rider() == "rider-1")
            #expect(try await sender.send(assigned("rider-3", at: 5)).outcome == "applied")
            #expect(try await sender.rider() == "rider-3")
        }
    }

    @Test func `a job that was created without a rider gets one, even by an assignment from before`() async throws {
        try await Self.run { sender in
            let made = try await sender.gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service, #"{"job":"j1","kind":"delivery","customer":"anna"}"#)
            #expect(made.status == 201, "\(made)")
            let assigned = Self.event("a-1", "assigned", #"{"job":"j1","rider":"rider-2"}"#, second: 10)
            #expect(try await sender.send(assigned).outcome == "applied")
            #expect(try await sender.rider() == "rider-2")
        }
    }

    @Test func `a superseded event does not affect a rider who shares a location`() async throws {
        try await Self.run { sender in
            let gateway = sender.gateway
            let job = try await gateway.travellingJob("j1")
            let later = Date(timeIntervalSinceNow: 5).ISO8601Format()
            #expect(
                try await sender.send(
                    Self.event("a-1", "assigned", #"{"job":"j1","customer":"bert"}"#, time: later)
                ).outcome == "applied")
            let token = try await gateway.token("rider-1", .rider)
            let travel = try await JobRoutesTests.ask(gateway, "PUT", "/api/v1/jobs/j1/travel", as: token)
            #expect(travel.status == 200)
            let old = Self.event("a-2", "assigned", #"{"job":"j1","rider":"rider-9"}"#, second: 20)
            #expect(try await sender.send(old).outcome == "superseded")
            #expect(try await gateway.feed.read(job).get().isOpen)
        }
    }

    @Test func `a follower receives a status once, even if its event was sent a hundred times`() async throws {
        try await Self.run { sender in
            _ = try await sender.send(Self.created)
            try await sender.gateway.connect("anna", .customer) { connection, messages in
                try await connection.send(.subscribe(job: JobID("j1")!, since: nil))
                _ = try await messages.subscribed()
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<100 {
                        group.addTask { try await sender.send(Self.status("e-1", "accepted", second: 1)).status }
                    }
                    for try await status in group { #expect(status == 200) }
                }
                _ = try await sender.send(Self.status("e-2", "preparing", second: 2))
                for expected in [JobStatus.accepted, .preparing] {
                    let event = try await messages.first { if case .status(_, let event) = $0 { event } else { nil } }
                    #expect(event.status == expected)
                }
            }
        }
    }
}
