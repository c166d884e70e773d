// The zones whose open jobs one session watches, for services and operations staff.

internal import Access
internal import EnrouteWire
internal import Jobs

/// One session's subscription to the open jobs of one zone. Confined to the session's loop.
final class WatchedJobs {
    let zone: ZoneID
    unowned let session: Session
    /// The client's reference for its `watch` message.
    let ref: MessageRef?
    var backlog = ZoneJobsBacklog()

    init(zone: ZoneID, session: Session, ref: MessageRef?) {
        (self.zone, self.session, self.ref) = (zone, session, ref)
    }
}

extension WatcherSession {
    private var relay: ZoneJobsRelay { self.loop.zoneJobs }

    func watchJobs(_ zone: ZoneID, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.lookAtZones) else {
            return self.refuse(
                zone, .forbidden, "Only services and operations staff can watch the jobs of a zone.", ref)
        }
        guard self.watchedJobs[zone] == nil else {
            return self.refuse(zone, .badRequest, "This connection already watches the jobs of the zone.", ref)
        }
        guard self.hasRoom(for: zone, ref) else { return }
        let watched = WatchedJobs(zone: zone, session: self.session, ref: ref)
        switch self.relay.follow(watched) {
        case .following: self.watchedJobs[zone] = watched
        case .tooManyZones:
            self.refuse(
                zone, .limitExceeded,
                "Clients of this gateway already watch the jobs of \(ZoneJobsFeed.maxZones) zones, the maximum.", ref)
        case .unavailable:
            self.refuse(zone, .unavailable, "The zone cannot be read at the moment. Try again shortly.", ref)
        }
    }

    /// The zone could not be read for the first time.
    func failed(_ watched: WatchedJobs, _ refused: Refused) {
        self.unwatch(watched)
        let shown = self.session.refusal(for: refused)
        self.refuse(watched.zone, shown.code, shown.message, watched.ref)
    }

    func unwatchJobs(_ zone: ZoneID, _ ref: MessageRef?) {
        if let watched = self.watchedJobs[zone] { self.unwatch(watched) }
        self.session.send(.ok(replyTo: "unwatch", job: nil, sequence: nil, deadline: nil, ref: ref))
    }

    /// The grant was renewed. A narrower grant may not allow watching the jobs of zones.
    func reauthorizeJobs() {
        guard self.session.grant?.allows(.lookAtZones) != true else { return }
        for watched in Array(self.watchedJobs.values) {
            self.unwatch(watched)
            self.refuse(watched.zone, .forbidden, "The new token does not allow watching this zone.", nil)
        }
    }

    func unwatch(_ watched: WatchedJobs) {
        self.watchedJobs[watched.zone] = nil
        self.relay.unfollow(watched)
    }
}
