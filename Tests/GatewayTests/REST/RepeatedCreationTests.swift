import Access
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// A repeated `POST jobs` whose first attempt got no answer, because its gateway crashed.
@Suite struct RepeatedCreationTests {
    private static let job = JobID("j-1")!
    private static let service = PersonID("orders")!

    private static func post(_ body: String, key: String, to gateway: RunningGateway) async throws -> RESTResponse {
        try await gateway.rest(
            "POST", "/api/v1/jobs", by: Self.service.text, .service, body, headers: ["Idempotency-Key: \(key)"])
    }

    /// The gateway of this request crashed: its key is claimed, and was not released.
    private static func crash(_ body: String, key: String, _ gateway: RunningGateway) async throws {
        let records = IdempotencyRecords(writes: gateway.client, settings: gateway.settings.liveState)
        let claim = try await records.claim(
            IdempotencyRecords.Key(key, of: Self.service, role: "service"),
            for: Array("POST /api/v1/jobs\n\(body)".utf8), lasting: .milliseconds(1)
        ).get()
        guard case .claimed = claim else { throw RedisError.unexpectedAnswer(command: "\(claim)") }
    }

    /// The answer to the same request, as soon as the claim has expired.
    private static func again(_ body: String, key: String, to gateway: RunningGateway) async throws -> RESTResponse {
        var answer = try await Self.post(body, key: key, to: gateway)
        while answer.member("code") == "request_in_progress" {
            try Task.checkCancellation()
            answer = try await Self.post(body, key: key, to: gateway)
        }
        return answer
    }

    @Test func `B6: a repeated request does not claim the job that another request of its service created`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let lost = #"{"job":"j-1","kind":"delivery","customer":"bert"}"#
                try await Self.crash(lost, key: "key-2", gateway)
                let other = #"{"job":"j-1","kind":"delivery","customer":"anna"}"#
                #expect(try await Self.post(other, key: "key-1", to: gateway).status == 201)
                let answer = try await Self.again(lost, key: "key-2", to: gateway)
                #expect(answer.status == 409 && answer.member("code") == "conflict", "\(answer)")
                let log = try await gateway.rest("GET", "/api/v1/jobs/j-1/log", by: Self.service.text, .service)
                #expect(log.text.contains(#""request":"key-1""#), "\(log)")
            }
        }
    }

    @Test func `B6: a repeated request finds its job although the rider is offline by then`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let rider = PersonID("rider-1")!
                try await gateway.register(rider)
                let body = #"{"job":"j-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#
                try await Self.crash(body, key: "key-1", gateway)
                let new = NewJob(
                    job: Self.job, kind: .delivery, customer: PersonID("anna")!, rider: rider, request: "key-1",
                    actor: Self.service)
                _ = try await gateway.ledger.create(new, epoch: "epoch-1").get()
                let answer = try await Self.again(body, key: "key-1", to: gateway)
                #expect(answer.status == 201 && answer.member("epoch") == "epoch-1", "\(answer)")
            }
        }
    }

    private static let body = #"{"job":"j-1","kind":"delivery","customer":"anna"}"#

    /// Creates the job as the first attempt did, and stores its log as older gateways did: without the request.
    private static func createByOlderGateway(_ gateway: RunningGateway) async throws {
        let new = NewJob(
            job: Self.job, kind: .delivery, customer: PersonID("anna")!, request: "key-1", actor: Self.service)
        _ = try await gateway.ledger.create(new, epoch: "epoch-1").get()
        let log = "job:{j-1}:log"
        let entry = try #require(try await gateway.client.run("XRANGE", log, "-", "+").array?.first?.array)
        let items = (entry.last?.array ?? []).compactMap(\.text)
        #expect(items.suffix(2) == ["request", "key-1"])
        try await gateway.client.run("DEL", log)
        let words = ["XADD", log, try #require(entry.first?.text)] + items.dropLast(2)
        _ = try await gateway.client.send(RedisCommand(words.map { .text($0) })).get()
    }

    @Test func `a repeated request finds the job that an older gateway created`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.crash(Self.body, key: "key-1", gateway)
                try await Self.createByOlderGateway(gateway)
                let answer = try await Self.again(Self.body, key: "key-1", to: gateway)
                #expect(answer.status == 201 && answer.member("epoch") == "epoch-1", "\(answer)")
            }
        }
    }

    @Test func `a repeated request finds its job although its places would be refused by now`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let places = #""destination":{"lat":41.9,"lon":12.5},"vendor":{"lat":-33.9,"lon":151.2}"#
                let body = #"{"job":"j-1","kind":"delivery","customer":"anna",\#(places)}"#
                let new = try await Self.post(body, key: "key-1", to: gateway)
                #expect(new.status == 422, "\(new)")
                try await Self.crash(body, key: "key-2", gateway)
                let first = NewJob(
                    job: Self.job, kind: .delivery, customer: PersonID("anna")!, request: "key-2", actor: Self.service)
                _ = try await gateway.ledger.create(first, epoch: "epoch-1").get()
                let answer = try await Self.again(body, key: "key-2", to: gateway)
                #expect(answer.status == 201 && answer.member("epoch") == "epoch-1", "\(answer)")
                // Without a key, the service learns that the job exists.
                let plain = try await gateway.rest("POST", "/api/v1/jobs", by: Self.service.text, .service, body)
                #expect(plain.status == 409 && plain.member("code") == "conflict", "\(plain)")
            }
        }
    }

    @Test func `a repeated request does not claim the job that an event of its service created`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.crash(Self.body, key: "key-1", gateway)
                let new = NewJob(
                    job: Self.job, kind: .delivery, customer: PersonID("anna")!, actor: Self.service)
                _ = try await gateway.ledger.create(new, epoch: "epoch-1").get()
                let answer = try await Self.again(Self.body, key: "key-1", to: gateway)
                #expect(answer.status == 409 && answer.member("code") == "conflict", "\(answer)")
            }
        }
    }
}
