import Access
import EnrouteWire
import Events
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Changes that no replica has confirmed, and their repetitions.
@Suite struct UnconfirmedRepetitionTests {
    private struct Change: CustomTestStringConvertible {
        var method: String
        var path: String
        var person = "orders"
        var role = Role.service
        var body: String?

        var testDescription: String { "\(self.method) \(self.path)" }
    }

    /// In this order: most change the job of the first one.
    private static let changes = [
        Change(method: "POST", path: "jobs", body: #"{"job":"j1","kind":"delivery","customer":"anna"}"#),
        Change(method: "PUT", path: "jobs/j2", body: #"{"kind":"delivery","customer":"anna"}"#),
        Change(method: "PUT", path: "jobs/j1", body: #"{"kind":"delivery","display":{"orderNumber":"9"}}"#),
        Change(method: "PUT", path: "jobs/j1/assignment", body: #"{"rider":"rider-1"}"#),
        Change(method: "PUT", path: "jobs/j1/note", person: "anna", role: .customer, body: #"{"note":"Gate code 42"}"#),
        Change(
            method: "PUT", path: "jobs/j1/operations-note", person: "ops-1", role: .ops,
            body: #"{"text":"Ring twice."}"#),
        Change(method: "DELETE", path: "jobs/j1/operations-note", person: "ops-1", role: .ops),
        Change(method: "POST", path: "jobs/j1/status", body: #"{"status":"accepted"}"#),
        Change(
            method: "POST", path: "jobs/j1/corrections", person: "ops-1", role: .ops,
            body: #"{"status":"preparing","reason":"mistake"}"#),
        Change(method: "DELETE", path: "jobs/j1/assignment"),
        Change(method: "DELETE", path: "jobs/j1"),
    ]

    /// Runs a gateway that needs one replica, and has none.
    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.redisTiming.quorum = .count(1)
                settings.redisTiming.replication = .milliseconds(20)
                change(&settings)
            } _: { gateway in
                try await body(gateway)
            }
        }
    }

    @Test func `a repeated request is answered with 202 as long as no replica has its change`() async throws {
        try await Self.run { gateway in
            for (index, change) in Self.changes.enumerated() {
                for attempt in 1...3 {
                    let answer = try await gateway.rest(
                        change.method, "/api/v1/\(change.path)", by: change.person, change.role, change.body,
                        headers: ["Idempotency-Key: key-\(index)"])
                    #expect(answer.status == 202, "\(change.testDescription), attempt \(attempt): \(answer)")
                    #expect(answer.headers["enroute-durability"] == "unknown")
                }
            }
        }
    }

    @Test func `the erasure of a job that never existed is answered with 404 although there is no replica`()
        async throws
    {
        try await Self.run { gateway in
            let answer = try await gateway.rest("DELETE", "/api/v1/jobs/j3", by: "orders", .service)
            #expect(answer.status == 404, "\(answer)")
        }
    }

    @Test func `a repeated event is answered with 202 as long as no replica has its change`() async throws {
        try await Self.run { gateway in
            let sender = EventRoutesTests.Sender(gateway: gateway, token: try await gateway.token("orders", .service))
            let events = [
                EventRoutesTests.created,
                EventRoutesTests.event("e-1", "assigned", #"{"job":"j1","rider":"rider-2"}"#, second: 1),
                EventRoutesTests.status("e-2", "accepted", second: 2),
            ]
            for event in events {
                for attempt in 1...3 {
                    let answer = try await sender.send(event)
                    #expect(answer.outcome == "applied" && answer.status == 202, "attempt \(attempt): \(answer)")
                }
            }
        }
    }

    @Test func `a queue message stays in the queue as long as no replica has its change`() async throws {
        let behaviour = try QueueLogTests.delivering([EventRoutesTests.created])
        try await ProviderServer.running(behaviour) { server in
            let queue = try EventQueue(
                url: "\(server.url)/123456789012/orders", region: "eu-central-1",
                credentials: .init(keyID: "test", secret: "test"))
            try await Self.run {
                $0.queue = queue
            } _: { gateway in
                try await becomes("the message is returned") {
                    server.questions.contains {
                        $0.headers["x-amz-target"] == ["AmazonSQS.ChangeMessageVisibility"]
                            && String(decoding: $0.body, as: UTF8.self).contains(
                                #""VisibilityTimeout":\#(QueueConsumer.outageDelay)"#)
                    }
                }
                #expect(!server.questions.contains { $0.headers["x-amz-target"] == ["AmazonSQS.DeleteMessage"] })
                #expect(try await gateway.ledger.recover(JobID("j1")!).get() != nil)
            }
        }
    }
}
