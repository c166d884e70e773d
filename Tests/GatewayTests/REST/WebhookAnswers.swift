// The documented responses about webhooks, as a part of InterfaceAnswerTests.

import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import REST

extension InterfaceAnswerTests {
    static func useWebhooks(_ conversation: DocumentedClient) async throws {
        let add = try SampleRequest.good("addWebhook")
        let added = try await conversation.ask(201, add)
        for body in [
            "{}", #"{"url":"http://shop.example/"}"#, #"{"url":"https://169.254.169.254/latest"}"#,
            #"{"url":"https://127.0.0.1:1/","types":["enroute.job.sold"]}"#,
            #"{"url":"https://127.0.0.1:1/","types":null}"#,
        ] {
            try await conversation.ask(422, add.with { $0.body = body })
        }
        try await Self.whileInProgress(add, conversation)
        let id: String = try #require(added.member("id"))
        func of(_ operation: String) throws -> SampleRequest {
            try SampleRequest.good(operation).with { $0.path = $0.path.replacing("wh_1", with: id) }
        }
        let all = try await conversation.ask(200, try .good("readWebhooks"))
        #expect(all.text.contains(id) && !all.text.contains("whsec_"))
        let one = try await conversation.ask(200, try of("readWebhook"))
        #expect(!one.text.contains("whsec_"))
        let test = try await conversation.ask(200, try of("testWebhook"))
        #expect(test.text.contains(#""delivered":false"#))
        try await conversation.ask(200, try of("readUndelivered"))
        try await conversation.ask(200, try of("replayWebhook"))
        let rotate = try of("rotateWebhookSecret").with { $0.headers = [SampleRequest.key] }
        let rotated = try await conversation.ask(200, rotate)
        #expect(rotated.text.contains("previousSecretExpiresAt"))
        try await conversation.ask(422, rotate.with { $0.body = "{}" })
        try await conversation.ask(
            413, rotate.with { $0.body = String(repeating: " ", count: Routes.maxBodyBytes + 1) })
        try await Self.whileInProgress(try of("rotateWebhookSecret"), conversation, "in-progress-of-rotation")
        try await conversation.ask(204, try of("removeWebhook"))
        try await conversation.ask(404, try of("removeWebhook"))
    }

    /// The same request while another gateway is processing it.
    /// - Parameter text: the key. Each request of the same caller needs its own.
    static func whileInProgress(
        _ request: SampleRequest, _ conversation: DocumentedClient, _ text: String = "in-progress-0123456789"
    ) async throws {
        let gateway = conversation.gateway
        let key = IdempotencyRecords.Key(
            text, of: PersonID(request.person)!, role: try #require(request.role).rawValue)
        let question = Array("\(request.method) \(request.path)\n\(request.body ?? "")".utf8)
        let records = IdempotencyRecords(writes: gateway.client, settings: gateway.settings.liveState)
        _ = try await records.claim(key, for: question).get()
        let answer = try await conversation.ask(409, request.with { $0.headers = ["Idempotency-Key: \(text)"] })
        #expect(answer.member("code") == "request_in_progress" && answer.headers["retry-after"] == "1")
    }
}
