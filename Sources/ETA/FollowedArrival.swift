// The arrival of one followed job, as one loop knows it: from the positions and answers that are heard to what is to be done
// next. Everybody hears the same, so that what needs no calculation (that it is too old to be believed, say) is said by each
// loop to its own followers, and what is calculated is told by Redis to all.

internal import EnrouteWire
internal import Routing
internal import Tracking
internal import WebSocket

/// Learns from what is heard and decides. Times are ns of a clock that never goes back; `wall` is ms since the epoch.
struct FollowedArrival {
    enum Step: Hashable {
        case wait
        case calculate(ArrivalTime.Calculation)
        /// The loop's followers are to be told this.
        case tell(ArrivalEstimate)
    }

    let rider: PersonID
    private(set) var destination: Coordinate
    private let bounds: ArrivalTime.Bounds
    private var time: ArrivalTime
    private var estimator = TravelEstimator()
    /// Where the rider was last, and when by its phone's clock.
    private var last: (place: Coordinate, at: Int64)?
    /// The newest position as it was framed: read once a second, however many come.
    private var unread: [UInt8]?
    /// What the followers were told last.
    private(set) var told: ArrivalEstimate?
    /// The last that said when.
    private var lastKnown: ArrivalEstimate?
    /// The last that was found here.
    private var own: ArrivalEstimate?
    /// Stops the rider makes before, in their order; `nil` for one of which it is not known where it is.
    var before: [Coordinate?] = []
    /// What was told by this loop, to be judged at the arrival: a card for each who said it.
    private var cards: [ArrivalSource: Scorecard] = [:]

    init(rider: PersonID, destination: Coordinate, bounds: ArrivalTime.Bounds) {
        self.rider = rider
        self.destination = destination
        self.bounds = bounds
        self.time = ArrivalTime(bounds: bounds)
    }

    // MARK: what is heard

    mutating func aim(at destination: Coordinate) {
        guard destination != self.destination else { return }
        self.destination = destination
        self.time.redirected()
        (self.told, self.lastKnown, self.own) = (nil, nil, nil)
    }

    /// Costs a reference: it is read when its second comes.
    mutating func heard(position frame: [UInt8]) { self.unread = frame }

    /// - Parameter now: when it was heard, or would have been.
    mutating func observe(_ fix: Fix, now: UInt64) {
        guard fix.at > self.last?.at ?? 0 else { return }
        self.last = (fix.place, fix.at)
        self.estimator.observe(Reading(fix))
        self.time.observe(metersToGo: Point(fix.place).meters(to: Point(self.destination)), now: now)
    }

    /// An answer was told to the followers of the job.
    ///
    /// - Parameter age: ns since it was told; clocks of gateways are not compared for what has just come.
    mutating func heard(_ estimate: ArrivalEstimate, age: UInt64 = 0, now: UInt64) {
        self.told = estimate
        guard estimate.state == .ok, let seconds = estimate.seconds else { return }
        self.lastKnown = estimate
        if estimate != self.own { self.time.adopt(seconds: Double(seconds), from: now - min(now, age), now: now) }
    }

    /// What was found here has been told to everybody: it will be judged.
    mutating func wasTold(_ estimate: ArrivalEstimate, now: UInt64) {
        guard let source = estimate.source.flatMap(ArrivalSource.init), let seconds = estimate.seconds else { return }
        self.cards[source, default: Scorecard()].predicted(remaining: Double(seconds), at: Double(now) / 1e9)
    }

    /// The rider is there.
    ///
    /// - Returns: how wrong it was, by who said it and how long before, min and s.
    mutating func arrived(now: UInt64) -> [(source: ArrivalSource, minutes: Int, errorSeconds: Double)] {
        let cards = self.cards
        self.cards = [:]
        return cards.flatMap { source, card in
            var card = card
            return card.arrived(at: Double(now) / 1e9).map { (source, $0.minutes, $0.errorSeconds) }
        }
    }

    /// The rider's positions have ended: whatever is next begins anew.
    mutating func ended() { self = Self(rider: self.rider, destination: self.destination, bounds: self.bounds) }

    // MARK: what is next

    mutating func next(now: UInt64, wall: Int64) -> Step {
        self.read(now)
        guard self.last != nil else { return .wait }
        if let calculation = self.time.begin(isFollowed: true, now: now) { return .calculate(calculation) }
        switch self.time.state(now: now) {
        case .ok(let seconds):
            guard self.told?.state != .ok, let known = self.lastKnown else { return .wait }
            return self.tell(
                .init(
                    state: .ok, arrivesAt: wall + Int64(seconds * 1000), seconds: Int64(seconds.rounded()),
                    source: known.source, confidence: known.confidence, at: wall, stopsBefore: known.stopsBefore))
        case .recalculating: return self.tell(unless: .recalculating, wall)
        case .unavailable: return self.tell(unless: .unavailable, wall)
        }
    }

