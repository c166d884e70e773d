import Foundation
import LiveState
import Synchronization
import TestSupport
import Testing
import Webhooks

/// One attempt to deliver an event. Requests that arrive are in Tests/Deploy/test_webhooks.py.
@Suite(.needsMachine(for: .faults)) struct WebhookSenderTests {
    private final class Resolutions: Sendable {
        let hosts = Mutex<[String]>([])
    }

    private static let event = WaitingEvent(
        LedgerEvent(id: "e.1.1", kind: .created, time: 1_763_856_000_000, subject: "job-7", data: "{}"))

    private static let thisMachine = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }

    private static func webhook(_ url: String, id: String = "wh_1") -> Webhook {
        Webhook(
            id: id, url: url, kinds: [],
            secrets: [.init(text: WebhookSignature.makeSecret(), expiresAt: 0)], createdAt: 1)
    }

    @Test func `I8: if a host gets another address meanwhile, the connection still goes to the one that was checked`()
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
            #expect(result == .failed(reason: "Connection refused"))
        }
        #expect(resolutions.hosts.withLock { $0 } == ["rebind.invalid"])
        await sender.shutdown()
    }

    @Test func `I8: no connection is opened to a host with a refused address`() async throws {
        var settings = try WebhookSettings()
        settings.resolver = HostResolver(rule: AddressRule()) { _ in [IPAddress("169.254.169.254")!] }
        let sender = WebhookSender(settings: settings)
        let result = await sender.send(Self.event, to: Self.webhook("https://meta.invalid/"), now: 1_000)
        // The reason contains no address, because it is shown to the person who added the endpoint.
        #expect(result == .failed(reason: "an address of the host is not public"))
    }

    /// Runs an endpoint on 127.0.0.1 whose name, `hooks.invalid`, no resolver knows: a request can only arrive through a
    /// checked address.
    private static func receiving(
        _ behaviour: @escaping ProviderServer.Behaviour, at addresses: [String] = ["127.0.0.1"],
        validity: TimeInterval = 3600, isTrusted: Bool = true,
        _ body: (WebhookSender, ProviderServer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-receiver-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let authority = try TestAuthority()
        let files = try authority.issue(
            .server(name: "hooks.invalid"), into: folder, as: "receiver", validity: validity)
        let trusted = isTrusted ? authority : try TestAuthority()
        var settings = try WebhookSettings(authorities: trusted.write(into: folder))
        // These tests are not about the time limit of an attempt, and all other tests run at the same time.
        settings.attemptLimit = longestSettling
        settings.resolver = HostResolver(rule: AddressRule(allowed: Self.thisMachine)) { _ in
            addresses.compactMap { IPAddress($0) }
        }
        let sender = WebhookSender(settings: settings)
        try await ProviderServer.running(behaviour, certificate: files) { try await body(sender, $0) }
        await sender.shutdown()
    }

    @Test func `I8: the request goes to the address that was checked, and the certificate must be the host's`()
        async throws
    {
        try await Self.receiving({ _ in .json("{}") }) { sender, receiver in
            let delivered = await sender.send(
                Self.event, to: Self.webhook("https://hooks.invalid:\(receiver.port)/in"), now: 1_000)
            #expect(delivered == .delivered)
            let other = await sender.send(
                Self.event, to: Self.webhook("https://other.invalid:\(receiver.port)/in"), now: 1_000)
            #expect(other == .failed(reason: "the server's certificate is not valid for the host"))
            #expect(receiver.questions.map(\.uri) == ["/in"])
            #expect(receiver.questions.first?.headers["host"] == ["hooks.invalid:\(receiver.port)"])
            #expect(receiver.questions.first?.headers["webhook-id"] == ["e.1.1"])
        }
    }

    @Test(arguments: [(-60, true), (3600, false)] as [(TimeInterval, Bool)])
    func `the reason for a failure is a certificate that has expired or is not trusted, and says what to check`(
        validity: TimeInterval, isTrusted: Bool
    ) async throws {
        try await Self.receiving({ _ in .json("{}") }, validity: validity, isTrusted: isTrusted) { sender, receiver in
            let result = await sender.send(
                Self.event, to: Self.webhook("https://hooks.invalid:\(receiver.port)/in"), now: 1_000)
            let reason =
                "the server's certificate has expired, is not valid yet, or is not signed by a trusted CA: check its "
                + "dates and its chain"
            #expect(result == .failed(reason: reason))
            #expect(receiver.questions.isEmpty)
        }
    }

    @Test(arguments: [["::1", "127.0.0.1"], ["127.0.0.2", "127.0.0.3", "127.0.0.1"]])
    func `an event goes to the first address of the host that accepts a connection, and so do the next ones`(
        addresses: [String]
    ) async throws {
        try await Self.receiving({ _ in .json("{}") }, at: addresses) { sender, receiver in
            for _ in 0..<2 {
                let result = await sender.send(
                    Self.event, to: Self.webhook("https://hooks.invalid:\(receiver.port)/in"), now: 1_000)
                #expect(result == .delivered)
            }
            #expect(receiver.questions.map(\.uri) == ["/in", "/in"] && receiver.connections == 1)
        }
    }

    @Test func `an event fails if no address of the host accepts a connection`() async throws {
        try await Self.receiving({ _ in .json("{}") }, at: ["127.0.0.2", "127.0.0.3"]) { sender, receiver in
            let result = await sender.send(
                Self.event, to: Self.webhook("https://hooks.invalid:\(receiver.port)/in"), now: 1_000)
            #expect(result == .failed(reason: "Connection refused"))
            #expect(receiver.questions.isEmpty)
        }
    }

    @Test func `for development, a program on this machine receives requests without TLS`() async throws {
        var settings = try WebhookSettings()
        settings.attemptLimit = longestSettling
        settings.allowsPlainLoopback = true
        // The program listens on 127.0.0.1 only.
        settings.resolver = HostResolver(rule: AddressRule(allowed: Self.thisMachine)) { _ in
            [IPAddress("::1")!, IPAddress("127.0.0.1")!]
        }
        let sender = WebhookSender(settings: settings)
        try await ProviderServer.running({ _ in .json("{}") }) { receiver in
            for host in ["localhost", "127.0.0.1"] {
                let webhook = Self.webhook("http://\(host):\(receiver.port)/in")
                #expect(await sender.send(Self.event, to: webhook, now: 1_000) == .delivered)
            }
            #expect(receiver.questions.map(\.uri) == ["/in", "/in"])
        }
        let other = await sender.send(Self.event, to: Self.webhook("http://shop.example/"), now: 1_000)
        #expect(other != .delivered)
        await sender.shutdown()
    }

    @Test func `the reason for a failure is an endpoint without TLS`() async throws {
        var settings = try WebhookSettings()
        settings.attemptLimit = longestSettling
        settings.resolver = HostResolver(rule: AddressRule(allowed: [AddressRange("127.0.0.1")!])) { _ in
            [IPAddress("127.0.0.1")!]
        }
        let sender = WebhookSender(settings: settings)
        try await ProviderServer.running({ _ in .json("{}") }) { receiver in
            let webhook = Self.webhook("https://hooks.invalid:\(receiver.port)/in")
            let result = await sender.send(Self.event, to: webhook, now: 1_000)
            #expect(result == .failed(reason: "the server does not use TLS on this port"))
        }
        await sender.shutdown()
    }

    @Test func `an endpoint that does not answer delays no other webhook of the same host`() async throws {
        try await Self.receiving({ $0.uri == "/hangs" ? .silence : .json("{}") }) { sender, receiver in
            let hanging = Self.webhook("https://hooks.invalid:\(receiver.port)/hangs")
            let working = Self.webhook("https://hooks.invalid:\(receiver.port)/works", id: "wh_2")
            func arrived() -> Int { receiver.questions.filter { $0.uri == "/hangs" }.count }
            try await withThrowingTaskGroup(of: Void.self) { group in
                // One more than may be under way at the same time.
                for _ in 0...WebhookSettings.connections {
                    group.addTask { _ = await sender.send(Self.event, to: hanging, now: 1_000) }
                }
                try await becomes("as many requests as allowed") { arrived() == WebhookSettings.connections }
                let result = await sender.send(Self.event, to: working, now: 1_000)
                #expect(result == .delivered)
                #expect(arrived() == WebhookSettings.connections)
                group.cancelAll()
            }
        }
    }

    @Test func `the status of a response counts, and its body may be slow or long`() async throws {
        let behaviour: ProviderServer.Behaviour = { question in
            switch question.uri {
            case "/slow": .stuck("begun")
            case "/slow-failure": .stuck("begun", status: 500)
            case "/slow-gone": .stuck("begun", status: 410)
            default: .bytes(WebhookSettings.longestAnswer + 1)
            }
        }
        try await Self.receiving(behaviour) { sender, receiver in
            func result(of path: String) async -> WebhookSender.Result {
                await sender.send(
                    Self.event, to: Self.webhook("https://hooks.invalid:\(receiver.port)\(path)"), now: 1_000)
            }
            #expect(await result(of: "/slow") == .delivered)
            #expect(await result(of: "/slow-failure") == .failed(reason: "status 500"))
            #expect(await result(of: "/slow-gone") == .gone)
            #expect(await result(of: "/long") == .delivered)
        }
    }

    @Test func `a connection is used again after a complete response, and closed after a slow one`() async throws {
        try await Self.receiving({ $0.uri == "/slow" ? .stuck("begun") : .json("{}") }) { sender, receiver in
            let (slow, usual) = (
                "https://hooks.invalid:\(receiver.port)/slow", "https://hooks.invalid:\(receiver.port)/in"
            )
            for _ in 0..<3 {
                #expect(await sender.send(Self.event, to: Self.webhook(usual), now: 1_000) == .delivered)
            }
            #expect(receiver.connections == 1)
            // One more than the connections that may be open: the last one waits until another one is closed.
            let results = await withTaskGroup(of: WebhookSender.Result.self) { group in
                for _ in 0...WebhookSettings.connections {
                    group.addTask { await sender.send(Self.event, to: Self.webhook(slow), now: 1_000) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results == Array(repeating: .delivered, count: WebhookSettings.connections + 1))
        }
    }

    @Test func `the resolution of the host counts for the time limit of an attempt`() async throws {
        var settings = try WebhookSettings()
        settings.attemptLimit = .milliseconds(50)
        settings.resolver = HostResolver(rule: AddressRule()) { _ in
            // Ends when it is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return []
        }
        let start = ContinuousClock.now
        let result = await WebhookSender(settings: settings)
            .send(Self.event, to: Self.webhook("https://slow.invalid/"), now: 1_000)
        #expect(result == .failed(reason: "the host name cannot be resolved in time"))
        #expect(ContinuousClock.now - start < longestSettling)
    }

    @Test func `a URL that only Redis could have changed is refused`() async throws {
        let sender = WebhookSender(settings: .usual)
        for url in ["http://shop.example/", "http://localhost/", "https://a@b.example/", "gopher://x", ""] {
            let result = await sender.send(Self.event, to: Self.webhook(url), now: 1_000)
            guard case .failed(let reason) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(reason.hasPrefix("the URL "))
        }
    }
}
