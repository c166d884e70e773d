import Access
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// B6: requests with an Idempotency-Key, over real sockets.
@Suite struct RepeatedRequestTests {
    private struct Ask: Sendable {
        let method: String
        let path: String
        let person: String
        let role: Role
        let body: String?

        init(_ method: String, _ path: String, _ person: String, _ role: Role, _ body: String? = nil) {
            (self.method, self.path, self.person, self.role, self.body) = (method, path, person, role, body)
        }
    }

    private static func key(_ name: String) -> String { "\(name)-0123456789-0123456789" }

    private static func send(
        _ ask: Ask, _ key: String, to gateway: RunningGateway, body: String? = nil
    ) async throws -> RESTResponse {
        try await gateway.rest(
            ask.method, ask.path, by: ask.person, ask.role, body ?? ask.body, headers: ["Idempotency-Key: \(key)"])
    }

    /// Every operation with an idempotency key, in an order in which each can succeed, and another body for it.
    private static let asks: [(ask: Ask, other: String)] = [
        (
            Ask("POST", "/api/v1/jobs", "orders", .service, #"{"job":"j-1","kind":"delivery","customer":"anna"}"#),
            #"{"job":"j-2","kind":"delivery","customer":"anna"}"#
        ),
        (
            Ask("PUT", "/api/v1/jobs/j-3", "orders", .service, #"{"kind":"service","customer":"anna"}"#),
            #"{"kind":"service","customer":"berta"}"#
        ),
        (
            Ask("PUT", "/api/v1/jobs/j-3/assignment", "orders", .service, #"{"rider":"rider-9"}"#),
            #"{"rider":"rider-8"}"#
        ),
        (
            Ask("PUT", "/api/v1/riders/rider-9", "orders", .service, #"{"zone":"rome","approved":true}"#),
            #"{"zone":"milan","approved":true}"#
        ),
        (
            Ask("POST", "/api/v1/jobs/j-1/status", "orders", .service, #"{"status":"accepted"}"#),
            #"{"status":"preparing"}"#
        ),
        (Ask("POST", "/api/v1/jobs/j-1/links", "anna", .customer), #"{"viewers":2}"#),
        (Ask("POST", "/api/v1/tickets", "anna", .customer), "{}"),
        (Ask("POST", "/api/v1/sign-ins", "anna", .customer), #"{"expiresInSeconds":60}"#),
        (
            Ask("PATCH", "/api/v1/riders/me/status", "rider-1", .rider, #"{"status":"online"}"#),
            #"{"status":"offline"}"#
        ),
        (
            Ask("PATCH", "/api/v1/riders/rider-1/status", "olga", .ops, #"{"status":"offline"}"#),
            #"{"status":"offline","reason":"late"}"#
        ),
    ]

    @Test func `B6: a repeated request gets the first response, and another request under its key is refused`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.rest(
                    "PUT", "/api/v1/riders/rider-1", by: "orders", .service, #"{"zone":"rome","approved":true}"#)
                for (index, (ask, other)) in Self.asks.enumerated() {
                    let key = Self.key("k-\(index)")
                    let first = try await Self.send(ask, key, to: gateway)
                    try #require((200...201).contains(first.status), "\(ask.path): \(first)")
                    // A change in between, so that the current state differs from the first response.
                    if ask.role == .rider {
                        _ = try await gateway.rest(ask.method, ask.path, by: "rider-1", .rider, other)
                    }
                    let again = try await Self.send(ask, key, to: gateway)
                    #expect(again.status == first.status && again.text == first.text, "\(ask.path): \(again)")
                    for header in ["etag", "content-type", "cache-control"] {
                        #expect(again.headers[header] == first.headers[header])
                    }
                    let reused = try await Self.send(ask, key, to: gateway, body: other)
                    #expect(reused.status == 422 && reused.member("code") == "idempotency_key_reused", "\(reused)")
                    let elsewhere = try await gateway.rest(
                        "POST", "/api/v1/jobs/j-1/task", by: ask.person, ask.role, ask.body,
                        headers: ["Idempotency-Key: \(key)"])
                    #expect(elsewhere.status == (ask.role == .rider ? 422 : 403), "\(elsewhere)")
                }
                let missing = try await gateway.rest("GET", "/api/v1/jobs/j-2", by: "orders", .service)
                #expect(missing.status == 404)
            }
        }
    }

    @Test func `B6: an idempotency key is scoped to one user in one role`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let key = Self.key("shared")
                let ask = Ask("POST", "/api/v1/tickets", "anna", .customer)
                let first = try await Self.send(ask, key, to: gateway)
                let other = try await Self.send(Ask("POST", ask.path, "anna", .rider), key, to: gateway)
                let another = try await Self.send(Ask("POST", ask.path, "berta", .customer), key, to: gateway)
                #expect(first.status == 201 && other.status == 201 && another.status == 201)
                #expect(Set([first, other, another].map(\.text)).count == 3)
            }
        }
    }

    @Test func `B6: of concurrent equal requests one is executed, and the others get its response or 409`() async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let body = #"{"job":"j-1","kind":"delivery","customer":"anna"}"#
                _ = try await gateway.rest("POST", "/api/v1/jobs", by: "orders", .service, body)
                let ask = Ask("POST", "/api/v1/jobs/j-1/links", "anna", .customer)
                let answers = try await withThrowingTaskGroup(of: RESTResponse.self) { group in
                    for _ in 0..<8 { group.addTask { try await Self.send(ask, Self.key("race"), to: gateway) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let made = answers.filter { $0.status == 201 }
                #expect(!made.isEmpty && Set(made.map(\.text)).count == 1)
                for answer in answers where answer.status != 201 {
                    #expect(answer.status == 409 && answer.member("code") == "request_in_progress", "\(answer)")
                    #expect(answer.headers["retry-after"] == "1" && answer.member("retryable") == true)
                }
                let links = try await gateway.client.send(["KEYS", "link:*"]).get().array
                #expect(links?.count == 1)
            }
        }
    }

    @Test func `B6: final responses are stored, and refusals and temporary errors are not`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let path = "/api/v1/jobs/j-1/status"
                let status = Ask("POST", path, "orders", .service, #"{"status":"accepted"}"#)
                let missing = try await Self.send(status, Self.key("early"), to: gateway)
                #expect(missing.status == 404)
                let invalid = try await Self.send(status, Self.key("typo"), to: gateway, body: #"{"status":"flying"}"#)
                #expect(invalid.status == 422 && invalid.member("code") == "unprocessable")
                _ = try await gateway.rest(
                    "POST", "/api/v1/jobs", by: "orders", .service,
                    #"{"job":"j-1","kind":"delivery","customer":"anna"}"#)
                // The stored response.
                let still = try await Self.send(status, Self.key("early"), to: gateway)
                #expect(still.status == 404 && still.text == missing.text)
                // Nothing was changed, so the key can be used for the corrected request.
                let corrected = try await Self.send(status, Self.key("typo"), to: gateway)
                #expect(corrected.status == 200)
                let stale = try await gateway.rest(
                    "POST", path, by: "orders", .service, #"{"status":"preparing"}"#,
                    headers: ["Idempotency-Key: \(Self.key("tag"))", "If-Match: \"1-1\""])
                #expect(stale.status == 412)
                let next = try await Self.send(
                    Ask("POST", path, "orders", .service, #"{"status":"preparing"}"#), Self.key("tag"), to: gateway)
                #expect(next.status == 200)
            }
        }
    }

    @Test func `B6: a repeated request finds the job that a crashed gateway has created`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let body = #"{"job":"j-1","kind":"delivery","customer":"anna"}"#
                let ask = Ask("POST", "/api/v1/jobs", "orders", .service, body)
                // The crashed gateway has claimed the key and created the job, but has not responded.
                let key = IdempotencyRecords.Key(Self.key("k"), of: PersonID("orders")!, role: "service")
                let records = IdempotencyRecords(writes: gateway.client, settings: gateway.settings.liveState)
                let question = Array("POST /api/v1/jobs\n\(body)".utf8)
                let first = try await records.claim(key, for: question, lasting: .milliseconds(1)).get()
                guard case .claimed(let claim) = first else { throw RedisError.unexpectedAnswer(command: "\(first)") }
                #expect(!claim.isRepeat)
                let new = NewJob(
                    job: JobID("j-1")!, kind: .delivery, customer: PersonID("anna")!, request: Self.key("k"),
                    actor: PersonID("orders")!)
                _ = try await gateway.ledger.create(new, epoch: "epoch-1").get()
                var answer = try await Self.send(ask, Self.key("k"), to: gateway)
                while answer.member("code") == "request_in_progress" {
                    try Task.checkCancellation()
                    answer = try await Self.send(ask, Self.key("k"), to: gateway)
                }
                #expect(answer.status == 201 && answer.member("job") == "j-1", "\(answer)")
                let other = try await Self.send(ask, Self.key("another"), to: gateway)
                #expect(other.status == 409 && other.member("code") == "conflict")
            }
        }
    }

    @Test func `B6: stored secrets and keys cannot be read in Redis, and a key that is easy to guess is refused`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let body = #"{"job":"j-1","kind":"delivery","customer":"anna"}"#
                _ = try await gateway.rest("POST", "/api/v1/jobs", by: "orders", .service, body)
                let ask = Ask("POST", "/api/v1/jobs/j-1/links", "anna", .customer)
                let weak = try await Self.send(ask, "k-1", to: gateway)
                #expect(weak.status == 400 && weak.text.contains("at least 20 random characters"), "\(weak)")
                let made = try await Self.send(ask, Self.key("secret"), to: gateway)
                let secret: String = try #require(made.member("link"))
                var texts: [String] = []
                for key in try await gateway.client.send(["KEYS", "*"]).get().array?.compactMap(\.text) ?? [] {
                    texts.append(key)
                    guard key.hasPrefix("idempotency:") else { continue }
                    let fields = try await gateway.client.send(["HGETALL", .text(key)]).get().array ?? []
                    texts += fields.map { String(decoding: $0.bytes ?? [], as: UTF8.self) }
                }
                #expect(texts.contains { $0.hasPrefix("idempotency:{") } && texts.contains("answer"))
                for text in texts { #expect(!text.contains(secret) && !text.contains(Self.key("secret"))) }
            }
        }
    }
}
