import Access
import EnrouteWire
import LiveState
import Logging
import Push
import Synchronization
import Telemetry
import TestSupport
import Testing
import Webhooks

/// What is checked before browsers are notified, and what happens to them while it cannot be checked.
@Suite struct PushCheckTests {
    private static let job = JobID("job-1")!
    private static let (anna, rider) = (PersonID("anna")!, PersonID("rider-1")!)

    /// The replies of the checks, in turn; `nil` means that Redis does not answer.
    private final class Replies<Value: Sendable>: Sendable {
        private struct NoReply: Error {}
        private let left: Mutex<[Value?]>

        init(_ replies: [Value?]) { self.left = Mutex(replies) }

        func next() throws -> Value {
            guard let reply = self.left.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                throw NoReply()
            }
            return reply
        }
    }

    /// Runs with one browser that waits.
    private static func run(
        customers: [PersonID??], access: [Bool?],
        _ change: @escaping @Sendable (inout PushSettings) -> Void = { _ in },
        _ body: @escaping @Sendable (PushService, PushSubscriptions, ProviderServer, SharedCounts) async throws -> Void
    ) async throws {
        try await LocalPushService.run { settings, server in
            var settings = settings
            change(&settings)
            try await withRedis { [settings] client, _ in
                let store = PushSubscriptions(live: client, settings: LiveStateSettings())
                try await Self.add(TestBrowser(), to: store, server)
                let (customers, access, counts) = (Replies(customers), Replies(access), SharedCounts())
                let checks = PushService.Checks(
                    hasStopsBefore: { _, _ in false }, customer: { _, _ in try customers.next() },
                    mayFollow: { _, _, _ in try access.next() })
                let push = PushService(
                    settings: settings, subscriptions: store, counts: counts, checks: checks,
                    logger: Logger(label: "test"))
                let running = Task { await push.run() }
                defer { running.cancel() }
                try await body(push, store, server, counts)
            }
        }
    }

    private static func add(
        _ browser: TestBrowser, to store: PushSubscriptions, _ server: ProviderServer
    ) async throws {
        let grant = Grant(person: anna, role: .customer, token: TokenIdentity(id: "t-1", issuedAt: 1_800_000_000))
        let subscription = PushSubscriptions.Subscription(
            endpoint: "https://push.invalid:\(server.port)/1", keys: .init(p256dh: browser.p256dh, auth: browser.auth))
        #expect(try await store.add(.init(subscription, by: grant), to: job, asOf: 1).get() == .added)
    }

    @Test(
        arguments: [
            // The ledger does not answer when the record or the access is read.
            ([nil, anna], [true]), ([anna, anna], [nil, true]),
            // The job has another rider for a moment, or revocations may be missing.
            ([.some(nil), anna], [true]),
        ] as [([PersonID??], [Bool?])])
    func `a browser whose access cannot be checked is notified when the rider is reported again`(
        customers: [PersonID??], access: [Bool?]
    ) async throws {
        try await Self.run(customers: customers, access: access) { push, store, server, counts in
            push.report(Self.job, Self.rider, 110)
            push.report(Self.job, Self.rider, 95)
            try await becomes("the browser is notified") { counts.values[.pushesSent] == 1 }
            #expect(server.questions.count == 1 && counts.values[.pushesRefused] == 0)
            #expect(try await !store.exist(for: Self.job).get())
        }
    }

    @Test func `a push service that cannot be reached gets no message for a while, and delays no other`() async throws {
        let lookups = Lookups()
        let local = [AddressRange("127.0.0.0/8")!]
        try await Self.run(customers: [Self.anna, Self.anna], access: [true, true]) {
            $0.resolver = HostResolver(rule: AddressRule(allowed: local)) { _ in
                lookups.count.withLock { $0 += 1 }
                // The service listens on 127.0.0.1 only.
                return [IPAddress("127.0.0.2")!]
            }
        } _: { push, store, server, counts in
            push.report(Self.job, Self.rider, 110)
            try await becomes("all attempts have failed") { counts.values[.pushesFailed] == 1 }
            #expect(lookups.count.withLock { $0 } == 3)
            try await Self.add(TestBrowser(), to: store, server)
            push.report(Self.job, Self.rider, 95)
            try await becomes("the next message fails") { counts.values[.pushesFailed] == 2 }
            #expect(lookups.count.withLock { $0 } == 3 && server.questions.isEmpty)
        }
    }

    private final class Lookups: Sendable {
        let count = Mutex(0)
    }

    @Test func `a browser is refused only when it is known that it has lost access`() async throws {
        try await Self.run(customers: [Self.anna, Self.anna], access: [nil, false]) { push, store, server, counts in
            push.report(Self.job, Self.rider, 110)
            try await becomes("a report finds that it has lost access") {
                guard try await store.exist(for: Self.job).get() else { return true }
                push.report(Self.job, Self.rider, 95)
                return false
            }
            try await becomes("it is refused") { counts.values[.pushesRefused] == 1 }
            #expect(server.questions.isEmpty && counts.values[.pushesSent] == 0)
        }
    }
}
