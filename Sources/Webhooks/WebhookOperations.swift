// The operations on webhooks that REST and `enroute webhooks` share.

internal import HTTPValues
package import LiveState

/// Adds, tests and removes webhooks, and delivers undelivered events again.
package struct WebhookOperations: Sendable {
    private let store: WebhookStore
    private let sender: WebhookSender

    /// How long the previous secret still signs after a rotation, so that receivers have time to change theirs.
    package static let rotationOverlap: Duration = .seconds(86_400)
    /// Maximum number of events that one call delivers again.
    package static let longestReplay = 1_000

    /// - Parameter sender: sends tests; its settings also decide where the endpoints of new webhooks may be.
    package init(store: WebhookStore, sender: WebhookSender) { (self.store, self.sender) = (store, sender) }

    /// Why a webhook cannot be added. A sentence for people.
    package struct Refusal: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// Adds a webhook, which receives the events from now on.
    ///
    /// - Parameters:
    ///   - types: the events that it receives; empty for all.
    ///   - secret: `nil` for a new one.
    /// - Throws: `Refusal`, or an error of Redis.
    package func add(url: String, types: [String], secret: String? = nil) async throws -> Webhook {
        let endpoint: EndpointURL
        do throws(EndpointURL.Invalid) {
            endpoint = try EndpointURL(url, allowsPlainLoopback: self.sender.settings.allowsPlainLoopback)
        } catch {
            throw Refusal(description: "The URL \(error)")
        }
        let kinds = try types.map { type in
            guard let kind = LedgerEvent.Kind(rawValue: type), kind != .test else {
                let known = LedgerEvent.Kind.allCases.filter { $0 != .test }.map(\.rawValue)
                throw Refusal(
                    description:
                        "There is no event type \(type.prefix(100)). The types are \(known.joined(separator: ", ")).")
            }
            return kind
        }
        if let secret, WebhookSignature.key(of: secret) == nil {
            throw Refusal(description: "The secret must be whsec_ and 24 to 64 bytes in base64.")
        }
        // A name that cannot be resolved now may be resolved later; an address that is refused is a mistake.
        do throws(HostResolver.Failure) {
            _ = try await self.sender.settings.resolver.addresses(of: endpoint.host)
        } catch {
            if case .refused = error {
                let advice =
                    self.sender.settings.allowsPlainLoopback
                    ? "A gateway for development sends only to this machine and to public addresses."
                    : "Operators can allow its network."
                throw Refusal(description: "The endpoint is refused: \(error). \(advice)")
            }
        }
        let webhook = Webhook(
            id: "wh_" + String(UInt64.random(in: .min ... .max), radix: 36), url: url, kinds: kinds,
            secrets: [.init(text: secret ?? WebhookSignature.makeSecret(), expiresAt: 0)],
            createdAt: WallClock.nowMilliseconds)
        guard try await self.store.add(webhook) else {
            throw Refusal(description: "There are \(WebhookStore.maxWebhooks) webhooks already. Remove one first.")
        }
        return webhook
    }

    package func all() async throws -> [Webhook] { try await self.store.all() }

    /// Reads a webhook.
    ///
    /// - Returns: `nil` when there is no such webhook.
    package func read(_ id: String) async throws -> Webhook? { try await self.store.read(id) }

    /// Removes a webhook with its waiting events.
    ///
    /// - Returns: whether it existed.
    package func remove(_ id: String) async throws -> Bool { try await self.store.remove(id) }

    /// Gives a webhook a new secret. Each previous secret keeps signing for a day after its replacement.
    ///
    /// - Parameter now: ms since the epoch.
    /// - Returns: the webhook with its new secret first; `nil` when there is no such webhook.
    package func rotate(_ id: String, now: Int64 = WallClock.nowMilliseconds) async throws -> Webhook? {
        try await self.store.rotate(
            id, to: WebhookSignature.makeSecret(), now: now, expires: now + Self.rotationOverlap.milliseconds)
    }

    /// Sends a test event once. If the endpoint accepts it, a webhook that was switched off is switched on again, and
    /// its waiting events become due immediately.
    ///
    /// - Returns: `nil` when there is no such webhook.
    package func test(_ id: String) async throws -> WebhookTest? {
        guard let webhook = try await self.store.read(id) else { return nil }
        let now = WallClock.nowMilliseconds
        let event = LedgerEvent(
            id: "test.\(String(UInt64.random(in: .min ... .max), radix: 36))", kind: .test, time: now, subject: id,
            data: "{}")
        let clock = ContinuousClock()
        let start = clock.now
        let result = await self.sender.send(WaitingEvent(event), to: webhook, now: now)
        var test = WebhookTest(delivered: true, milliseconds: (clock.now - start).milliseconds, reason: nil)
        switch result {
        case .delivered: guard try await self.store.switchOn(id, at: WallClock.nowMilliseconds) else { return nil }
        case .gone: (test.delivered, test.reason) = (false, "status 410")
        case .failed(let reason): (test.delivered, test.reason) = (false, reason)
        }
        return test
    }

    /// Events that could not be delivered, oldest first, at most a page.
    ///
    /// - Parameter entry: only those after this one.
    /// - Returns: also the number of all undelivered events; `nil` when there is no such webhook.
    package func undelivered(
        _ id: String, after entry: String?
    ) async throws -> (events: [WebhookStore.Dead], total: Int)? {
        guard let webhook = try await self.store.read(id) else { return nil }
        return (try await self.store.dead(id, after: entry ?? "0-0"), webhook.undelivered)
    }

    /// Delivers undelivered events again, at most `longestReplay`, oldest first.
    ///
    /// - Parameter eventID: only the event with this id; `nil` for all.
    /// - Returns: how many, how many are still undelivered, and whether the webhook is on; `nil` when there is no such
    ///   webhook.
    package func replay(
        _ id: String, only eventID: String? = nil
    ) async throws -> (count: Int, remaining: Int, isOn: Bool)? {
        guard try await self.store.read(id) != nil else { return nil }
        var (replayed, last) = (0, "0-0")
        while replayed < Self.longestReplay {
            let page = try await self.store.dead(id, after: last)
            for dead in page where eventID == nil || dead.event.id == eventID {
                guard replayed < Self.longestReplay else { break }
                if try await self.store.replay(dead, of: id, now: WallClock.nowMilliseconds) { replayed += 1 }
            }
            guard page.count == WebhookStore.page, let newest = page.last else { break }
            last = newest.entry
        }
        return try await self.store.read(id).map { (replayed, $0.undelivered, $0.isOn) }
    }
}

