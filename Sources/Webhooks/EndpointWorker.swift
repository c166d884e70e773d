// Delivers the events of one webhook, while this gateway holds its lease. Events of one job or rider are delivered in order: if
// one cannot be delivered, those after it wait. Different jobs and riders do not wait for each other.
//
// A place in the stream is stored only after every event before it has been delivered, waits in Redis, or was given up. So a
// gateway that dies loses nothing; the next one repeats what was not stored.

internal import HTTPValues
internal import LiveState
internal import Logging
internal import Telemetry

/// The delivery to one endpoint by one gateway.
actor EndpointWorker {
    private let id: String
    private let holder: String
    private let store: WebhookStore
    private let sender: WebhookSender
    private let settings: WebhookSettings
    private let counts: WebhookCounts
    private let logger: Logger

    private var health = EndpointHealth(failingSince: nil)
    /// Jobs and riders with waiting events. New ones wait behind them.
    private var blocked: Set<String> = []
    private var isFirstRead = true
    private var isOver = false

    /// How long a worker pauses when nothing is left to do.
    static let pause: Duration = .milliseconds(200)
    /// How long it pauses after each round while the endpoint fails.
    static let probePause: Duration = .seconds(1)
    /// How long it pauses when Redis is unavailable, or as many events wait as may.
    static let longPause: Duration = .seconds(2)
    /// Maximum number of jobs and riders whose waiting events are tried in one round.
    private static let subjectsPerRound = 64
    /// The same while the endpoint fails: to find out whether it works again.
    private static let probesPerRound = 4

    init(
        id: String, holder: String, store: WebhookStore, sender: WebhookSender, settings: WebhookSettings,
        counts: WebhookCounts, logger: Logger
    ) {
        (self.id, self.holder, self.store, self.sender) = (id, holder, store, sender)
        (self.settings, self.counts, self.logger) = (settings, counts, logger)
    }

    /// Delivers until the task is cancelled, the lease is lost, or the webhook is switched off or removed.
    func run() async {
        while !Task.isCancelled, !self.isOver {
            do {
                guard let webhook = try await self.store.read(self.id), webhook.isOn else { return }
                if self.isFirstRead {
                    self.health = EndpointHealth(failingSince: webhook.failingSince)
                    self.blocked = try await self.store.waitingSubjects(self.id)
                }
                let didTry = try await self.tryWaiting(webhook)
                let didRead = try await self.readStream(webhook)
                self.isFirstRead = false
                if self.health.isFailing {
                    try await Task.sleep(for: Self.probePause)
                } else if !didTry, !didRead {
                    try await Task.sleep(for: Self.pause)
                }
            } catch is WebhookStore.NotHeld {
                return
            } catch is CancellationError {
                return
            } catch {
                // Redis is unavailable, or as many events wait as may.
                try? await Task.sleep(for: Self.longPause)
            }
        }
    }

    /// As many events wait as may.
    private struct Full: Error {}

    // MARK: events that wait

    private func tryWaiting(_ webhook: Webhook) async throws -> Bool {
        let most = self.health.isFailing ? Self.probesPerRound : Self.subjectsPerRound
        let subjects = try await self.store.due(self.id, before: WallClock.nowMilliseconds, most: most)
        self.blocked.formUnion(subjects)
        try await self.forEach(subjects) { subject in try await self.tryWaiting(of: subject, webhook) }
        return !subjects.isEmpty
    }

    /// Delivers the waiting events of a job or rider until one fails.
    private func tryWaiting(of subject: String, _ webhook: Webhook) async throws {
        while !Task.isCancelled, !self.isOver {
            guard let (event, failures) = try await self.store.first(subject, of: self.id) else {
                self.blocked.remove(subject)
                return
            }
            let result = await self.attempt(event, webhook)
            guard !Task.isCancelled, !self.isOver else { return }
            let now = WallClock.nowMilliseconds
            guard case .failed(let reason) = result else {
                let left = try await self.settle(event, .delivered, due: now, "")
                if left == 0 {
                    self.blocked.remove(subject)
                    return
                }
                continue
            }
            if let delay = self.settings.retries.delay(afterFailures: failures + 1) {
                _ = try await self.settle(event, .retry, due: now + delay.milliseconds, reason)
            } else {
                self.counts.add(.webhooksGivenUp)
                let left = try await self.settle(event, .dead, due: now, reason)
                if left == 0 { self.blocked.remove(subject) }
            }
            return
        }
    }

    private func settle(
        _ event: WaitingEvent, _ outcome: WebhookStore.Outcome, due: Int64, _ reason: String
    ) async throws -> Int? {
        try await self.store.settle(event, for: self.id, outcome, due: due, reason: reason, by: self.holder)
    }

    // MARK: new events

    private func readStream(_ webhook: Webhook) async throws -> Bool {
        let streams = self.store.streams
        let pages = try await withThrowingTaskGroup(of: (Int, [EventStreams.Entry]).self) { group in
            for shard in 0..<Keyspace.eventShards {
                let cursor = webhook.cursors[shard] ?? "0-0"
                group.addTask { (shard, try await streams.read(shard: shard, after: cursor)) }
            }
            var pages: [Int: [EventStreams.Entry]] = [:]
            for try await (shard, page) in group { pages[shard] = page }
            return pages
        }
        var events: [String: [LedgerEvent]] = [:]
        for (shard, page) in pages where !page.isEmpty {
            if self.isFirstRead || page.count == EventStreams.page {
                try await self.reportGap(shard, after: webhook.cursors[shard] ?? "0-0")
            }
            for case let event? in page.map(\.event) where webhook.receives(event.kind) {
                events[event.subject, default: []].append(event)
            }
        }
        let subjects = events
        try await self.forEach(Array(subjects.keys)) { subject in
            try await self.deliver(subjects[subject] ?? [], webhook)
        }
        guard !Task.isCancelled, !self.isOver else { throw CancellationError() }
        for (shard, page) in pages {
            guard let last = page.last else { continue }
            try await self.store.note(.cursor(shard: shard, last.id), about: self.id, by: self.holder)
        }
        return pages.values.contains { !$0.isEmpty }
    }

    /// Reports that the stream no longer holds the place where reading should continue: events were trimmed unread.
    private func reportGap(_ shard: Int, after cursor: String) async throws {
        guard cursor != "0-0", let oldest = try await self.store.streams.oldest(shard: shard),
            Self.isBefore(cursor, oldest)
        else { return }
        self.counts.add(.webhookGaps)
        self.logger.error(
            "events left the stream before they were delivered; compare the jobs with those of the receiver",
            metadata: [LogKey.webhook: "\(self.id)", LogKey.key: "\(shard)"])
    }

    /// Whether one id of a stream is smaller than another.
    private static func isBefore(_ one: String, _ other: String) -> Bool {
        func parts(_ id: String) -> [UInt64] { id.split(separator: "-").map { UInt64($0) ?? 0 } }
        return parts(one).lexicographicallyPrecedes(parts(other))
    }

    /// Delivers the new events of a job or rider. From the first that fails on, they wait.
    private func deliver(_ events: [LedgerEvent], _ webhook: Webhook) async throws {
        for event in events.map({ WaitingEvent($0) }) {
            guard !Task.isCancelled, !self.isOver else { return }
            var failures = 0
            if !self.blocked.contains(event.subject), !self.health.isFailing {
                guard case .failed = await self.attempt(event, webhook) else { continue }
                guard !Task.isCancelled, !self.isOver else { return }
                failures = 1
            }
            let delay = self.settings.retries.delay(afterFailures: 1) ?? .zero
            self.blocked.insert(event.subject)
            let waits = try await self.store.park(
                event, for: self.id, attempts: failures, due: WallClock.nowMilliseconds + delay.milliseconds,
                by: self.holder)
            guard waits else { throw Full() }
        }
    }

    // MARK: attempts

    private func attempt(_ event: WaitingEvent, _ webhook: Webhook) async -> WebhookSender.Result {
        let result = await self.sender.send(event, to: webhook, now: WallClock.nowMilliseconds)
        guard !Task.isCancelled else { return result }
        let now = WallClock.nowMilliseconds
        switch result {
        case .delivered:
            self.counts.add(.webhooksDelivered)
            let wasFailing = self.health.failingSince != nil
            if self.health.succeeded(at: now) { await self.note(.delivered(at: now)) }
            if wasFailing { self.logger.notice("webhook works again", metadata: [LogKey.webhook: "\(self.id)"]) }
        case .gone:
            self.counts.add(.webhooksFailed)
            await self.switchOff("the endpoint answered 410 Gone")
        case .failed(let reason):
            self.counts.add(.webhooksFailed)
            let isNews = self.health.failingSince == nil
            if self.health.failed(at: now), let since = self.health.failingSince {
                await self.note(.failing(since: since, error: reason))
            }
            if isNews {
                self.logger.warning(
                    "webhook delivery failed; it is retried",
                    metadata: [LogKey.webhook: "\(self.id)", LogKey.reason: "\(reason)"])
            }
            if self.health.isHopeless(at: now, limit: self.settings.offAfter) {
                await self.switchOff("no delivery has succeeded for \(self.settings.offAfter.components.seconds) s")
            }
        }
        return result
    }

    /// Stops the delivery. Events that wait stay, and further ones stay in the stream.
    private func switchOff(_ reason: String) async {
        guard !self.isOver else { return }
        self.isOver = true
        self.counts.add(.webhooksSwitchedOff)
        self.logger.error(
            "webhook switched off; repair the endpoint, then switch it on with a successful test",
            metadata: [LogKey.webhook: "\(self.id)", LogKey.reason: "\(reason)"])
        await self.note(.off(reason: reason))
    }

    /// Stores a fact. If that fails, a later one says the same.
    private func note(_ note: WebhookStore.Note) async {
        try? await self.store.note(note, about: self.id, by: self.holder)
    }

    /// Does something for each subject, for several at the same time.
    private func forEach(
        _ subjects: [String], _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, subject) in subjects.enumerated() {
                if index >= WebhookSettings.connections { try await group.next() }
                group.addTask { try await body(subject) }
            }
            try await group.waitForAll()
        }
    }
}
