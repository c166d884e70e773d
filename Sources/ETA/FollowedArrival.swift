// The arrival of one followed job on one event loop: receives locations and results, and decides the next step. All loops
// receive the same messages. Each loop sends states that need no calculation (for example, that the estimate is too old) to its
// own followers. Results of calculations (ArrivalCalculation) are published through Redis to all loops.

internal import EnrouteWire
internal import LiveState
internal import Routing
internal import Tracking
internal import WebSocket

/// The state of one followed arrival. Times are ns of a monotonic clock; `wall` is ms since the epoch.
struct FollowedArrival {
    enum Step: Hashable {
        case wait
        case calculate(ArrivalTime.Calculation)
        /// Send this estimate to the loop's followers.
        case send(ArrivalEstimate)
        /// Send this estimate from before there is a position.
        case sendEarly(ArrivalEstimate)
    }

    let rider: PersonID
    private(set) var destination: Coordinate
    private let bounds: ArrivalTime.Bounds
    var time: ArrivalTime
    private(set) var estimator: TravelEstimator
    /// The vehicle on the rider's card; `nil` to learn it from the trip.
    var vehicle: Vehicle? {
        get { self.estimator.vehicle }
        set {
            guard newValue != self.estimator.vehicle else { return }
            self.estimator.vehicle = newValue
            // Another vehicle may take another route, and take more or less time.
            if self.last != nil { self.deviated() }
        }
    }
    /// The basis of an estimate before there is a position; `nil` if nothing is known.
    var early: EarlyArrival? { didSet { self.settledUntil = 0 } }
    /// The last position, its time by the phone's corrected clock, and when it was received.
    private(set) var last: (place: Coordinate, at: Int64, received: UInt64)?
    /// The frame of the newest position. It is decoded once a second, however many arrive.
    private var unread: [UInt8]?
    /// Until this time `next` returns `wait`, unless something is received.
    private var settledUntil: UInt64 = 0
    /// The last estimate that followers received.
    private(set) var lastSent: ArrivalEstimate?
    /// The last estimate with an arrival time.
    var lastKnown: ArrivalEstimate?
    /// The last estimate that was calculated here.
    var own: ArrivalEstimate?
    /// What other systems know about the arrival.
    var announced = AnnouncedArrival()
    /// The stops the rider makes first, in order; `nil` for a stop whose location or length is unknown.
    var before: [Coordinate?] = []
    /// The route ahead, as it was last calculated; `nil` when the rider has left it.
    var route: HeldRoute?
    /// The predictions of this loop.
    var predictions = ScoredPredictions()

    /// - Parameter estimator: what was learned about this trip before.
    init(
        rider: PersonID, destination: Coordinate, bounds: ArrivalTime.Bounds,
        estimator: TravelEstimator = TravelEstimator()
    ) {
        self.rider = rider
        self.destination = destination
        self.bounds = bounds
        self.estimator = estimator
        self.time = ArrivalTime(bounds: bounds)
    }

    // MARK: input

    mutating func setDestination(_ destination: Coordinate) {
        guard destination != self.destination else { return }
        self.settledUntil = 0
        self.destination = destination
        self.time.redirected()
        (self.lastSent, self.lastKnown, self.own, self.route) = (nil, nil, nil, nil)
    }

    /// Stores only a reference. The frame is decoded at the next check.
    mutating func received(position frame: [UInt8]) { self.unread = frame }

    /// Meters. A rider this close to the destination is about to arrive, often earlier than predicted.
    static let nearMeters = 150.0

    /// - Parameter now: when it was received, or would have been.
    mutating func observe(_ fix: Fix, now: UInt64) {
        guard fix.at > self.last?.at ?? 0 else { return }
        self.settledUntil = 0
        if self.isAfterCorrection(fix, now) { self.estimator.clockChanged() }
        self.last = (fix.place, fix.at, now)
        self.estimator.observe(Reading(fix))
        let metersAhead = self.route?.follow(fix.place)
        let metersToGo = metersAhead ?? Point(fix.place).meters(to: Point(self.destination))
        // Without the line of a route, a rider who is close may be on the other bank of a river.
        let knowsWay = metersAhead != nil || self.lastKnown?.source == ArrivalSource.builtIn.rawValue
        self.time.observe(
            metersToGo: metersToGo, isAlongRoute: metersAhead != nil,
            isNear: knowsWay && metersToGo <= Self.nearMeters, now: now)
        if self.route != nil, metersAhead == nil { self.deviated() }
    }

    /// Whether the phone's clock was corrected since the last position: the times of the positions advance by more than has
    /// passed. A delayed position looks the same; treating it as a correction costs little.
    private func isAfterCorrection(_ fix: Fix, _ now: UInt64) -> Bool {
        guard let last = self.last else { return false }
        let passed = Int64(clamping: (now - min(now, last.received)) / 1_000_000)
        return fix.at - last.at > passed + ClockSkew.tolerance
    }

