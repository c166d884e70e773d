// Delivers the events of one webhook, while this gateway holds its lease. Events of one job or rider are delivered in order: if
// one cannot be delivered, those after it wait. Different jobs and riders do not wait for each other.
//
// One loop reads the stream, a page at a time; another one tries events that wait in Redis. Both start lanes (DeliveryLanes),
// one for each job or rider. New events that are not delivered within the patience are moved to the waiting list, and
// reading continues. A cursor of the stream is stored only after every event before it has been delivered, waits in
// Redis, or was given up. So a gateway that dies loses nothing; the next one continues at the stored cursor.

internal import HTTPValues
package import LiveState
package import Logging
internal import Redis
package import Telemetry

/// The delivery to one endpoint by one gateway. EndpointReading.swift reads the stream, EndpointNewEvents.swift passes what was
/// read to lanes or to the waiting list, and EndpointAttempts.swift delivers.
package actor EndpointWorker {
    /// Sends an event to a webhook once.
    ///
    /// - Parameter now: ms since the epoch.
    package typealias Attempt =
        @Sendable (_ event: WaitingEvent, _ webhook: Webhook, _ now: Int64) async -> WebhookSender.Result

    let id: String
    let holder: String
    let store: WebhookStore
    let tail: StreamTail
    let send: Attempt
    let settings: WebhookSettings
    let counts: SharedCounts
    let logger: Logger

    var health = EndpointHealth(failingSince: nil)
    var lanes = DeliveryLanes()
    /// Jobs and riders with waiting events. New ones wait behind them.
    var blocked: Set<String> = []
    /// The record as last read.
    var webhook: Webhook?
    private var recordReadAt = ContinuousClock.now
    var cursors: [Int: String] = [:]
    /// The ids of the last events before each cursor, by shard.
    var recent: [Int: ArraySlice<String>] = [:]
    /// Cursors after which a gap was reported, by shard.
    var reportedGaps: [Int: String] = [:]
    var isFirstRead = true
    var isOver = false
    /// Whether a failure of Redis was logged and has not ended.
    var hasTrouble = false
    /// When the waiting list was last found full, and how often.
    var fullSince: Int64?
    private var fullNotedAt: Int64 = 0
    var fullCount = 0
    /// The tasks of running lanes.
    var tasks: [String: Task<Void, Never>] = [:]
    /// Moves of new events to the waiting list.
    var moves: [String: Task<Void, any Error>] = [:]
    private var waiters: [Int: (change: Change, continuation: CheckedContinuation<Void, Never>)] = [:]
    private var lastWaiter = 0

    /// How long a worker pauses when there is nothing new in the stream.
    static let pause: Duration = StreamTail.interval
    /// How long it pauses when no waiting event is due, and between attempts while the endpoint fails.
    static let longPause: Duration = .seconds(1)
    /// How long it pauses when Redis is unavailable, or when the waiting list is full.
    static let outagePause: Duration = .seconds(2)
    /// How old its knowledge of the webhook's record may be.
    static let recordAge: Duration = .seconds(1)
    /// Minimum time between two notes in Redis that the waiting list is full, ms.
    private static let fullNoteInterval: Int64 = 10_000
    /// Maximum number of recent ids of a shard.
    static let maxRecent = EventStreams.page

    package init(
        id: String, holder: String, store: WebhookStore, tail: StreamTail, settings: WebhookSettings,
        counts: SharedCounts, logger: Logger, send: @escaping Attempt
    ) {
        (self.id, self.holder, self.store, self.tail, self.send) = (id, holder, store, tail, send)
        (self.settings, self.counts, self.logger) = (settings, counts, logger)
    }

    /// Delivers until the task is cancelled, the lease is lost, or the webhook is switched off or removed.
    package func run() async {
        await withTaskCancellationHandler {
            guard await self.begin() else { return }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.repeating { try await self.readStream() } }
                group.addTask { await self.repeating { try await self.tryWaiting() } }
                await group.next()
                group.cancelAll()
            }
        } onCancel: {
            Task { await self.stop() }
        }
        self.stop()
        for task in self.tasks.values { await task.value }
        for move in self.moves.values { _ = await move.result }
        await self.report(self.health.unreported)
    }

    /// Ends both loops and all lanes.
    func stop() {
        self.isOver = true
        for task in self.tasks.values { task.cancel() }
        for move in self.moves.values { move.cancel() }
        for number in self.waiters.keys { self.resume(number) }
    }

    var isGoing: Bool { !self.isOver && !Task.isCancelled }

    private func begin() async -> Bool {
        while self.isGoing {
            do {
                guard let webhook = try await self.store.read(self.id), webhook.isOn else { return false }
                self.blocked = try await self.store.waitingSubjects(self.id)
                self.health = EndpointHealth(
                    failingSince: webhook.failingSince, failedAt: webhook.failedAt,
                    longestBreak: self.settings.longestBreak)
                (self.webhook, self.recordReadAt, self.cursors) = (webhook, .now, webhook.cursors)
                return true
            } catch {
                await self.reportTrouble(error)
            }
        }
        return false
    }

    private func repeating(_ round: @Sendable () async throws -> Void) async {
        while self.isGoing {
            do {
                try await round()
            } catch is WebhookStore.NotHeld {
                break
            } catch is CancellationError {
                break
            } catch {
                await self.reportTrouble(error)
            }
        }
        self.stop()
    }

    /// The webhook's record, at most a second old.
    ///
    /// - Throws: `NotHeld` when it was removed or switched off.
    func record() async throws -> Webhook {
        if let webhook, ContinuousClock.now - self.recordReadAt < Self.recordAge { return webhook }
        guard let fresh = try await self.store.read(self.id), fresh.isOn else { throw WebhookStore.NotHeld() }
        (self.webhook, self.recordReadAt) = (fresh, .now)
        return fresh
    }

    // MARK: failures of Redis, and a full waiting list

    /// Repeats an operation until Redis has done it: waits during an outage, and removes malformed data of a job or
    /// rider.
    func persist<Value: Sendable>(
        of subject: String?, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        while true {
            guard self.isGoing else { throw CancellationError() }
            do {
                return try await body()
            } catch let error as RedisError {
                if error.isMalformedData, let subject,
                    (try? await self.store.drop(subject, of: self.id, by: self.holder)) == true
                {
                    continue
                }
                await self.reportTrouble(error)
            }
        }
    }

    /// Logs the first of several failures, and pauses.
    func reportTrouble(_ error: any Error) async {
        if !self.hasTrouble {
            self.hasTrouble = true
            self.logger.warning(
                "webhook delivery is delayed: a command to the ledger failed and is repeated",
                metadata: [LogKey.webhook: "\(self.id)", LogKey.reason: "\(error)"])
        }
        try? await Task.sleep(for: Self.outagePause)
    }

    /// The value of `lastError` while the waiting list is full.
    var fullReason: String? {
        self.fullSince.map { _ in "\(WebhookStore.maxWaiting) events are waiting; newer ones stay in the stream" }
    }

    func reportFull() async {
        let now = WallClock.nowMilliseconds
        self.fullCount += 1
        if self.fullSince == nil {
            self.fullSince = now
            self.counts.add(.webhooksFull)
            self.logger.warning(
                "waiting list of the webhook is full; newer events stay in the stream",
                metadata: [LogKey.webhook: "\(self.id)", LogKey.count: "\(WebhookStore.maxWaiting)"])
        }
        guard now - self.fullNotedAt >= Self.fullNoteInterval, let reason = self.fullReason else { return }
        self.fullNotedAt = now
        await self.note(.delayed(reason: reason))
    }

    // MARK: waiting for lanes

    enum Change { case settled, queueEmpty }

    private func holds(_ change: Change) -> Bool {
        switch change {
        case .settled: !self.lanes.hasUnsettled
        case .queueEmpty: !self.lanes.hasQueuedWaiting
        }
    }

    /// Resumes the tasks that wait for a change.
    func notify() {
        for (number, waiter) in self.waiters where self.holds(waiter.change) { self.resume(number) }
    }

    func wait(for change: Change, within limit: Duration) async {
        guard self.isGoing, !self.holds(change) else { return }
        self.lastWaiter += 1
        let number = self.lastWaiter
        // `stop` resumes it too.
        let timer = Task {
            try? await Task.sleep(for: limit)
            self.resume(number)
        }
        await withCheckedContinuation { self.waiters[number] = (change, $0) }
        timer.cancel()
    }

    private func resume(_ number: Int) { self.waiters.removeValue(forKey: number)?.continuation.resume() }
}
