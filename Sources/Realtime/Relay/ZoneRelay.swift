// Relays the pool changes of zones from Redis to the watchers on one loop, as LoopRelay does for jobs: one subscription
// per watched zone, and one frame per change, which is offered to every watcher. After a gap, a lost channel or a lost
// message, the zone is read again (ZoneResync).

package import EnrouteWire
internal import Fanout
package import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Resilience
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// Relays the pool changes of all zones watched on one event loop. Confined to it.
final class ZoneRelay {
    private let eventLoop: any EventLoop
    private let keyspace: Keyspace
    private let pool: ZonePool
    private let channels: Subscriptions
    private let counts: LoopCounts
    private var table = FollowTable<ZoneID, WatchedZone>()
    private let zoneResync: ZoneResync
    /// Zones that lost their channels together are resynced within this time, not all together.
    private static let resyncSpread = UInt64.milliseconds(250)

    /// - Parameter channels: the ledger's channels, shared with the status events of jobs. Their owner passes the messages of
    ///   zones to `relay`.
    init(
        eventLoop: any EventLoop, keyspace: Keyspace, pool: ZonePool, channels: Subscriptions, counts: LoopCounts,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.keyspace = keyspace
        self.pool = pool
        self.channels = channels
        self.counts = counts
        self.zoneResync = ZoneResync(eventLoop: eventLoop, pool: pool, counts: counts, logger: logger)
        self.zoneResync.watchers = { [unowned self] in self.table.followers(of: $0) }
    }

    // MARK: watchers

    /// Succeeds once no further change of the zone can be missed.
    func follow(_ watched: WatchedZone) -> EventLoopFuture<Void> {
        _ = self.table.follow(watched.zone, by: watched)
        let bound = NIOLoopBound((self, watched.zone), eventLoop: self.eventLoop)
        return self.channels.subscribe(self.keyspace.changes(in: watched.zone)).map {
            // Starting earlier would make a watcher live while its channel is still missing.
            let (relay, zone) = bound.value
            if !relay.table.followers(of: zone).isEmpty { relay.zoneResync.follow(zone) }
        }
    }

    func unfollow(_ watched: WatchedZone) {
        guard self.table.unfollow(watched.zone, by: watched) == .unsubscribe else { return }
        self.zoneResync.unfollow(watched.zone)
        self.channels.unsubscribe(self.keyspace.changes(in: watched.zone))
    }

    /// Reads the pool, or the changes since a version if the log still holds them.
    func read(_ zone: ZoneID, since version: Int64?) -> EventLoopFuture<PoolView> {
        self.pool.read(zone, since: version).map { PoolView(zone, $0) }
    }

    // MARK: relaying messages

    /// Relays a message of a channel that does not belong to a job.
    func relay(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let zone = self.keyspace.zone(ofChannel: channel) else { return }
        let watchers = self.table.followers(of: zone)
        guard !watchers.isEmpty else { return }
        guard let change = RiderChange(ours: payload), change.zone == zone else {
            return self.channels.refuse(channel)
        }
        self.counts.add(.messagesRelayed, watchers.count)
        let offered = PoolSyncState.Change(
            version: change.version, previous: change.previous, frame: Frame.text(payload))
        var isGap = false
        for watcher in watchers where watcher.offerChange(offered) == .gap { isGap = true }
        if isGap { self.resync(zone) }
    }

    // MARK: resync

    /// Reads a zone again for all its watchers on this loop.
    func resync(_ zone: ZoneID) { self.zoneResync.schedule(zone, within: 0) }

    /// A channel that was lost is subscribed again.
    func resubscribed(_ channel: String) {
        let zone = Array(channel.utf8).withUnsafeBytes { self.keyspace.zone(ofChannel: $0) }
        if let zone { self.zoneResync.schedule(zone, within: Self.resyncSpread) }
    }

    /// Called on every tick of the loop.
    func tick() { self.zoneResync.startDue() }

    /// See `JobResync.isOutage`.
    func setOutage(_ isOutage: Bool) { self.zoneResync.isOutage = isOutage }

    /// No resync is pending.
    var isSettled: Bool { self.zoneResync.isSettled }
}

extension PoolView {
    package init(_ zone: ZoneID, _ reading: ZonePool.Reading) {
        let members = reading.members.map { PoolMember(rider: $0.rider, heartbeat: $0.heartbeat) }
        self.init(
            zone: zone, version: reading.version,
            reading.changes.map { .changes($0) } ?? .riders(members, count: reading.count))
    }
}
