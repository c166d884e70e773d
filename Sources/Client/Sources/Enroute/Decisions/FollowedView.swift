// What a follower sees of one job, as a value: each message produces the next view. The rules are those of enroute-view.js: a
// view never goes back in time, a repeated message changes nothing, a reset always wins, and a position that nobody could have
// reached is not shown.

import Foundation

struct FollowedView: Equatable {
    enum Change: Equatable {
        case snapshot, reset, status, location, tracking, eta, unavailable, proximity, ended, refused
    }

    /// Highest plausible speed, m/s.
    static let fastest = 60.0
    /// s of consistent readings before an implausible jump is accepted. The gateway has already held them for 10 s.
    static let believedAfter = 3.0

    /// Readings that contradict the shown position, since when and the last one.
    private struct Doubt: Equatable {
        var since: Date
        var last: Position
    }

    let job: JobID
    /// `nil` before the first snapshot.
    private(set) var view: JobView?
    private(set) var ended: EndReason?
    private(set) var refused: EnrouteError?
    private(set) var newestID: String?
    private var doubt: Doubt?

    init(job: JobID) { self.job = job }

    var isOver: Bool { self.ended != nil || self.refused != nil }

    var isLive: Bool { self.view?.tracking == .live && !self.isOver }

    mutating func setClock(offset: Double) { self.view?.clockOffset = offset / 1000 }

    /// Applies a message and returns what changed; `nil` if it brings nothing new.
    mutating func apply(_ message: ServerMessage, at moment: Moment, fastest: Double = Self.fastest) -> Change? {
        switch message {
        case .subscribed(_, let snapshot): return self.apply(snapshot, at: moment, isReset: false)
        case .reset(_, let snapshot): return self.apply(snapshot, at: moment, isReset: true)
        case .ended(_, let reason):
            guard self.ended != reason else { return nil }
            self.ended = reason
            self.view?.ended = reason
            self.hideRider()
            // At the end, the view loses the rider's card. If the job is no longer shared with this person, it loses
            // all details.
            self.view?.riderCard = nil
            if reason == .revoked || reason == .reassigned { self.hideDetails() }
            return .ended
        default: return self.update(message, at: moment, fastest: fastest)
        }
    }

    mutating func refuse(_ error: EnrouteError) -> Change? {
        guard self.refused != error else { return nil }
        self.refused = error
        self.hideRider()
        self.hideDetails()
        return .refused
    }

    /// Applies all other messages, which update a snapshot. Without a snapshot they are late or early, and are ignored.
    private mutating func update(_ message: ServerMessage, at moment: Moment, fastest: Double) -> Change? {
        guard !self.isOver, var view = self.view else { return nil }
        let before = view
        switch message {
        case .location(_, let location): return self.move(location.position, at: moment, fastest: fastest)
        case .tracking(_, let tracking): return self.track(tracking)
        case .status(_, let event):
            // If the epoch differs, a reset will follow. If the id is older, the snapshot contained the event.
            guard event.epoch == view.cursor.epoch, StatusID(view.cursor.id) < StatusID(event.id) else { return nil }
            (view.status, view.statusAt) = (event.status, Date(ms: event.at))
            view.cursor = StatusCursor(epoch: event.epoch, id: event.id)
            view.steps = Self.steps(view.steps, at: event.status)
            self.view = view
            return .status
        case .eta(_, let eta):
            guard !view.tracking.isOver else { return nil }
            view.arrival = eta.arrival
            self.view = view
            return view == before ? nil : .eta
        case .unavailable(_, let text):
            view.unavailableKey = text
            self.view = view
            return view == before ? nil : .unavailable
        case .proximity(_, let state):
            view.proximity = state
            self.view = view
            return view == before ? nil : .proximity
        default: return nil
        }
    }

    /// Applies a snapshot. When a subscription resumes, the view may be newer than the snapshot.
    private mutating func apply(_ snapshot: WireSnapshot, at moment: Moment, isReset: Bool) -> Change? {
        let before = self
        let old = isReset ? nil : self.view.flatMap { $0.cursor.epoch == snapshot.epoch ? $0 : nil }
        let tracking = JobView.Tracking(rawValue: snapshot.tracking) ?? .waiting
        let offered = snapshot.position?.position
        var view = JobView(
            id: self.job, kind: snapshot.kind, status: snapshot.status, statusAt: Date(ms: snapshot.statusAt),
            steps: (snapshot.steps ?? []).map(\.step), tracking: tracking, cursor: snapshot.cursor)
        if let old, StatusID(snapshot.id) < StatusID(old.cursor.id) {
            (view.status, view.statusAt, view.steps, view.cursor) = (old.status, old.statusAt, old.steps, old.cursor)
        }
        view.destination = snapshot.destination.map { Place(latitude: $0.lat, longitude: $0.lon) }
        (view.geocoding, view.vendor, view.vendorAddress) = (
            snapshot.geocoding, snapshot.vendor, snapshot.vendorAddress
        )
        (view.riderCard, view.display, view.metadata) = (
            snapshot.riderCard, snapshot.display?.display, snapshot.metadata
        )
        (view.customerNote, view.recipient) = (snapshot.customerNote, snapshot.recipient)
        (view.reason, view.textKey, view.unavailableKey) = (snapshot.reason, snapshot.text, snapshot.unavailable)
        view.travelDeadline = snapshot.travelDeadline.map { Date(ms: $0) }
        view.arrival = snapshot.eta?.arrival
        view.proximity = old?.proximity
        view.clockOffset = self.view?.clockOffset ?? 0
        // The view may be newer than the state that this gateway has read. A position that the gateway no longer shows
        // is removed.
        if let ours = old?.position, let offered, tracking.hasPosition, !Self.isAfter(offered.id, ours.id) {
            (view.position, view.positionArrivedAt) = (ours, old?.positionArrivedAt)
        } else {
            view.position = tracking.hasPosition ? offered : nil
            let age = snapshot.positionAgeMs ?? 0
            view.positionArrivedAt = view.position == nil ? nil : Date(ms: moment.wall - age)
            self.newestID = offered?.id
        }
        (self.view, self.ended, self.refused, self.doubt) = (view, nil, nil, nil)
        return self == before ? nil : isReset ? .reset : .snapshot
    }

