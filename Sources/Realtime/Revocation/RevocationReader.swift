// How one loop learns of revocations. A channel message triggers a read of the stream immediately, and a timer reads it
// twice a second in any case. Both use connections of their own: on a connection shared with a backlog of positions, a
// message took seconds. The loop applies the revocations before it shows anything else.

internal import Access
internal import EnrouteWire
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Resilience
internal import Telemetry

/// Reads the stream of revocations for one loop. Confined to it.
final class RevocationReader {
    private let eventLoop: any EventLoop
    private let client: RedisClient
    private let channel: Subscriptions
    private let name: String
    private let log: RevocationLog
    private let logger: Logger
    private var cursor = RevocationCursor()
    private var freshness: RevocationFreshness
    private var timer: RepeatedTask?
    private var isReading = false
    /// A message arrived during the read.
    private var needsAnotherRead = false

    /// The interval between two reads without a channel message.
    static let pollInterval = TimeAmount.milliseconds(500)

    /// Called with new revocations. The first time, it gets all that are still in effect.
    var onRevoked: (_ revocations: [Revocation], _ isFirst: Bool) -> Void = { _, _ in }
    /// Called when all revocations have been applied.
    var onUpToDate: () -> Void = {}

    init(
        eventLoop: any EventLoop, settings: RealtimeSettings, witness: any RedisObserver, replyTimes: DurationRecorder,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.logger = logger
        let (timing, state) = (settings.redisTiming, settings.liveState)
        let ofLedger = logger.of(.redisLedger)
        self.client = RedisClient(
            address: settings.ledger, eventLoop: eventLoop, timing: timing, logger: ofLedger, witness: witness,
            replyTimes: replyTimes)
        self.channel = Subscriptions(client: self.client, connections: 1, timing: timing, logger: ofLedger)
        self.name = state.keyspace.control
        self.log = RevocationLog(ledger: self.client, settings: state)
        self.freshness = RevocationFreshness(
            now: NIODeadline.now().uptimeNanoseconds,
            patience: UInt64(settings.maxRevocationAge.milliseconds) * 1_000_000)
        self.channel.onMessage = { [unowned self] _, _ in self.poll() }
        self.channel.onResubscribed = { [unowned self] _ in self.poll() }
    }

    /// Succeeds once all revocations have been applied.
    func start() -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        return self.client.start().flatMap {
            bound.value.channel.start()
        }.flatMap {
            bound.value.channel.subscribe(bound.value.name)
        }.flatMap {
            bound.value.readToEnd(isFirst: true)
        }.map { bound.value.startPolling() }
    }

    func stop() {
        self.timer?.cancel()
        self.channel.stop()
        self.client.stop()
    }

    private func startPolling() {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.timer = self.eventLoop.scheduleRepeatedTask(initialDelay: Self.pollInterval, delay: Self.pollInterval) {
            _ in
            bound.value.poll()
        }
    }

    // MARK: freshness

    func tick() { self.freshness.tick() }

    /// Revocations may be missing, so positions must not be shown.
    var isRevocationStateStale: Bool { self.freshness.isRevocationStateStale(now: NIODeadline.now().uptimeNanoseconds) }
    /// The state is stale because Redis does not answer, rather than because the loop was stopped.
    var shouldReportStale: Bool { self.freshness.isReportable(now: NIODeadline.now().uptimeNanoseconds) }
    var unresponsiveSince: NIODeadline? {
        [self.client.unresponsiveSince, self.channel.unresponsiveSince].compactMap { $0 }.min()
    }

    // MARK: reading

    /// Runs one read at a time. A message that arrives in the meantime triggers another read afterwards.
    private func poll() {
        guard !self.isReading else {
            self.needsAnotherRead = true
            return
        }
        self.isReading = true
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.readToEnd(isFirst: false).whenComplete { result in
            let watch = bound.value
            watch.isReading = false
            if case .failure(let error) = result {
                // The next read is due soon. If none succeeds, clients are notified.
                watch.needsAnotherRead = false
                return watch.logger.debug("reading revocations failed", metadata: [LogKey.reason: "\(error)"])
            }
            // The reply arrived late, so revocations may have been added since the read was sent.
            if watch.needsAnotherRead || watch.isRevocationStateStale {
                watch.needsAnotherRead = false
                watch.poll()
            }
        }
    }

    private func readToEnd(isFirst: Bool) -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let sentAt = NIODeadline.now().uptimeNanoseconds
        return self.log.read(from: self.cursor.start).flatMap { entries in
            let watch = bound.value
            let (fresh, isMore) = watch.cursor.advance(entries)
            let revocations = fresh.compactMap(\.revocation)
            let others = fresh.filter { $0.revocation == nil }
            if others.contains(where: \.isOfLaterVersion) {
                watch.logger.warning("ignoring revocations written by a newer version")
            }
            if !others.allSatisfy(\.isOfLaterVersion) { watch.log.refuseEntry() }
            if !revocations.isEmpty { watch.onRevoked(revocations, isFirst) }
            guard !isMore else { return watch.readToEnd(isFirst: isFirst) }
            watch.freshness.answered(sentAt: sentAt)
            if !watch.isRevocationStateStale { watch.onUpToDate() }
            return watch.eventLoop.makeSucceededVoidFuture()
        }
    }
}
