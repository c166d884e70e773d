// The webhooks of `enroute dev`: endpoints of an app under development. Most are on this machine and have no TLS, which
// `enroute serve` refuses.

import Gateway
import LiveState
import Logging
import NIOCore
import NIOPosix
import Realtime
import Redis
import Webhooks

/// An endpoint that receives events from a gateway for development.
struct DevWebhook: Codable, Equatable {
    let id: String
    let url: String
    /// Signs the requests to it.
    let secret: String

    /// Checks the form of a URL. Whether its address is allowed is checked when it is added.
    static func check(_ url: String) throws(EndpointURL.Invalid) {
        _ = try EndpointURL(url, allowsPlainLoopback: WebhookSettings.development.allowsPlainLoopback)
    }

    /// Adds endpoints to the gateway's ledger. Called before the gateway starts, so that they receive every event.
    ///
    /// - Parameter secret: signs the requests to all endpoints.
    /// - Throws: `WebhookOperations.Refusal` or `RedisError`.
    static func add(
        _ urls: [String], secret: String, to gateway: GatewaySettings, logger: Logger
    ) async throws -> [DevWebhook] {
        guard !urls.isEmpty else { return [] }
        let (ledger, loop) = (gateway.ledger, MultiThreadedEventLoopGroup.singleton.next())
        let client = try await loop.submit { RedisClient(address: ledger, eventLoop: loop, logger: logger) }.get()
        try await client.start().get()
        defer { client.stop() }
        let operations = WebhookOperations(
            store: WebhookStore(ledger: client, settings: gateway.liveState),
            sender: WebhookSender(settings: gateway.webhooks))
        var added: [DevWebhook] = []
        for url in urls {
            let webhook = try await operations.add(url: url, types: [], secret: secret)
            added.append(DevWebhook(id: webhook.id, url: url, secret: secret))
        }
        return added
    }
}

extension WebhookSettings {
    /// Endpoints may be on this machine. Developers start their receivers late and change them, so an event that is not
    /// accepted is sent again every two seconds, for an hour.
    static var development: WebhookSettings {
        var settings = WebhookSettings.usual
        settings.allowsPlainLoopback = true
        settings.resolver = HostResolver(
            rule: AddressRule(allowed: ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }))
        settings.retries = RetrySchedule(Array(repeating: .seconds(2), count: 1_800))
        return settings
    }
}
