// Sends one event to one endpoint, once. Each webhook has its own connections, so a slow endpoint does not delay
// others, even on the same host. Connections are reused as long as the host has the same addresses.

package import LiveState
internal import OutboundHTTP
internal import Synchronization

/// Sends signed requests. Thread-safe.
package final class WebhookSender: Sendable {
    /// The result of one attempt.
    package enum Result: Sendable, Hashable {
        case delivered
        /// The endpoint responded with 410: it will never accept events again.
        case gone
        /// - Parameter reason: for people, without an address or a secret.
        case failed(reason: String)
    }

    private struct Pinned {
        var connections: OutboundConnections
        var addresses: Set<IPAddress>
        var until: ContinuousClock.Instant
    }

    /// The owner of connections. It includes the host, because connections are pinned to the addresses of one host.
    private struct Endpoint: Hashable {
        var webhook: String
        var host: String
        var isPlain: Bool
    }

    let settings: WebhookSettings
    private let pinned = Mutex<[Endpoint: Pinned]>([:])
    /// Maximum number of endpoints with connections. It is twice the number of webhooks, because the connections of a
    /// removed webhook are closed only when this number is exceeded.
    private static let maxEndpoints = 2 * WebhookStore.maxWebhooks

    package init(settings: WebhookSettings) { self.settings = settings }

    /// Sends an event to a webhook's endpoint once, and waits for the status of the response.
    ///
    /// - Parameter now: ms since the epoch.
    package func send(_ event: WaitingEvent, to webhook: Webhook, now: Int64) async -> Result {
        let url: EndpointURL
        do throws(EndpointURL.Invalid) {
            url = try EndpointURL(webhook.url, allowsPlainLoopback: self.settings.allowsPlainLoopback)
        } catch {
            return .failed(reason: "the URL \(error)")
        }
        let connections: OutboundConnections
        let start = ContinuousClock.now
        do throws(HostResolver.Failure) {
            connections = try await self.connections(
                to: Endpoint(webhook: webhook.id, host: url.host, isPlain: url.isPlain))
        } catch {
            return .failed(reason: "\(error)")
        }
        let timestamp = now / 1000
        let signature = WebhookSignature.header(
            id: event.id, timestamp: timestamp, body: event.body, secrets: webhook.secrets(at: now))
        let request = OutboundRequest(
            method: .post, url: url.description,
            headers: [
                "content-type": "application/cloudevents+json; charset=utf-8", "webhook-id": event.id,
                "webhook-timestamp": "\(timestamp)", "webhook-signature": signature,
            ], body: Array(event.body.utf8))
        do throws(OutboundFailure) {
            let left = max(.zero, self.settings.attemptLimit - (ContinuousClock.now - start))
            return Self.result(status: try await connections.status(of: request, within: left))
        } catch {
            switch error {
            case .tooLong(let status): return Self.result(status: status)
            case .late:
                return .failed(reason: "no response within \(self.settings.attemptLimit.components.seconds) s")
            case .unreachable(_, let reason): return .failed(reason: reason)
            case .cancelled: return .failed(reason: "the gateway stopped")
            }
        }
    }

    private static func result(status: Int) -> Result {
        switch status {
        case 200..<300: .delivered
        case 410: .gone
        case 300..<400: .failed(reason: "status \(status): redirects are not followed")
        default: .failed(reason: "status \(status)")
        }
    }

    /// The webhook's connections to the current addresses of the host. They are resolved and checked again once a minute.
    private func connections(to endpoint: Endpoint) async throws(HostResolver.Failure) -> OutboundConnections {
        let now = ContinuousClock.now
        if let known = self.pinned.withLock({ $0[endpoint] }), known.until > now { return known.connections }
        let addresses: [IPAddress]
        do throws(HostResolver.Failure) {
            addresses = try await self.settings.resolver.addresses(
                of: endpoint.host, within: self.settings.attemptLimit)
        } catch {
            // Connections to an address that the host no longer has must not be used.
            self.retire(self.pinned.withLock { $0.removeValue(forKey: endpoint) })
            throw error
        }
        let fresh = Pinned(
            connections: OutboundConnections(self.client(for: endpoint, at: addresses)), addresses: Set(addresses),
            until: now + WebhookSettings.addressLifetime)
        let (used, retired) = self.pinned.withLock { pinned -> (OutboundConnections, [Pinned]) in
            if let known = pinned[endpoint], known.addresses == fresh.addresses {
                pinned[endpoint]?.until = fresh.until
                return (known.connections, [])
            }
            var retired = [pinned.updateValue(fresh, forKey: endpoint)].compactMap { $0 }
            if pinned.count > Self.maxEndpoints, let oldest = pinned.min(by: { $0.value.until < $1.value.until }) {
                retired += [pinned.removeValue(forKey: oldest.key)].compactMap { $0 }
            }
            return (fresh.connections, retired)
        }
        retired.forEach { self.retire($0) }
        return used
    }

    private func client(for endpoint: Endpoint, at addresses: [IPAddress]) -> OutboundHTTP {
        // localhost is 127.0.0.1 and ::1, and a program under development may listen on either. Both are this machine.
        endpoint.isPlain
            ? self.settings.http.reusing(connections: WebhookSettings.connections)
            : self.settings.http.pinned(
                endpoint.host, to: addresses.map(\.description), connections: WebhookSettings.connections)
    }

    /// Closes connections once the requests on them have ended.
    private func retire(_ pinned: Pinned?) {
        guard let pinned else { return }
        Task {
            try? await Task.sleep(for: WebhookSettings.longestAttempt)
            await pinned.connections.shutdown()
        }
    }

    /// Closes all connections.
    package func shutdown() async {
        let all = self.pinned.withLock { pinned in
            defer { pinned = [:] }
            return pinned.values.map(\.connections)
        }
        for connections in all { await connections.shutdown() }
    }
}
