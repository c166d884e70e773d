// Webhooks: endpoints of other systems that receive events.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Realtime
internal import Webhooks

extension Routes {
    func addWebhooks(to api: RouterGroup<GatewayRequestContext>) {
        api.get("webhooks", use: self.webhooks)
        api.post("webhooks", use: self.addWebhook)
        api.get("webhooks/{webhook}", use: self.webhook)
        api.delete("webhooks/{webhook}", use: self.removeWebhook)
        api.post("webhooks/{webhook}/secret", use: self.rotateWebhook)
        api.post("webhooks/{webhook}/test", use: self.testWebhook)
        api.get("webhooks/{webhook}/undelivered", use: self.undelivered)
        api.post("webhooks/{webhook}/replay", use: self.replayWebhook)
    }

    private struct WebhookBody: Decodable {
        private enum Member: String, CodingKey { case url, types }

        let url: String
        let types: [String]

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            self.url = try members.decode(String.self, forKey: .url)
            // As the interface description says, null is not an array.
            self.types = members.contains(.types) ? try members.decode([String].self, forKey: .types) : []
        }
    }

    private struct WebhookList: Encodable { var webhooks: [WebhookDocument] }
    private struct UndeliveredList: Encodable { var events: [UndeliveredDocument] }

    private var webhookOperations: WebhookOperations {
        WebhookOperations(store: self.services.webhooks, sender: self.shared.webhookSender)
    }

    @Sendable private func webhooks(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .readWebhooks)
        let all = try await self.changing { try await self.webhookOperations.all() }
        return try Self.json(WebhookList(webhooks: all.map { WebhookDocument($0) }))
    }

    @Sendable private func webhook(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .readWebhooks)
        let id = try Self.webhookID(context)
        let webhook = try await self.found { try await self.webhookOperations.read(id) }
        return try Self.json(WebhookDocument(webhook))
    }

    /// Only this response, and that of a rotation, contain the secret.
    @Sendable private func addWebhook(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .manageWebhooks)
        return try await self.executeOnce(request, context, by: grant, hasSecret: true) { request, _ in
            let body = try await self.body(WebhookBody.self, request, context)
            let webhook = try await self.changing {
                try await self.webhookOperations.add(url: body.url, types: body.types)
            }
            return try Self.json(WebhookDocument(webhook, withSecret: true), status: .created)
        }
    }

    @Sendable private func removeWebhook(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        _ = try self.grant(request, context, .manageWebhooks)
        let id = try Self.webhookID(context)
        _ = try await self.found { try await self.webhookOperations.remove(id) ? true : nil }
        return Response(status: .noContent)
    }

    @Sendable private func rotateWebhook(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .manageWebhooks)
        let id = try Self.webhookID(context)
        return try await self.executeOnce(request, context, by: grant, hasSecret: true) { _, _ in
            let webhook = try await self.found { try await self.webhookOperations.rotate(id) }
            return try Self.json(WebhookDocument(webhook, withSecret: true))
        }
    }

    @Sendable private func testWebhook(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .operateWebhooks)
        let id = try Self.webhookID(context)
        return try Self.json(try await self.found { try await self.webhookOperations.test(id) })
    }

    @Sendable private func undelivered(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .readWebhooks)
        let id = try Self.webhookID(context)
        let after = request.uri.queryParameters["after"].map { String($0) }
        guard after?.wholeMatch(of: /[0-9]{1,20}-[0-9]{1,20}/) != nil || after == nil else {
            throw Self.badRequest("after must be the entry of an undelivered event.")
        }
        let found = try await self.found { try await self.webhookOperations.undelivered(id, after: after) }
        return try Self.json(UndeliveredList(events: found.events.map { UndeliveredDocument($0) }))
    }

    @Sendable private func replayWebhook(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        _ = try self.grant(request, context, .operateWebhooks)
        let id = try Self.webhookID(context)
        let result = try await self.found { try await self.webhookOperations.replay(id) }
        return try Self.json(ReplayDocument(result))
    }

    private static func webhookID(_ context: GatewayRequestContext) throws -> String {
        let id: JobID = try Self.identifier(context.parameters.require("webhook"), "webhook")
        return id.text
    }

    /// - Throws: 404 if the result is `nil`.
    private func found<Value>(_ body: () async throws -> Value?) async throws -> Value {
        guard let value = try await self.changing(body) else {
            throw Problem(.notFound, status: 404, detail: "There is no such webhook.")
        }
        return value
    }

    /// Turns refusals and errors of Redis into problems.
    private func changing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let refusal as WebhookOperations.Refusal {
            throw Self.unprocessable(refusal.description)
        } catch {
            throw Problem(Refused(error))
        }
    }
}
