// Carries out what `ResyncScheduler` decides for the zones that are watched on one loop: reads a zone again for all its
// watchers at once, and looks every few seconds whether a message was lost on its way.

internal import EnrouteWire
internal import Fanout
internal import LiveState
internal import Logging
internal import NIOCore
internal import Resilience
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// Rereads and checks of one loop's zones. Confined to it.
final class ZoneResync {
    private let eventLoop: any EventLoop
    private let pool: ZonePool
    private let counts: LoopCounts
    private let logger: Logger
    private var scheduler: ResyncScheduler<ZoneID>
    private var looks: [ZoneID: PoolConsistencyCheck] = [:]

    /// Who watches a zone here.
    var watchers: (ZoneID) -> ContiguousArray<WatchedZone> = { _ in [] }

    /// Zones that a loop reads again at the same time, at most: each may be 10,000 riders.
    private static let mostInFlight = 8
    /// After a read that something came in between of.
    private static let rereadSpread = UInt64.milliseconds(250)

    init(eventLoop: any EventLoop, pool: ZonePool, counts: LoopCounts, logger: Logger) {
        self.eventLoop = eventLoop
        self.pool = pool
        self.counts = counts
        self.logger = logger
        var bounds = ResyncScheduler<ZoneID>.Bounds()
        bounds.mostInFlight = Self.mostInFlight
        self.scheduler = ResyncScheduler(bounds: bounds, seed: .random(in: .min ... .max), now: Self.now)
    }

    private static var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    func follow(_ zone: ZoneID) { self.scheduler.follow(zone, now: Self.now) }

    func unfollow(_ zone: ZoneID) {
        self.scheduler.leave(zone)
        self.looks[zone] = nil
    }

    /// - Parameter spread: within how many ns to begin, at random; 0 for at once.
    func schedule(_ zone: ZoneID, within spread: UInt64) {
        guard self.scheduler.repair(zone, within: spread, now: Self.now) else { return }
        for watcher in self.watchers(zone) { watcher.invalidate() }
        if spread == 0 { self.startDue() }
    }

    /// No watcher waits for a repair.
    var isSettled: Bool { self.scheduler.repairsOutstanding == 0 }

    /// Sends the reads whose time has come.
    func startDue() {
        for read in self.scheduler.due(now: Self.now) {
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
        // What was missed will do where all have seen the same, which is the rule; else the pool is shown to all.
        let seen = watchers.first?.seen
        let since = watchers.allSatisfy { $0.seen == seen } ? seen : nil
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.pool.read(read.job, since: since).whenComplete { bound.value.resynced(read, $0) }
    }

    private func resynced(_ read: ResyncScheduler<ZoneID>.Read, _ result: Result<ZonePool.Reading, any Error>) {
        switch result {
        case .success(let reading):
            guard self.scheduler.answered(read, .matches, now: Self.now) else { break }
            self.looks[read.job] = nil
            let frame = Frame.text(PoolView(read.job, reading).encoded)
            var isWhole = true
            // Who has just come is about to be shown a view of its own.
            for watcher in self.watchers(read.job) where watcher.needsResync {
                if !watcher.sendView(at: reading.version, frame) { isWhole = false }
            }
            if !isWhole { self.schedule(read.job, within: Self.rereadSpread) }
        case .failure(let error): self.failed(read, error)
        }
        self.startDue()
    }

    // MARK: checks

    /// Asks since the oldest version that somebody has seen, for which the answer is short when nothing is missing.
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
            var look = self.looks[read.job] ?? PoolConsistencyCheck()
            let agrees =
                self.oldestSeen(of: read.job).map {
                    look.agrees(
                        asked: asked, version: reading.version, isKnown: reading.changes != nil, seen: $0)
                } ?? true
            guard self.scheduler.answered(read, agrees ? .matches : .mismatch, now: Self.now) else { break }
            self.looks[read.job] = look
            if !agrees { self.counts.add(.zoneMismatches) }
        case .failure(let error): self.failed(read, error)
        }
        self.startDue()
    }

    /// Who waits for a view is behind by nothing; `nil` when all do.
    private func oldestSeen(of zone: ZoneID) -> Int64? {
        self.watchers(zone).filter(\.isLive).compactMap(\.seen).min()
    }

    private func failed(_ read: ResyncScheduler<ZoneID>.Read, _ error: any Error) {
        self.logger.debug("zone resync failed", metadata: [LogKey.zone: "\(read.job)", LogKey.reason: "\(error)"])
        _ = self.scheduler.answered(read, .failed, now: Self.now)
    }
}
