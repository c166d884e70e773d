// Sends the places of zones to their watchers on one loop: where jobs end and riders are. The gateway reads each zone once for
// all loops (ZoneJobsFeed), and sends a place at most once a second. Nothing waits in a session's queue.

internal import Access
internal import EnrouteWire
internal import Fanout
package import Jobs
internal import LiveState
internal import NIOCore
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// One session's subscription to the places of one zone. Confined to the session's loop.
final class WatchedPlaces {
    let zone: ZoneID
    unowned let session: Session
    /// The client's reference for its `watch` message.
    let ref: MessageRef?
    var backlog = ZonePlacesBacklog()

    init(zone: ZoneID, session: Session, ref: MessageRef?) {
        (self.zone, self.session, self.ref) = (zone, session, ref)
    }
}

/// The zones whose places are watched on one event loop. Confined to it.
package final class ZonePlacesRelay {
    private let eventLoop: any EventLoop
    private let counts: LoopCounts
    private var zones: [ZoneID: Zone] = [:]
    private var feed: ZoneJobsFeed?
    private let (index, loops): (Int, Int)
    private var subscriptions = 0

    private struct Zone {
        /// The number of the subscription.
        let number: Int
        var watchers: [WatchedPlaces] = []
        /// `nil` until the zone has been read.
        var places: [PlaceKey: ZonePlace]?
    }

    init(eventLoop: any EventLoop, index: Int, loops: Int, counts: LoopCounts) {
        (self.eventLoop, self.counts) = (eventLoop, counts)
        (self.index, self.loops) = (index, loops)
    }

    /// Called once, when the gateway is assembled.
    package func connect(to feed: ZoneJobsFeed) { self.feed = feed }

    func follow(_ watched: WatchedPlaces) -> ZoneJobsRelay.Outcome {
        guard let feed else { return .unavailable }
        if self.zones[watched.zone] != nil {
            self.zones[watched.zone]?.watchers.append(watched)
            self.send(watched)
            return .following
        }
        // Negative, so that it differs from the numbers of subscriptions to jobs.
        let (zone, number) = (watched.zone, -1 - self.index - self.loops * self.subscriptions)
        self.subscriptions += 1
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        let isWatching = feed.watch(zone, .places, as: number) { update in
            eventLoop.execute { bound.value.received(update, of: zone, number) }
        }
        guard isWatching else { return .tooManyZones }
        self.zones[zone] = Zone(number: number, watchers: [watched])
        return .following
    }

    func unfollow(_ watched: WatchedPlaces) {
        self.zones[watched.zone]?.watchers.removeAll { $0 === watched }
        guard let zone = self.zones[watched.zone], zone.watchers.isEmpty else { return }
        self.zones[watched.zone] = nil
        self.feed?.unwatch(watched.zone, as: zone.number)
    }

    private func received(_ update: ZoneJobsFeed.Update, of zone: ZoneID, _ number: Int) {
        // An update of a subscription that has ended meanwhile is ignored.
        guard self.zones[zone]?.number == number, let watchers = self.zones[zone]?.watchers else { return }
        switch update {
        case .allPlaces(let places): self.zones[zone]?.places = places
        case .places(let changes):
            for (key, place) in changes { self.zones[zone]?.places?[key] = place }
            for watcher in watchers { watcher.backlog.note(changes) }
        case .failed(let refused):
            for watcher in watchers { watcher.session.watcher.failed(watcher, refused) }
            return
        case .all, .changes: return
        }
        for watcher in watchers { self.send(watcher) }
    }

    /// Called on every tick of the loop. Each watcher gets at most one message.
    func tick() {
        for zone in self.zones.values { for watcher in zone.watchers { self.send(watcher) } }
    }

    private func send(_ watcher: WatchedPlaces) {
        guard watcher.session.hasSentEverything, let places = self.zones[watcher.zone]?.places,
            let view = watcher.backlog.next(of: watcher.zone, places)
        else { return }
        self.counts.add(.messagesRelayed)
        watcher.session.send(Frame.text(view.encoded), .ordered)
    }
}

extension WatcherSession {
    private var relay: ZonePlacesRelay { self.loop.zonePlaces }

    func watchPlaces(_ zone: ZoneID, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.lookAtZones) else {
            return self.refuse(
                zone, .forbidden, "Only services and operations staff can watch the places of a zone.", ref)
        }
        guard self.watchedPlaces[zone] == nil else {
            return self.refuse(zone, .badRequest, "This connection already watches the places of the zone.", ref)
        }
        guard self.hasRoom(for: zone, ref) else { return }
        self.session.widenOutbox(to: self.loop.settings.limits.poolQueueBytes)
        let watched = WatchedPlaces(zone: zone, session: self.session, ref: ref)
        switch self.relay.follow(watched) {
        case .following:
            self.watchedPlaces[zone] = watched
            self.loop.trail.record(.watched(zone, by: grant.person, role: grant.role.rawValue))
        case .tooManyZones:
            self.refuse(
                zone, .limitExceeded,
                "Clients of this gateway already watch \(ZoneJobsFeed.maxZones) zones, the maximum.", ref)
        case .unavailable:
            self.refuse(zone, .unavailable, "The zone cannot be read at the moment. Try again shortly.", ref)
        }
    }

    /// The zone could not be read for the first time.
    func failed(_ watched: WatchedPlaces, _ refused: Refused) {
        self.unwatch(watched)
        let shown = self.session.refusal(for: refused)
        self.refuse(watched.zone, shown.code, shown.message, watched.ref)
    }

    func unwatchPlaces(_ zone: ZoneID, _ ref: MessageRef?) {
        if let watched = self.watchedPlaces[zone] { self.unwatch(watched) }
        self.session.send(.ok(replyTo: "unwatch", job: nil, sequence: nil, deadline: nil, ref: ref))
    }

    /// The grant was renewed. A narrower grant may not allow watching the places of zones.
    func reauthorizePlaces() {
        guard self.session.grant?.allows(.lookAtZones) != true else { return }
        for watched in Array(self.watchedPlaces.values) {
            self.unwatch(watched)
            self.refuse(watched.zone, .forbidden, "The new token does not allow watching this zone.", nil)
        }
    }

    func unwatch(_ watched: WatchedPlaces) {
        self.watchedPlaces[watched.zone] = nil
        self.relay.unfollow(watched)
    }
}
