// How one loop learns what is revoked: a channel tells it at once, and twice a second it looks into the stream whether or
// not it was told. Both go over connections of their own, since a message took seconds when it shared a connection with a
// backlog of positions. What it learns is applied before anything is shown again.

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
    private var sight: RevocationFreshness
    private var timer: RepeatedTask?
    private var isReading = false
    /// Something came while it was read.
    private var needsAnotherRead = false

    /// Between two looks without being told.
    static let pollInterval = TimeAmount.milliseconds(500)

    /// What was not read before; the first time, all that counts.
    var onRevoked: (_ revocations: [Revocation], _ isFirst: Bool) -> Void = { _, _ in }
    /// All that is revoked has been applied.
    var onUpToDate: () -> Void = {}

    init(eventLoop: any EventLoop, settings: RealtimeSettings, witness: any RedisObserver, logger: Logger) {
        self.eventLoop = eventLoop
        self.logger = logger
        let (timing, state) = (settings.redisTiming, settings.liveState)
        let ofLedger = logger.of(.redisLedger)
        self.client = RedisClient(
            address: settings.ledger, eventLoop: eventLoop, timing: timing, logger: ofLedger, witness: witness)
        self.channel = Subscriptions(client: self.client, connections: 1, timing: timing, logger: ofLedger)
        self.name = state.keyspace.control
        self.log = RevocationLog(ledger: self.client, settings: state)
        self.sight = RevocationFreshness(
            now: NIODeadline.now().uptimeNanoseconds,
            patience: UInt64(settings.revocationPatience.milliseconds) * 1_000_000)
        self.channel.onMessage = { [unowned self] _, _ in self.poll() }
        self.channel.onResubscribed = { [unowned self] _ in self.poll() }
    }

    /// Succeeds once everything that is revoked has been applied.
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

    // MARK: what a loop does with it

    func tick() { self.sight.tick() }

    /// What is revoked may not be known: no position is shown.
    var isRevocationStateStale: Bool { self.sight.isRevocationStateStale(now: NIODeadline.now().uptimeNanoseconds) }
    /// The same, and it is Redis that does not answer.
    var shouldReportStale: Bool { self.sight.isReportable(now: NIODeadline.now().uptimeNanoseconds) }
    var unresponsiveSince: NIODeadline? {
        [self.client.unresponsiveSince, self.channel.unresponsiveSince].compactMap { $0 }.min()
    }

    // MARK: looking

    /// One look at a time; what comes meanwhile is looked at right after.
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
                // The next look is due soon, and clients are told when none succeeds.
                watch.needsAnotherRead = false
                return watch.logger.debug("reading revocations failed", metadata: [LogKey.reason: "\(error)"])
            }
            // Of an answer that came late, nobody knows how much happened since it was asked for.
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
            let (fresh, isMore) = watch.cursor.take(entries)
            let revocations = fresh.compactMap(\.revocation)
            let others = fresh.filter { $0.revocation == nil }
            if others.contains(where: \.isOfLaterVersion) {
                watch.logger.warning("ignoring revocations written by a newer version")
            }
            if !others.allSatisfy(\.isOfLaterVersion) { watch.log.refuseEntry() }
            if !revocations.isEmpty { watch.onRevoked(revocations, isFirst) }
            guard !isMore else { return watch.readToEnd(isFirst: isFirst) }
            watch.sight.answered(sentAt: sentAt)
            if !watch.isRevocationStateStale { watch.onUpToDate() }
            return watch.eventLoop.makeSucceededVoidFuture()
        }
    }
}
