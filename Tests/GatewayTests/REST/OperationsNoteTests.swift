import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// `jobs/{job}/operations-note`: notes that dispatchers write about a job. Nobody else sees them.
@Suite struct OperationsNoteTests {
    private static let path = "/api/v1/jobs/order-1"
    private static let note = "/api/v1/jobs/order-1/operations-note"

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                let made = try await gateway.rest(
                    "POST", "/api/v1/jobs", by: "orders", .service,
                    #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
                #expect(made.status == 201, "\(made)")
                try await body(gateway)
            }
        }
    }

    @Test func `a dispatcher writes, reads and removes a note, and the audit names them without the text`() async throws
    {
        try await Self.run { gateway in
            let none = try await gateway.rest("GET", Self.note, by: "olga", .ops)
            #expect(none.status == 200 && none.text == #"{"job":"order-1"}"#, "\(none)")
            let text = #"{"text":"Gate is locked.\nRing twice."}"#
            let written = try await gateway.rest("PUT", Self.note, by: "olga", .ops, text)
            #expect(written.status == 200 && written.member("by") == "olga", "\(written)")
            let again = try await gateway.rest("PUT", Self.note, by: "otto", .ops, text)
            #expect(again.status == 200 && again.member("by") == "olga", "\(again)")
            let read = try await gateway.rest("GET", Self.note, by: "orders", .service)
            #expect(read.member("text") == "Gate is locked.\nRing twice.", "\(read)")
            #expect(try await gateway.rest("DELETE", Self.note, by: "otto", .ops).status == 204)
            #expect(try await gateway.rest("DELETE", Self.note, by: "otto", .ops).status == 204)
            let entries = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
            let noted = entries.compactMap { $0.array?.last?.array?.compactMap(\.text) }
                .filter { $0.starts(with: ["type", "operations_noted", "job", "order-1"]) }
            #expect(
                noted.map { Array($0[4...7]) } == [
                    ["change", "written", "actor", "olga"], ["change", "removed", "actor", "otto"],
                ])
            #expect(!noted.joined().contains { $0.contains("Gate") })
        }
    }

    @Test func `neither the customer nor the rider can see a note`() async throws {
        try await Self.run { gateway in
            let written = try await gateway.rest("PUT", Self.note, by: "olga", .ops, #"{"text":"Suspicious."}"#)
            #expect(written.status == 200)
            for (person, role) in [("anna", Role.customer), ("rider-1", .rider)] {
                #expect(try await gateway.rest("GET", Self.note, by: person, role).status == 403)
                for path in [Self.path, "\(Self.path)/log"] {
                    let shown = try await gateway.rest("GET", path, by: person, role)
                    #expect(shown.status == 200 && !shown.text.contains("Suspicious"), "\(shown)")
                }
            }
        }
    }

    @Test func `a note can be written after the end, and is erased with the job`() async throws {
        try await Self.run { gateway in
            let ended = try await gateway.rest(
                "POST", "\(Self.path)/status", by: "orders", .service, #"{"status":"cancelled"}"#)
            #expect(ended.status == 200)
            let body = #"{"text":"The shop was closed."}"#
            #expect(try await gateway.rest("PUT", Self.note, by: "olga", .ops, body).status == 200)
            #expect(try await gateway.rest("DELETE", Self.path, by: "orders", .service).status == 204)
            for (method, body) in [("GET", String?.none), ("PUT", body), ("DELETE", nil)] {
                #expect(try await gateway.rest(method, Self.note, by: "olga", .ops, body).status == 404)
            }
        }
    }

    @Test func `a note whose audit entry could not be written at once gets its entry later, with one for each change`()
        async throws
    {
        try await Self.run { gateway in
            _ = try await gateway.client.run("DEL", "audit")
            _ = try await gateway.client.run("SET", "audit", "not a stream")
            let notes = [
                (Self.note, "olga", Role.ops, #"{"text":"Gate is locked."}"#),
                ("\(Self.path)/note", "anna", .customer, #"{"note":"Ring twice."}"#),
            ]
            for (path, person, role, body) in notes {
                let failed = try await gateway.rest("PUT", path, by: person, role, body)
                #expect(failed.status >= 500, "\(failed)")
                let repeated = try await gateway.rest("PUT", path, by: person, role, body)
                #expect(repeated.status == 200, "\(repeated)")
            }
            _ = try await gateway.client.run("DEL", "audit")
            try await becomes("both entries are written") {
                let entries = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
                let types = entries.compactMap { $0.array?.last?.array?[1].text }
                return types.filter { $0.hasSuffix("noted") }.sorted() == ["noted", "operations_noted"]
            }
        }
    }

    @Test(arguments: [#"{"text":""}"#, #"{"text":"   "}"#, #"{"text":"a\u0007"}"#, "{}", #"{"text":7}"#])
    func `a text that is not a note is refused`(body: String) async throws {
        try await Self.run { gateway in
            let answer = try await gateway.rest("PUT", Self.note, by: "olga", .ops, body)
            #expect(answer.status == 422, "\(answer)")
            let long = #"{"text":"\#(String(repeating: "a", count: 501))"}"#
            #expect(try await gateway.rest("PUT", Self.note, by: "olga", .ops, long).status == 422)
        }
    }
}

extension InterfaceAnswerTests {
    /// Exercises the documented responses about notes.
    static func writeNote(_ conversation: DocumentedClient) async throws {
        let note = try SampleRequest.good("writeOperationsNote")
        try await conversation.ask(200, try .good("readOperationsNote"))
        try await conversation.ask(200, note)
        try await conversation.ask(422, note.with { $0.body = #"{"text":" "}"# })
        try await conversation.ask(200, try .good("readOperationsNote"))
        try await conversation.ask(204, try .good("removeOperationsNote"))
    }
}
