// Sends the open jobs of zones to their watchers on one loop. The gateway reads each zone once for all loops (ZoneJobsFeed).
// Nothing waits in a session's queue: a watcher gets its next message when its socket has sent everything before it.

internal import EnrouteWire
internal import Fanout
package import Jobs
internal import NIOCore
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// The zones whose jobs are watched on one event loop. Confined to it.
package final class ZoneJobsRelay {
    private let eventLoop: any EventLoop
    private let counts: LoopCounts
    private var zones: [ZoneID: Zone] = [:]
    private var feed: ZoneJobsFeed?
    /// The loop's index and the number of loops, which make the numbers of subscriptions unique.
    private let (index, loops): (Int, Int)
    private var subscriptions = 0

    /// Maximum number of messages to one watcher in one tick.
    private static let messagesPerTick = 10

    private struct Zone {
        /// The number of the subscription.
        let number: Int
        var watchers: [WatchedJobs] = []
        /// `nil` until the zone has been read.
        var table: ZoneJobsTable?
    }

    init(eventLoop: any EventLoop, index: Int, loops: Int, counts: LoopCounts) {
        (self.eventLoop, self.counts) = (eventLoop, counts)
        (self.index, self.loops) = (index, loops)
    }

    /// Called once, when the gateway is assembled.
    package func connect(to feed: ZoneJobsFeed) { self.feed = feed }

    enum Outcome {
        case following
        case tooManyZones
        /// The gateway reads no zones.
        case unavailable
    }

    func follow(_ watched: WatchedJobs) -> Outcome {
        guard let feed else { return .unavailable }
        if self.zones[watched.zone] != nil {
            self.zones[watched.zone]?.watchers.append(watched)
            self.send(watched)
            return .following
        }
        let (zone, number) = (watched.zone, self.index + self.loops * self.subscriptions)
        self.subscriptions += 1
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        let isWatching = feed.watch(zone, as: number) { update in
            eventLoop.execute { bound.value.received(update, of: zone, number) }
        }
        guard isWatching else { return .tooManyZones }
        self.zones[zone] = Zone(number: number, watchers: [watched])
        return .following
    }

    func unfollow(_ watched: WatchedJobs) {
        self.zones[watched.zone]?.watchers.removeAll { $0 === watched }
        guard let zone = self.zones[watched.zone], zone.watchers.isEmpty else { return }
        self.zones[watched.zone] = nil
        self.feed?.unwatch(watched.zone, as: zone.number)
    }

    private func received(_ update: ZoneJobsFeed.Update, of zone: ZoneID, _ number: Int) {
        // An update of a subscription that has ended meanwhile is ignored.
        guard self.zones[zone]?.number == number, let watchers = self.zones[zone]?.watchers else { return }
        switch update {
        case .all(let rows): self.zones[zone]?.table = ZoneJobsTable(rows)
        case .changes(let changes):
            self.zones[zone]?.table?.apply(changes)
            for watcher in watchers where !watcher.backlog.note(changes) { self.counts.add(.zoneJobsResets) }
        case .failed(let refused):
            for watcher in watchers { watcher.session.watcher.failed(watcher, refused) }
            return
        case .allPlaces, .places: return
        }
        for watcher in watchers { self.send(watcher) }
    }

    /// Called on every tick of the loop.
    func tick() {
        for zone in self.zones.values { for watcher in zone.watchers { self.send(watcher) } }
    }

    private func send(_ watcher: WatchedJobs) {
        for _ in 0..<Self.messagesPerTick {
            guard watcher.session.hasSentEverything, let view = self.next(watcher) else { return }
            self.counts.add(.messagesRelayed)
            watcher.session.send(Frame.text(view.encoded), .ordered)
        }
    }

    private func next(_ watcher: WatchedJobs) -> ZoneJobsView? {
        guard var table = self.zones[watcher.zone]?.table else { return nil }
        // The table may have sorted its jobs.
        defer { self.zones[watcher.zone]?.table = table }
        return watcher.backlog.next(of: watcher.zone, &table)
    }
}
