// The heartbeats of a rider. While the rider's session is open, the gateway sends them to the rider's zone on its behalf, so
// the phone does not have to. A half-open session is closed when a pong is missing, which also stops the heartbeats.

internal import Access
internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis
internal import TrafficControl

/// The heartbeats of one session. Confined to its loop.
final class RiderPresence {
    private unowned let session: Session
    private let loop: LoopState
    /// The id of the rider's phone.
    private var device: DeviceID?
    private var place: Coordinate?
    private var timer: Deadline?
    /// The zone in which the last heartbeat found the rider online. Places are stored there without another query.
    private var zone: ZoneID?
    /// The usual heartbeat in that zone.
    private var usual: Riders.HeartbeatCommand?
    /// A heartbeat has been sent and Redis has not replied yet.
    private var isRequestInFlight = false
    /// Another heartbeat became due meanwhile. The pending reply may not reflect, for example, that the rider went
    /// online.
    private var needsAnother = false

    /// Heartbeats per heartbeat timeout, so two in a row can be lost.
    private static let heartbeatsPerTimeout: Int64 = 3

    init(session: Session, loop: LoopState) {
        (self.session, self.loop) = (session, loop)
    }

    /// The session started. Its rider is reachable while it is open. The zone ignores heartbeats of riders that are
    /// offline or not in a zone.
    func start() { self.sendHeartbeat(takesOver: false) }

    /// The rider set its availability. It is reachable as long as it is online.
    func availabilitySet(_ status: Availability, by device: DeviceID?) {
        if let device { self.device = device }
        switch status {
        // Setting the availability counted as a heartbeat. This one finds out the zone and stores the place.
        case .online: self.sendHeartbeat(takesOver: false)
        case .offline:
            self.leaveZone()
            self.scheduleHeartbeat()
        }
    }

    /// Reconnecting phones would otherwise leave a timer behind with each connection.
    func sessionEnded() { self.timer?.cancel() }

    private func leaveZone() {
        guard let zone = self.zone, let rider = self.session.grant?.person else { return }
        self.loop.places.drop(rider, in: zone)
        self.zone = nil
    }

    /// The phone reports its presence.
    func presenceReported(at place: Coordinate?, _ device: DeviceID?, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.beAvailable) else {
            return self.session.refuse(
                "presence", nil, .forbidden,
                "Only riders can report presence, and their token must not be restricted to one job.", ref
            )
        }
        let isNew = device != nil && device != self.device
        if let device { self.device = device }
        if let place { self.place = place }
        self.sendHeartbeat(takesOver: isNew, isAnswered: true, ref)
    }

    /// A position of a trip was accepted. While the rider is online, its place is stored within two seconds. Otherwise,
    /// the next heartbeat finds out whether the rider is online.
    func positionAccepted(at place: Coordinate) {
        if let zone, let rider = self.session.grant?.person {
            self.loop.places.add(rider, in: zone, at: place)
        } else {
            self.place = place
        }
    }

    private func scheduleHeartbeat() {
        let reach = self.loop.settings.liveState.heartbeatTimeout.milliseconds
        self.timer?.cancel()
        self.timer = self.loop.deadlines.after(.milliseconds(reach / Self.heartbeatsPerTimeout)) {
            [weak self, weak session = self.session] in
            guard let self, session?.isOpen == true else { return }
            self.sendHeartbeat(takesOver: false)
        }
    }

    /// - Parameters:
    ///   - isAnswered: the phone expects an answer.
    ///   - mayRepeat: the usual heartbeat suffices if the rider's zone is known.
    private func sendHeartbeat(
        takesOver: Bool, isAnswered: Bool = false, mayRepeat: Bool = true, _ ref: MessageRef? = nil
    ) {
        // A refreshed token may have a narrower grant.
        guard let grant = self.session.grant, grant.allows(.beAvailable) else { return }
        self.scheduleHeartbeat()
        guard !self.isRequestInFlight || isAnswered else {
            self.needsAnother = true
            return
        }
        if mayRepeat, !takesOver, !isAnswered, self.place == nil, let zone, self.repeatHeartbeat(grant.person, in: zone)
        {
            self.isRequestInFlight = true
            return
        }
        self.isRequestInFlight = true
        let bound = NIOLoopBound((self, self.session), eventLoop: self.loop.eventLoop)
        let place = self.place
        self.place = nil
        self.loop.riders.recordHeartbeat(of: grant.person, at: place, device: self.device, takesOver: takesOver)
            .whenComplete {
                result in
                let (presence, session) = bound.value
                presence.isRequestInFlight = false
                switch result {
                case .success(.recorded(let zone)): presence.zone = zone
                case .success: presence.leaveZone()
                // If Redis does not answer, nothing changes: the next heartbeat tries again.
                case .failure: break
                }
                switch result {
                case .success(.otherDevice): session.close(.replaced, "replaced by another device of this rider")
                case .success where isAnswered:
                    session.send(.ok(replyTo: "presence", job: nil, sequence: nil, deadline: nil, ref: ref))
                case .failure(let error) where isAnswered:
                    session.refuse("presence", nil, session.refusal(for: error), ref)
                case .success, .failure: break
                }
                guard presence.needsAnother, session.isOpen else { return }
                presence.needsAnother = false
                presence.sendHeartbeat(takesOver: false)
            }
    }

    /// - Returns: whether it was sent.
    private func repeatHeartbeat(_ rider: PersonID, in zone: ZoneID) -> Bool {
        let riders = self.loop.riders.riders
        let command: Riders.HeartbeatCommand
        if let usual, usual.zone == zone, usual.device == self.device {
            command = usual
        } else {
            command = riders.heartbeatCommand(of: rider, in: zone, device: self.device)
            self.usual = command
        }
        return riders.repeatHeartbeat(command) { [weak self, weak session = self.session] outcome in
            guard let self, session?.isOpen == true else { return }
            self.isRequestInFlight = false
            guard outcome == .isUnusual || self.needsAnother else { return }
            self.needsAnother = false
            self.sendHeartbeat(takesOver: false, mayRepeat: outcome != .isUnusual)
        }
    }
}