    /// The last calculation no longer applies. Current followers see for themselves that the rider is elsewhere; new ones do
    /// not receive the route.
    private mutating func deviated() {
        self.settledUntil = 0
        self.route = nil
        self.lastSent?.route = nil
        self.time.deviated()
    }

    /// Records an estimate that was sent to the job's followers.
    ///
    /// - Parameter age: ns since it was calculated; 0 for an estimate that has just arrived, because the clocks of gateways
    ///   are not compared.
    mutating func received(_ estimate: ArrivalEstimate, age: UInt64 = 0, now: UInt64) {
        self.settledUntil = 0
        self.lastSent = estimate
        guard estimate.state == .ok, let seconds = estimate.seconds else { return }
        self.lastKnown = estimate
        self.route = HeldRoute(estimate, age: Double(age) / 1e9)
        if estimate != self.own { self.time.adopt(seconds: Double(seconds), from: now - min(now, age), now: now) }
    }

    /// Redis has lost the last result. Followers have received it, but it has to be stored again for new ones.
    mutating func resultLost() {
        guard self.lastSent?.state == .ok else { return }
        self.settledUntil = 0
        self.time.deviated()
    }

    /// Records an estimate that was sent while there is no position.
    mutating func sent(early estimate: ArrivalEstimate?, of early: EarlyArrival?) {
        self.early = early
        if early != nil { self.lastSent = estimate }
    }

    /// Starts again, because the rider's positions ended.
    mutating func ended() {
        let (zone, vehicle) = (self.announced.zone, self.vehicle)
        self = Self(rider: self.rider, destination: self.destination, bounds: self.bounds)
        (self.announced.zone, self.vehicle) = (zone, vehicle)
    }

    // MARK: the next step

    /// Whether `next` would return `wait`. Most seconds pass without anything to do.
    func isSettled(now: UInt64) -> Bool { self.unread == nil && now < self.settledUntil }

    mutating func next(now: UInt64, wall: Int64) -> Step {
        self.read(now)
        let step = self.step(now: now, wall: wall)
        self.settledUntil = step == .wait && self.lastSent?.state == .ok ? self.time.isSettledUntil(now: now) : now
        return step
    }

    private mutating func step(now: UInt64, wall: Int64) -> Step {
        guard self.last != nil else {
            guard let estimate = self.early?.estimate(wall: wall), estimate != self.lastSent else { return .wait }
            self.lastSent = estimate
            return .sendEarly(estimate)
        }
        if let calculation = self.time.start(isFollowed: true, now: now) { return .calculate(calculation) }
        switch self.time.state(now: now) {
        case .ok(let seconds):
            guard self.lastSent?.state != .ok, let known = self.lastKnown else { return .wait }
            let range = self.range(ofSeconds: seconds, source: known.source, wall)
            return self.send(
                .init(
                    state: .ok, arrivesAt: wall + Int64(seconds * 1000), seconds: Int64(seconds.rounded()),
                    source: known.source, confidence: known.confidence, at: wall, stopsBefore: known.stopsBefore,
                    earliestAt: range?.lowerBound, latestAt: range?.upperBound,
                    route: self.remainingRoute(stopsBefore: known.stopsBefore)))
        case .recalculating: return self.send(unless: .recalculating, wall)
        case .unavailable: return self.send(unless: .unavailable, wall)
        }
    }

    private mutating func send(unless state: ArrivalState, _ wall: Int64) -> Step {
        guard self.lastSent?.state != state else { return .wait }
        return self.send(ArrivalEstimate(state: state, at: wall, stopsBefore: self.stopsBefore))
    }

    private mutating func send(_ estimate: ArrivalEstimate) -> Step {
        self.lastSent = estimate
        return .send(estimate)
    }

    private mutating func read(_ now: UInt64) {
        guard let frame = self.unread else { return }
        self.unread = nil
        let fix = frame.withUnsafeBytes { bytes -> Fix? in
            let message = Frame.message(in: bytes)
            if let fix = PublishedLocation.fix(of: message) { return fix }
            guard case .location(let location)? = try? ServerMessage(message) else { return nil }
            return location.fix
        }
        if let fix { self.observe(fix, now: now) }
    }

    // MARK: output

    /// The last estimate as new followers receive it: its route starts at the rider's position.
    var shown: ArrivalEstimate? {
        guard var shown = self.lastSent, shown.route != nil else { return self.lastSent }
        shown.route = self.remainingRoute(stopsBefore: shown.stopsBefore)
        return shown
    }

    /// What was learned about the trip; `nil` before there is a position.
    var learned: TravelEstimator? { self.last == nil ? nil : self.estimator }
}