    private mutating func track(_ message: WireTracking) -> Change? {
        let before = self
        self.view?.tracking = JobView.Tracking(rawValue: message.state) ?? .waiting
        self.view?.reason = message.reason
        self.view?.textKey = message.text
        if self.view?.tracking.hasPosition != true {
            // Removes the marker: otherwise it would later glide to the position of another rider.
            self.hideRider()
            self.view?.unavailableKey = nil
        }
        return self == before ? nil : .tracking
    }

    private mutating func move(_ position: Position, at moment: Moment, fastest: Double) -> Change? {
        guard var view = self.view, !view.tracking.isOver else { return nil }
        if let newestID, !Self.isAfter(position.id, newestID) { return nil }
        self.newestID = position.id
        // Even a reading that is not shown proves that the phone is connected.
        let wasSilent = view.tracking != .live || view.unavailableKey != nil
        (view.tracking, view.textKey, view.reason, view.unavailableKey) = (.live, "live", nil, nil)
        self.view = view
        if let shown = view.position, !shown.reaches(position, fastest: fastest) {
            let isConsistent = self.doubt?.last.reaches(position, fastest: fastest) == true
            let since = isConsistent ? self.doubt?.since ?? position.measuredAt : position.measuredAt
            if position.measuredAt.timeIntervalSince(since) < Self.believedAfter {
                self.doubt = Doubt(since: since, last: position)
                return wasSilent ? .tracking : nil
            }
        }
        self.view?.position = position
        self.view?.positionArrivedAt = moment.date
        self.doubt = nil
        return .location
    }

    private mutating func hideDetails() {
        self.view?.riderCard = nil
        self.view?.display = nil
        self.view?.metadata = nil
        self.view?.customerNote = nil
        self.view?.recipient = nil
    }

    private mutating func hideRider() {
        self.view?.position = nil
        self.view?.positionArrivedAt = nil
        self.view?.arrival = nil
        self.doubt = nil
    }

    /// Returns the steps after a status was reached. A side status (`allocation_failed`) leaves them unchanged.
    static func steps(_ steps: [JobView.Step], at status: JobStatus) -> [JobView.Step] {
        if status == .cancelled {
            return steps.map { $0.state == .complete ? $0 : JobView.Step(status: $0.status, state: .cancelled) }
        }
        guard let place = steps.firstIndex(where: { $0.status == status }) else { return steps }
        let isDone = status == .delivered || status == .completed
        return steps.enumerated().map { index, step in
            let state: JobView.Step.State =
                index < place || isDone ? .complete : index > place ? .upcoming : .active
            return JobView.Step(status: step.status, state: state)
        }
    }

    /// Compares ids of positions as numbers of any length.
    static func isAfter(_ one: String, _ other: String) -> Bool {
        let (one, other) = (one.drop { $0 == "0" }, other.drop { $0 == "0" })
        return one.utf8.count == other.utf8.count ? one > other : one.utf8.count > other.utf8.count
    }
}

extension JobView.Tracking {
    var hasPosition: Bool { self == .live || self == .stale }

    var isOver: Bool { self == .paused || self == .arrived || self == .ended }
}

extension WireSnapshot.Step {
    fileprivate var step: JobView.Step {
        JobView.Step(status: self.status, state: JobView.Step.State(rawValue: self.state) ?? .upcoming)
    }
}

extension Position {
    /// Whether a rider could have travelled from here to there in the time between the two readings.
    fileprivate func reaches(_ other: Position, fastest: Double) -> Bool {
        let meters = self.place.distance(to: other.place)
        // Within the accuracy of both readings the rider may not have moved at all.
        let open = (self.accuracy ?? 0) + (other.accuracy ?? 0)
        let seconds = max(0, other.measuredAt.timeIntervalSince(self.measuredAt))
        return meters <= open || meters - open <= fastest * seconds
    }
}

extension Place {
    /// Returns the great-circle distance in m.
    public func distance(to other: Place) -> Double {
        let radians = Double.pi / 180
        func half(_ degrees: Double) -> Double {
            let sine = sin(degrees * radians / 2)
            return sine * sine
        }
        let h =
            half(other.latitude - self.latitude)
            + cos(self.latitude * radians) * cos(other.latitude * radians) * half(other.longitude - self.longitude)
        return 2 * 6_371_008.8 * asin(min(1, h.squareRoot()))
    }
}