/// The result of a test.
package struct WebhookTest: Sendable, Hashable, Encodable {
    package var delivered: Bool
    package var milliseconds: Int64
    /// Why the endpoint did not accept the event.
    package var reason: String?
}

/// The result of a replay as REST and the command line show it.
package struct ReplayDocument: Sendable, Encodable {
    package var replayed: Int
    /// How many events are still undelivered.
    package var undelivered: Int

    package init(_ result: (count: Int, remaining: Int, isOn: Bool)) {
        (self.replayed, self.undelivered) = (result.count, result.remaining)
    }
}

/// A webhook as REST and the command line show it, without its secrets.
package struct WebhookDocument: Sendable, Encodable {
    package var id: String
    package var url: String
    /// Empty for all.
    package var types: [String]
    package var state: String
    package var offReason: String?
    package var createdAt: Int64
    package var deliveredAt: Int64?
    package var failingSince: Int64?
    package var lastError: String?
    package var waiting: Int
    package var undelivered: Int
    /// Only in the response to its creation or rotation.
    package var secret: String?
    package var previousSecretExpiresAt: Int64?

    package init(_ webhook: Webhook, withSecret: Bool = false) {
        self.id = webhook.id
        self.url = webhook.url
        self.types = webhook.kinds.map(\.rawValue)
        self.state = webhook.isOn ? "on" : "off"
        self.offReason = webhook.offReason.isEmpty ? nil : webhook.offReason
        (self.createdAt, self.deliveredAt) = (webhook.createdAt, webhook.deliveredAt)
        self.failingSince = webhook.failingSince
        self.lastError = webhook.lastError.isEmpty ? nil : webhook.lastError
        (self.waiting, self.undelivered) = (webhook.waiting, webhook.undelivered)
        self.secret = withSecret ? webhook.secrets.first?.text : nil
        self.previousSecretExpiresAt = withSecret ? webhook.secrets.dropFirst().first?.expiresAt : nil
    }
}

/// An undelivered event as REST and the command line show it.
package struct UndeliveredDocument: Sendable, Encodable {
    /// Its position in the list, to request the next page.
    package var entry: String
    package var id: String
    package var subject: String
    package var attempts: Int
    package var reason: String
    /// The body as it was sent.
    package var body: String

    package init(_ dead: WebhookStore.Dead) {
        (self.entry, self.id, self.subject) = (dead.entry, dead.event.id, dead.event.subject)
        (self.attempts, self.reason, self.body) = (dead.attempts, dead.reason, dead.event.body)
    }
}