    private mutating func tell(unless state: ArrivalState, _ wall: Int64) -> Step {
        guard self.told?.state != state else { return .wait }
        return self.tell(ArrivalEstimate(state: state, at: wall, stopsBefore: self.stopsBefore))
    }

    private mutating func tell(_ estimate: ArrivalEstimate) -> Step {
        self.told = estimate
        return .tell(estimate)
    }

    private mutating func read(_ now: UInt64) {
        guard let frame = self.unread else { return }
        self.unread = nil
        let message = frame.withUnsafeBytes { try? ServerMessage(Frame.message(in: $0)) }
        if case .location(let location)? = message { self.observe(location.fix, now: now) }
    }

    // MARK: calculations

    /// Nothing is known that could stand for another minute.
    private func isUnknown(now: UInt64) -> Bool { if case .ok = self.time.state(now: now) { false } else { true } }

    /// How the rider gets there.
    private var path: MultiStopRoute.Path {
        var stops = self.before.map { MultiStopRoute.Stop(destination: $0.map { Point($0) }) }
        stops.append(MultiStopRoute.Stop(destination: Point(self.destination)))
        return MultiStopRoute(stops: stops).path(to: stops.count - 1)
    }

    private var stopsBefore: Int64? { self.before.isEmpty ? nil : Int64(self.before.count) }

    /// What to ask a service: `nil` without a position, and for a way that nobody knows.
    var question: RouteQuery? {
        guard let last = self.last, case .through = self.path else { return nil }
        return RouteQuery(places: [last.place] + self.before.compactMap { $0 } + [self.destination])
    }

    /// s that are spent at the stops before, which no service counts.
    private var standingSeconds: Double { if case .through(_, let seconds) = self.path { seconds } else { 0 } }

    /// The end of a calculation.
    ///
    /// - Parameter route: of a service; `nil`: the built-in estimator is asked.
    /// - Returns: what to tell everybody; `nil` when nothing was found, or it came too late.
    mutating func finish(
        _ calculation: ArrivalTime.Calculation, by route: SourcedRoute?, now: UInt64, wall: Int64
    ) -> ArrivalEstimate? {
        let builtIn = self.last.flatMap { self.estimator.seconds(along: self.path, from: Point($0.place)) }
        guard let seconds = route.map({ $0.answer.seconds + self.standingSeconds }) ?? builtIn else {
            self.time.failed(calculation, now: now)
            return nil
        }
        self.time.succeeded(calculation, seconds: seconds, now: now)
        guard case .ok(let remaining) = self.time.state(now: now) else { return nil }
        let confidence: ArrivalConfidence = route.map { $0.answer.knowsTraffic ? .high : .medium } ?? .low
        let estimate = ArrivalEstimate(
            state: .ok, arrivesAt: wall + Int64(remaining * 1000), seconds: Int64(remaining.rounded()),
            source: (route?.source ?? .builtIn).rawValue, confidence: confidence, at: wall,
            stopsBefore: self.stopsBefore)
        (self.own, self.lastKnown) = (estimate, estimate)
        return estimate
    }

    /// What to do with a calculation, once it is known who holds the job's lease.
    enum Turn: Hashable {
        /// A service, or the built-in estimator where there is none.
        case ask
        /// The built-in estimator alone.
        case estimate
        /// Nothing: somebody else calculates.
        case cede
    }

    /// The lease is to be asked for. Near the door no service knows more.
    static func isShared(_ calculation: ArrivalTime.Calculation) -> Bool { calculation.reason != .overdue }

    /// - Parameter isOurs: this gateway holds the lease; else somebody was asked less than the interval ago, and will be
    ///   again; until then something is better than nothing, and than what is not true any more.
    mutating func turn(_ calculation: ArrivalTime.Calculation, isOurs: Bool, now: UInt64) -> Turn {
        if isOurs { return .ask }
        guard calculation.reason != .deviation, !self.isUnknown(now: now) else { return .estimate }
        self.time.ceded(calculation, now: now)
        return .cede
    }

    mutating func failed(_ calculation: ArrivalTime.Calculation, now: UInt64) {
        self.time.failed(calculation, now: now)
    }
}
