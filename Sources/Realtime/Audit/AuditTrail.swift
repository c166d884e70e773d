// Records audit entries without delaying the sessions that cause them. Entries are buffered and written to the ledger within
// one tick of the event loop. Delivery is at least once: an entry that is not acknowledged, for example because of an outage,
// is sent again with the same number.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import LiveState
internal import Logging
internal import NIOCore
internal import Telemetry
internal import TrafficControl

/// The audit trail of one event loop. Confined to it.
final class AuditTrail {
    private let eventLoop: any EventLoop
    private let streams: AuditStreams
    private let gateway: String
    private let counts: LoopCounts
    private let logger: Logger
    private var buffer = AuditBuffer<AuditEntry>()
    private var tickCount: UInt64 = 0
    /// Distinguishes the numbers of this loop from those of other loops and of earlier runs of this gateway.
    private let origin = String(UInt64.random(in: .min ... .max), radix: 36)
    private var lastNumber = 0
    /// Whether the warning has been logged. The next successful write resets it, so each outage logs it once.
    private var hasLoggedOverflow = false
    private var hasLoggedFailure = false
    private var flushPromises: [EventLoopPromise<Void>] = []

    init(
        eventLoop: any EventLoop, streams: AuditStreams, gateway: String, counts: LoopCounts, logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.streams = streams
        self.gateway = gateway
        self.counts = counts
        self.logger = logger
    }

    /// Never waits and never fails. If the buffer is full, the entry is dropped and counted.
    func record(_ entry: AuditEntry) {
        self.eventLoop.preconditionInEventLoop()
        var entry = entry
        self.lastNumber += 1
        entry.stamp(gateway: self.gateway, at: WallClock.nowMilliseconds, number: "\(self.origin)-\(self.lastNumber)")
        guard self.buffer.add(entry) else {
            self.counts.add(.auditEntriesLost)
            guard !self.hasLoggedOverflow else { return }
            self.hasLoggedOverflow = true
            return self.logger.warning("audit buffer full; dropping entries")
        }
        if self.buffer.isBatchReady { self.send() }
    }

    /// Called on every tick of the loop.
    func tick() {
        self.tickCount += 1
        self.send()
    }

    /// The maximum time a stopping gateway waits for the ledger to accept the remaining entries. After that they are lost.
    static let flushTimeout = TimeAmount.seconds(2)

    /// Succeeds when all recorded entries are written, when `flushTimeout` has passed, or when the loop stops.
    func flushed() -> EventLoopFuture<Void> {
        guard !self.buffer.isEmpty else { return self.eventLoop.makeSucceededVoidFuture() }
        let promise = self.eventLoop.makePromise(of: Void.self)
        self.flushPromises.append(promise)
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let limit = self.eventLoop.scheduleTask(in: Self.flushTimeout) { bound.value.completeFlush() }
        promise.futureResult.whenComplete { _ in limit.cancel() }
        self.send()
        return promise.futureResult
    }

    func stop() { self.completeFlush() }

    private func completeFlush() {
        let waiting = self.flushPromises
        self.flushPromises = []
        for promise in waiting { promise.succeed() }
    }

    private func send() {
        let batch = self.buffer.nextBatch(at: self.tickCount)
        guard !batch.isEmpty else { return }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        EventLoopFuture.whenAllComplete(batch.map { self.streams.append($0) }, on: self.eventLoop)
            .whenSuccess { bound.value.completed($0) }
    }

    private func completed(_ results: [Result<Void, any Error>]) {
        var failure: (any Error)?
        let acknowledged = results.map { result in
            guard case .failure(let error) = result else { return true }
            failure = error
            return false
        }
        self.buffer.complete(acknowledged, at: self.tickCount)
        if let failure {
            guard !self.hasLoggedFailure else { return }
            self.hasLoggedFailure = true
            return self.logger.warning(
                "writing audit entries failed; retrying", metadata: [LogKey.reason: "\(failure)"])
        }
        (self.hasLoggedFailure, self.hasLoggedOverflow) = (false, false)
        if self.buffer.isEmpty { return self.completeFlush() }
        if self.buffer.isBatchReady || !self.flushPromises.isEmpty { self.send() }
    }
}

extension AuditTrail {
    /// Records that the session has started to follow a job.
    ///
    /// - Returns: the value to pass to `recordUnfollowed`; `nil` if the session has ended meanwhile.
    func recordFollowed(_ job: JobID, by session: Session) -> FollowedAccess? {
        guard let admitted = session.life.admitted else { return nil }
        let access = FollowedAccess(
            job: job, person: admitted.grant.person, role: admitted.grant.role.rawValue,
            credential: admitted.credential,
            link: admitted.grant.link, session: session.id)
        self.record(access.followed)
        return access
    }

    func recordUnfollowed(_ access: FollowedAccess?) {
        if let access { self.record(access.left) }
    }
}
