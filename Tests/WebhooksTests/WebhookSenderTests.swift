import LiveState
import Synchronization
import Testing
import Webhooks

/// One attempt to deliver an event. Requests that arrive are in Tests/Deploy/test_webhooks.py.
@Suite struct WebhookSenderTests {
    private final class Resolutions: Sendable {
        let hosts = Mutex<[String]>([])
    }

    private static let event = WaitingEvent(
        LedgerEvent(id: "e.1.1", kind: .created, time: 1_763_856_000_000, subject: "job-7", data: "{}"))

    private static func webhook(_ url: String) -> Webhook {
        Webhook(
            id: "wh_1", url: url, kinds: [],
            secrets: [.init(text: WebhookSignature.makeSecret(), expiresAt: 0)], createdAt: 1)
    }

    @Test func `I8: a host that gets another address meanwhile is still connected to at the one that was checked`()
        async throws
    {
        let resolutions = Resolutions()
        var settings = try WebhookSettings()
        // Rebinding: the first answer is allowed, and every further one is not.
        settings.resolver = HostResolver(rule: AddressRule(allowed: [AddressRange("127.0.0.1")!])) { host in
            let isFirst = resolutions.hosts.withLock { hosts in
                hosts.append(host)
                return hosts.count == 1
            }
            return [IPAddress(isFirst ? "127.0.0.1" : "169.254.169.254")!]
        }
        let sender = WebhookSender(settings: settings)
        for _ in 0..<3 {
            // Nothing listens on port 1 of loopback.
            let result = await sender.send(Self.event, to: Self.webhook("https://rebind.invalid:1/"), now: 1_000)
            guard case .failed(let reason) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(!reason.contains("not public") && !reason.contains("resolved"), "\(reason)")
        }
        #expect(resolutions.hosts.withLock { $0 } == ["rebind.invalid"])
        await sender.shutdown()
    }

    @Test func `I8: a host with a refused address is not connected to`() async throws {
        var settings = try WebhookSettings()
        settings.resolver = HostResolver(rule: AddressRule()) { _ in [IPAddress("169.254.169.254")!] }
        let sender = WebhookSender(settings: settings)
        let result = await sender.send(Self.event, to: Self.webhook("https://meta.invalid/"), now: 1_000)
        #expect(result == .failed(reason: "the address 169.254.169.254 is not public"))
    }

    @Test func `a URL that only Redis could have changed is refused`() async throws {
        let sender = WebhookSender(settings: .usual)
        for url in ["http://shop.example/", "https://a@b.example/", "gopher://x", ""] {
            let result = await sender.send(Self.event, to: Self.webhook(url), now: 1_000)
            guard case .failed(let reason) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(reason.hasPrefix("the URL "))
        }
    }
}
