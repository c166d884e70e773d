// A rider's heartbeat: while its session is open, the gateway says so to the rider's zone. The phone need not think of it;
// a session that is half open ends by its missing pong, and the heartbeats with it.

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
    /// What the rider's phone calls itself.
    private var device: DeviceID?
    private var place: Coordinate?
    private var timer: Deadline?
    private var lastBeat: NIODeadline?
    /// A beat is on its way.
    private var isRequestInFlight = false

    /// Beats in the time for which one counts: two may be lost.
    private static let beatsPerTimeout: Int64 = 3
    /// Between two beats that tell a new place.
    private static let minPlaceInterval = TimeAmount.seconds(5)

    init(session: Session, loop: LoopState) {
        (self.session, self.loop) = (session, loop)
    }

    /// The rider's session has begun: it is heard as long as that is open. A rider that is offline, or in no zone, is passed
    /// over by the zone.
    func start() { self.beat(takesOver: false) }

    /// The rider has declared itself: from now on it is heard as long as it is online.
    func declared(by device: DeviceID?) {
        if let device { self.device = device }
        // Going online was a heartbeat.
        self.beatLater()
    }

    /// The phone says that it is there.
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
        self.beat(takesOver: isNew, isAnswered: true, ref)
    }

    /// A position of a journey was taken: it says the same.
    func positionAccepted(at place: Coordinate?) {
        if let place { self.place = place }
        guard NIODeadline.now() - (self.lastBeat ?? .uptimeNanoseconds(0)) >= Self.minPlaceInterval else { return }
        self.beat(takesOver: false)
    }

    private func beatLater() {
        let reach = self.loop.settings.liveState.riderReach.milliseconds
        self.timer?.cancel()
        self.timer = self.loop.deadlines.after(.milliseconds(reach / Self.beatsPerTimeout)) {
            [weak self, weak session = self.session] in
            guard let self, session?.isOpen == true else { return }
            self.beat(takesOver: false)
        }
    }

    /// - Parameter isAnswered: the phone waits to hear that it was heard.
    private func beat(takesOver: Bool, isAnswered: Bool = false, _ ref: MessageRef? = nil) {
        // A renewed token may be narrower.
        guard let grant = self.session.grant, grant.allows(.beAvailable) else { return }
        self.beatLater()
        guard !self.isRequestInFlight || isAnswered else { return }
        (self.isRequestInFlight, self.lastBeat) = (true, .now())
        let bound = NIOLoopBound((self, self.session), eventLoop: self.loop.eventLoop)
        let place = self.place
        self.place = nil
        self.loop.riders.heard(from: grant.person, at: place, device: self.device, takesOver: takesOver).whenComplete {
            result in
            let (presence, session) = bound.value
            presence.isRequestInFlight = false
            // Redis that does not answer is no news: the next beat asks again.
            switch result {
            case .success(.some): session.close(.replaced, "replaced by another device of this rider")
            case .success where isAnswered:
                session.send(.ok(replyTo: "presence", job: nil, sequence: nil, deadline: nil, ref: ref))
            case .failure(let error) where isAnswered: session.refuse("presence", nil, session.refusal(for: error), ref)
            case .success, .failure: break
            }
        }
    }
}
