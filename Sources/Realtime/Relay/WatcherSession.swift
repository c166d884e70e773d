// The zones whose rider pools one session watches, for services that assign tasks and for operations staff. Subscribing
// works as for jobs and misses no message: subscribe and await the acknowledgement, read, send the view, then the newer
// ones of the changes that arrived meanwhile, then further changes.

internal import Access
internal import EnrouteWire
internal import Fanout
internal import Jobs
internal import LiveState
internal import NIOCore
internal import WebSocket

/// One session's subscription to one zone's pool. Confined to the session's loop.
final class WatchedZone {
    let zone: ZoneID
    unowned let session: Session
    /// The client's reference for its `watch` message.
    let ref: MessageRef?
    private var syncState: PoolSyncState

    init(zone: ZoneID, since version: Int64?, session: Session, ref: MessageRef?) {
        self.zone = zone
        self.ref = ref
        self.session = session
        self.syncState = PoolSyncState(since: version)
    }

    /// The newest version the client has seen.
    var seen: Int64? { self.syncState.seen }
    var isLive: Bool { self.syncState.isLive }
    /// Only data read after the last desynchronization may be sent next.
    var needsResync: Bool { self.syncState.needsResync }

    func invalidate() { self.syncState.invalidate() }

    func offerChange(_ change: PoolSyncState.Change) -> PoolSyncState.Verdict {
        let verdict = self.syncState.change(change)
        if verdict == .show { self.session.send(change.frame, .ordered) }
        return verdict
    }

    /// Sends the view that was read, and the changes that arrived in the meantime.
    ///
    /// - Returns: `false` if changes between the two are missing and the zone has to be read again.
    func sendView(at version: Int64, _ frame: [UInt8]) -> Bool {
        guard !self.syncState.isLive else { return true }
        let buffered = self.syncState.view(at: version)
        self.session.send(frame, .ordered)
        for frame in buffered ?? [] { self.session.send(frame, .ordered) }
        return buffered != nil
    }
}

/// The zones one session watches. Confined to the session's loop.
final class WatcherSession {
    unowned let session: Session
    let loop: LoopState
    private var watched: [ZoneID: WatchedZone] = [:]
    /// The zones whose jobs it watches (WatchedJobs.swift).
    var watchedJobs: [ZoneID: WatchedJobs] = [:]
    /// The zones whose places it watches (ZonePlacesRelay.swift).
    var watchedPlaces: [ZoneID: WatchedPlaces] = [:]

    init(session: Session, loop: LoopState) {
        self.session = session
        self.loop = loop
    }

    private var relay: ZoneRelay { self.loop.relay.zones }

    /// - Parameter version: the newest version of the zone that the client has seen; `nil` to start with the whole pool.
    func watch(_ zone: ZoneID, since version: Int64?, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.followPool) else {
            return self.refuse(zone, .forbidden, "Only services and operations staff can watch pools.", ref)
        }
        guard self.watched[zone] == nil else {
            return self.refuse(zone, .badRequest, "This connection already watches the zone.", ref)
        }
        guard self.hasRoom(for: zone, ref) else { return }
        self.session.widenOutbox(to: self.loop.settings.limits.poolQueueBytes)
        let watched = WatchedZone(zone: zone, since: version, session: self.session, ref: ref)
        self.watched[zone] = watched
        let bound = NIOLoopBound((self.session, watched), eventLoop: self.loop.eventLoop)
        self.relay.follow(watched).flatMap {
            bound.value.0.watcher.relay.read(zone, since: version)
        }.whenComplete { bound.value.0.watcher.firstViewRead(bound.value.1, $0) }
    }

    /// - Returns: `false` after a refusal: the connection already watches the maximum number of zones.
    func hasRoom(for zone: ZoneID, _ ref: MessageRef?) -> Bool {
        let most = self.loop.settings.limits.watchedZones
        if self.watched.count + self.watchedJobs.count + self.watchedPlaces.count < most { return true }
        self.refuse(
            zone, .limitExceeded, "A connection can watch at most \(most) zones. Unwatch another zone first.", ref)
        return false
    }

    private func firstViewRead(_ watched: WatchedZone, _ result: Result<PoolView, any Error>) {
        guard self.watched[watched.zone] === watched else { return }
        switch result {
        case .success(let view):
            // The channel was lost while the view was being read. The pending resync will send the first view.
            guard !watched.needsResync else { break }
            if !watched.sendView(at: view.version, Frame.text(view.encoded)) { self.relay.resync(watched.zone) }
        case .failure(let error):
            self.unwatch(watched)
            let refused = self.session.refusal(for: error)
            self.refuse(watched.zone, refused.code, refused.message, watched.ref)
        }
    }

    func unwatch(_ zone: ZoneID, _ ref: MessageRef?) {
        if let watched = self.watched[zone] { self.unwatch(watched) }
        self.session.send(.ok(replyTo: "unwatch", job: nil, sequence: nil, deadline: nil, ref: ref))
    }

    /// The grant was renewed. A narrower grant may not allow watching pools.
    func reauthorizeAll() {
        self.reauthorizeJobs()
        self.reauthorizePlaces()
        guard self.session.grant?.allows(.followPool) != true else { return }
        for watched in Array(self.watched.values) {
            self.unwatch(watched)
            self.refuse(watched.zone, .forbidden, "The new token does not allow watching this zone.", nil)
        }
    }

    func unwatchAll() {
        for watched in Array(self.watched.values) { self.unwatch(watched) }
        for watched in Array(self.watchedJobs.values) { self.unwatch(watched) }
        for watched in Array(self.watchedPlaces.values) { self.unwatch(watched) }
    }

    private func unwatch(_ watched: WatchedZone) {
        self.watched[watched.zone] = nil
        self.relay.unfollow(watched)
    }

    func refuse(_ zone: ZoneID, _ code: ErrorCode, _ message: String, _ ref: MessageRef?) {
        let retryIn: Int64? = code == .unavailable ? .random(in: 500...3000) : nil
        self.session.send(
            .error(
                Refusal(
                    replyTo: "watch", zone: zone, code: code, message: message, retryInMilliseconds: retryIn, ref: ref))
        )
    }
}
