// Carries out the decisions of `ResyncScheduler` for the zones watched on one loop. A repair reads a zone once for all its
// watchers. A check, every few seconds, detects lost messages.

internal import EnrouteWire
internal import Fanout
internal import LiveState
internal import Logging
internal import NIOCore
internal import Resilience
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// Resyncs the zones watched on one loop. Confined to it.
final class ZoneResync {
    private let eventLoop: any EventLoop
    private let pool: ZonePool
    private let counts: LoopCounts
    private let logger: Logger
    private var scheduler: ResyncScheduler<ZoneID>
    /// `startDue` is running.
    private var isStarting = false
    private var comparisons: [ZoneID: PoolConsistencyCheck] = [:]

    /// See `JobResync.isOutage`.
    var isOutage = false
    /// The watchers of a zone on this loop.
    var watchers: (ZoneID) -> ContiguousArray<WatchedZone> = { _ in [] }

    /// The maximum number of zones a loop reads at the same time. Each may have 10,000 riders.
    private static let maxInFlight = 8
    /// The delay before a second read if a message between the view and the buffered messages is missing.
    private static let rereadSpread = UInt64.milliseconds(250)

    init(eventLoop: any EventLoop, pool: ZonePool, counts: LoopCounts, logger: Logger) {
        self.eventLoop = eventLoop
        self.pool = pool
        self.counts = counts
        self.logger = logger
        var bounds = ResyncScheduler<ZoneID>.Bounds()
        bounds.maxInFlight = Self.maxInFlight
        self.scheduler = ResyncScheduler(bounds: bounds, seed: .random(in: .min ... .max), now: Self.now)
    }

    private static var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    func follow(_ zone: ZoneID) { self.scheduler.follow(zone, now: Self.now) }

    func unfollow(_ zone: ZoneID) {
        self.scheduler.unfollow(zone)
        self.comparisons[zone] = nil
    }

    /// - Parameter spread: the time in ns within which the read starts, at random; 0 to start immediately.
    func schedule(_ zone: ZoneID, within spread: UInt64) {
        guard self.scheduler.repair(zone, within: spread, now: Self.now) else { return }
        for watcher in self.watchers(zone) { watcher.invalidate() }
        if spread == 0 { self.startDue() }
    }

    /// No watcher is waiting for a repair.
    var isSettled: Bool { self.scheduler.repairsOutstanding == 0 }

    /// Starts the reads that are due. While Redis is not connected, a read fails immediately, and its completion calls
    /// this method again. That call returns at once and the loop here continues; otherwise the stack would grow with
    /// every followed zone.
    func startDue() {
        guard !self.isStarting else { return }
        self.isStarting = true
        defer { self.isStarting = false }
        // The time is read once, so that a read that fails now is not tried again in this call.
        let now = Self.now
        while case let reads = self.scheduler.due(now: now), !reads.isEmpty { self.start(reads) }
    }

    private func start(_ reads: [ResyncScheduler<ZoneID>.Read]) {
        for read in reads {
            switch read.purpose {
            case .repair: self.resync(read)
            case .check: self.check(read)
            }
        }
    }

    // MARK: repairs

    private func resync(_ read: ResyncScheduler<ZoneID>.Read) {
        self.counts.add(.zoneRepairResyncs)
        let watchers = self.watchers(read.job)
        for watcher in watchers { watcher.invalidate() }
        // If all watchers have seen the same version, which is the normal case, the changes since then suffice. Otherwise the
        // whole pool is sent to all of them.
        let seen = watchers.first?.seen
        let since = watchers.allSatisfy { $0.seen == seen } ? seen : nil
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.pool.read(read.job, since: since).whenComplete { bound.value.resynced(read, $0) }
    }

    private func resynced(_ read: ResyncScheduler<ZoneID>.Read, _ result: Result<ZonePool.Reading, any Error>) {
        switch result {
        case .success(let reading):
            guard self.scheduler.answered(read, .matches, now: Self.now) else { break }
            self.comparisons[read.job] = nil
            let frame = Frame.text(PoolView(read.job, reading).encoded)
            var isWhole = true
            // New watchers are about to receive their own first view.
            for watcher in self.watchers(read.job) where watcher.needsResync {
                if !watcher.sendView(at: reading.version, frame) { isWhole = false }
            }
            if !isWhole { self.schedule(read.job, within: Self.rereadSpread) }
        case .failure(let error): self.failed(read, error)
        }
        self.startDue()
    }

    // MARK: checks

    /// Requests the changes since the oldest version that any watcher has seen. If nothing is missing, the reply is
    /// short.
    private func check(_ read: ResyncScheduler<ZoneID>.Read) {
        self.counts.add(.zoneCheckResyncs)
        guard let seen = self.oldestSeen(of: read.job) else {
            _ = self.scheduler.answered(read, .matches, now: Self.now)
            return
        }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.pool.read(read.job, since: seen, limit: 1).whenComplete { bound.value.checked(read, since: seen, $0) }
    }

    private func checked(
        _ read: ResyncScheduler<ZoneID>.Read, since asked: Int64, _ result: Result<ZonePool.Reading, any Error>
    ) {
        switch result {
        case .success(let reading):
            var comparison = self.comparisons[read.job] ?? PoolConsistencyCheck()
            let agrees =
                self.oldestSeen(of: read.job).map {
                    comparison.agrees(
                        asked: asked, version: reading.version, isKnown: reading.changes != nil, seen: $0)
                } ?? true
            guard self.scheduler.answered(read, agrees ? .matches : .mismatch, now: Self.now) else { break }
            self.comparisons[read.job] = comparison
            if !agrees, read.isConfirmation, !self.isOutage { self.counts.add(.zoneMismatches) }
        case .failure(let error): self.failed(read, error)
        }
        self.startDue()
    }

    /// The oldest version that a watcher has seen; `nil` if all of them wait for a view. Watchers that wait for a view
    /// miss nothing.
    private func oldestSeen(of zone: ZoneID) -> Int64? {
        self.watchers(zone).filter(\.isLive).compactMap(\.seen).min()
    }

    private func failed(_ read: ResyncScheduler<ZoneID>.Read, _ error: any Error) {
        self.logger.debug("zone resync failed", metadata: [LogKey.zone: "\(read.job)", LogKey.reason: "\(error)"])
        _ = self.scheduler.answered(read, .failed, now: Self.now)
    }
}
