// Delivers events to webhooks. Every gateway runs one: each webhook is delivered by the gateway that holds its lease. When a
// gateway dies, another one gets its leases within 15 s.

package import LiveState
package import Logging
package import Telemetry

/// The webhooks of one gateway.
package struct WebhookService: Sendable {
    private let store: WebhookStore
    private let forwarder: EventForwarder
    private let sender: WebhookSender
    private let tail: StreamTail
    private let settings: WebhookSettings
    private let counts: SharedCounts
    private let holder: String
    private let logger: Logger

    /// How often the service looks for webhooks that no gateway delivers.
    static let interval: Duration = .seconds(1)
    /// How soon it tries again to get the lease of a webhook that another gateway has.
    static let leaseInterval: Duration = .seconds(3)

    /// - Parameter holder: unique among gateways, 1 to 64 of [A-Za-z0-9_-].
    package init(
        store: WebhookStore, settings: WebhookSettings, sender: WebhookSender, counts: SharedCounts, holder: String,
        logger: Logger
    ) {
        self.store = store
        self.forwarder = EventForwarder(store.streams, holder: holder)
        (self.settings, self.sender, self.counts, self.holder) = (settings, sender, counts, holder)
        self.tail = StreamTail(store.streams)
        self.logger = logger
    }

    /// Runs until the task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.forwarder.run() }
            let running = Running()
            while !Task.isCancelled {
                for id in ((try? await self.store.ids()) ?? []).shuffled() {
                    guard await running.start(id) else { continue }
                    group.addTask {
                        await self.deliver(id)
                        await running.stop(id)
                    }
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// The webhooks for which this gateway has a task.
    private actor Running {
        private var ids: Set<String> = []
        /// When to try again, for the webhooks that this gateway has tried.
        private var next: [String: ContinuousClock.Instant] = [:]

        func start(_ id: String) -> Bool {
            let now = ContinuousClock.now
            guard self.next[id] ?? now <= now, self.ids.insert(id).inserted else { return false }
            self.next = self.next.filter { $0.value > now }
            return true
        }

        func stop(_ id: String) {
            self.ids.remove(id)
            self.next[id] = .now + WebhookService.leaseInterval
        }
    }

    /// Delivers the events of a webhook if no other gateway does.
    private func deliver(_ id: String) async {
        let lease = self.store.lease(of: id, holder: self.holder)
        guard (try? await lease.hold()) == true else { return }
        let sender = self.sender
        let worker = EndpointWorker(
            id: id, holder: self.holder, store: self.store, tail: self.tail, settings: self.settings,
            counts: self.counts, logger: self.logger
        ) { event, webhook, now in await sender.send(event, to: webhook, now: now) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run() }
            group.addTask { await Self.renew(lease) }
            await group.next()
            group.cancelAll()
        }
        // This task may be cancelled, but the next gateway should not have to wait for the lease to expire.
        _ = await Task.detached { try? await lease.release() }.value
    }

    /// Renews a lease until it is lost, or may have expired because Redis does not answer.
    private static func renew(_ lease: Lease) async {
        let clock = ContinuousClock()
        var renewedAt = clock.now
        while !Task.isCancelled {
            try? await Task.sleep(for: Lease.renewal)
            let start = clock.now
            switch try? await lease.hold() {
            case true?: renewedAt = start
            case false?: return
            case nil: if clock.now - renewedAt > Lease.lifetime - Lease.renewal { return }
            }
        }
    }
}
