// The arrival of one followed job on one event loop: receives locations and results, and decides the next step. All loops
// receive the same messages. States that need no calculation (for example, that the estimate is too old) are sent by each loop
// to its own followers; results of calculations are published through Redis to all loops.

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
    private var time: ArrivalTime
    private var estimator: TravelEstimator
    /// The vehicle on the rider's card; `nil` to learn it from the trip.
    var vehicle: Vehicle? {
        get { self.estimator.vehicle }
        set {
            guard newValue != self.estimator.vehicle else { return }
            self.estimator.vehicle = newValue
            // Another vehicle may take another route, and another time.
            if self.last != nil { self.deviated() }
        }
    }
    /// The basis of an estimate before there is a position; `nil` if nothing is known.
    var early: EarlyArrival? { didSet { self.settledUntil = 0 } }
    /// The last position, its time by the phone's corrected clock, and when it was received.
    private var last: (place: Coordinate, at: Int64, received: UInt64)?
    /// The frame of the newest position. It is decoded once a second, however many arrive.
    private var unread: [UInt8]?
    /// Until this time `next` returns `wait`, unless something is received.
    private var settledUntil: UInt64 = 0
    /// The last estimate that followers received.
    private(set) var lastSent: ArrivalEstimate?
    /// The last estimate with an arrival time.
    private var lastKnown: ArrivalEstimate?
    /// The last estimate that was calculated here.
    private var own: ArrivalEstimate?
    /// When the rider arrives, according to the last event for other systems; ms since the epoch.
    private var announced: Int64?
    /// The job's zone, for other systems.
    var zone: ZoneID?
    /// The stops the rider makes first, in order; `nil` for a stop whose location or length is unknown.
    var before: [Coordinate?] = []
    /// The route ahead, as it was last calculated; `nil` when the rider has left it.
    private var route: HeldRoute?
    /// The predictions of this loop by source, scored at the arrival.
    private var cards: [ArrivalSource: Scorecard] = [:]

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

    /// Redis has lost the last result. Followers have received it, and it should be stored again for others.
    mutating func resultLost() {
        guard self.lastSent?.state == .ok else { return }
        self.settledUntil = 0
        self.time.deviated()
    }

    /// Records that an estimate from here was published, so it is scored later.
    mutating func published(_ estimate: ArrivalEstimate, now: UInt64) {
        guard let source = estimate.source.flatMap(ArrivalSource.init), let seconds = estimate.seconds else { return }
        self.cards[source, default: Scorecard()].predicted(remaining: Double(seconds), at: Double(now) / 1e9)
    }

    /// ms. An estimate whose arrival time differs from the last one by at least this is an event for other systems.
    static let announcedChange: Int64 = 120_000

    /// Decides whether an estimate that was published is an event for other systems.
    ///
    /// - Returns: the event. Only the gateway that published the estimate appends it; a repeat of it has the same id.
    mutating func announcement(of estimate: ArrivalEstimate, job: JobID) -> LedgerEvent? {
        guard estimate.state == .ok, let arrivesAt = estimate.arrivesAt else { return nil }
        if let announced, (announced - Self.announcedChange + 1..<announced + Self.announcedChange).contains(arrivesAt)
        {
            return nil
        }
        self.announced = arrivesAt
        return LedgerEvent(
            id: "\(job).eta.\(estimate.at)", kind: .etaChanged, time: estimate.at, subject: job.text,
            zone: self.zone, data: "{\"arrivesAt\":\(arrivesAt),\"source\":\"\(estimate.source ?? "")\"}")
    }

    /// The rider has arrived.
    ///
    /// - Returns: the errors of the predictions by source and by minutes before the arrival.
    mutating func arrived(now: UInt64) -> [(source: ArrivalSource, minutes: Int, errorSeconds: Double)] {
        let cards = self.cards
        self.cards = [:]
        return cards.flatMap { source, card in
            var card = card
            return card.arrived(at: Double(now) / 1e9).map { (source, $0.minutes, $0.errorSeconds) }
        }
    }

    /// Records an estimate that was sent while there is no position.
    mutating func sent(early estimate: ArrivalEstimate?, of early: EarlyArrival?) {
        self.early = early
        if early != nil { self.lastSent = estimate }
    }

    /// Starts again, because the rider's positions ended.
    mutating func ended() {
        let (zone, vehicle) = (self.zone, self.vehicle)
        self = Self(rider: self.rider, destination: self.destination, bounds: self.bounds)
        (self.zone, self.vehicle) = (zone, vehicle)
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

    // MARK: calculations

    /// Whether there is no estimate that could be used for another interval.
    private func isUnknown(now: UInt64) -> Bool { if case .ok = self.time.state(now: now) { false } else { true } }

    /// The path of the rider to the destination.
    private var path: MultiStopRoute.Path {
        var stops = self.before.map { MultiStopRoute.Stop(destination: $0.map { Point($0) }) }
        stops.append(MultiStopRoute.Stop(destination: Point(self.destination)))
        return MultiStopRoute(stops: stops).path(to: stops.count - 1)
    }

    private var stopsBefore: Int64? { self.before.isEmpty ? nil : Int64(self.before.count) }

    /// The query for a provider; `nil` without a position, and for an unknown path.
    var question: RouteQuery? {
        guard let last = self.last, case .through = self.path else { return nil }
        return RouteQuery(
            places: [last.place] + self.before.compactMap { $0 } + [self.destination],
            vehicle: self.estimator.assumedVehicle)
    }

    /// Seconds spent at the preceding stops, which providers do not include.
    private var standingSeconds: Double { if case .through(_, let seconds) = self.path { seconds } else { 0 } }

    /// Ends a calculation.
    ///
    /// - Parameter route: from a provider or the street network; `nil` to use the built-in estimator.
    /// - Returns: the estimate to publish; `nil` if there is none or the result is too late.
    mutating func finish(
        _ calculation: ArrivalTime.Calculation, by route: SourcedRoute?, now: UInt64, wall: Int64
    ) -> ArrivalEstimate? {
        guard self.time.isRunning(calculation) else { return nil }
        guard let seconds = self.seconds(by: route) else {
            self.time.failed(calculation, now: now)
            // What was calculated before such a stop was listed does not count down.
            if self.before.contains(nil) {
                self.time.invalidated()
                (self.lastKnown, self.own, self.route) = (nil, nil, nil)
            }
            return nil
        }
        let isNew = self.time.succeeded(calculation, seconds: seconds, now: now)
        // Close to the destination, followers receive only changes that they see. A rider who waits at the door stays "about
        // to arrive".
        guard isNew || Self.isShared(calculation) else { return nil }
        guard case .ok(let remaining) = self.time.state(now: now) else { return nil }
        let confidence: ArrivalConfidence = route.map { $0.answer.knowsTraffic ? .high : .medium } ?? .low
        let source = (route?.source ?? .builtIn).rawValue
        let range = self.range(ofSeconds: remaining, source: source, wall)
        self.route = self.last.flatMap { last in
            // The route takes as long as the estimate says.
            if let route {
                return HeldRoute(
                    route.answer.taking(seconds - self.standingSeconds), from: last.place, to: self.destination,
                    stopsBefore: self.stopsBefore)
            }
            return self.route.flatMap { held in
                held.stopsBefore == self.stopsBefore
                    ? held.ahead(of: last.place, taking: remaining - self.standingSeconds) : nil
            }
        }
        let estimate = ArrivalEstimate(
            state: .ok, arrivesAt: wall + Int64(remaining * 1000), seconds: Int64(remaining.rounded()),
            source: source, confidence: confidence, at: wall, stopsBefore: self.stopsBefore,
            earliestAt: range?.lowerBound, latestAt: range?.upperBound,
            route: self.remainingRoute(stopsBefore: self.stopsBefore))
        (self.own, self.lastKnown) = (estimate, estimate)
        return estimate
    }

    /// Seconds to the arrival; `nil` without a position, and for an unknown path.
    private func seconds(by route: SourcedRoute?) -> Double? {
        let streets = route?.source == .streets ? route?.answer.seconds : nil
        if let route, streets == nil { return route.answer.seconds + self.standingSeconds }
        return self.last.flatMap {
            self.estimator.seconds(along: self.path, from: Point($0.place), streetSeconds: streets)
        }
    }

    /// The route that is still ahead. It is not shown if the number of preceding stops has changed since it was calculated,
    /// because it would lead to the wrong ones.
    private func remainingRoute(stopsBefore: Int64?) -> RemainingRoute? {
        guard let route, route.stopsBefore == stopsBefore, let last else { return nil }
        return route.ahead(of: last.place)
    }

    /// The last estimate as new followers receive it: its route starts at the rider's position.
    var shown: ArrivalEstimate? {
        guard var shown = self.lastSent, shown.route != nil else { return self.lastSent }
        shown.route = self.remainingRoute(stopsBefore: shown.stopsBefore)
        return shown
    }

    /// What was learned about the trip; `nil` before there is a position.
    var learned: TravelEstimator? { self.last == nil ? nil : self.estimator }

    /// The range within which 80 % of the riders arrive for whom these seconds are estimated, ms since the epoch. Only the
    /// gateway's own estimators are calibrated, so the estimates of providers have no range.
    private func range(ofSeconds seconds: Double, source: String?, _ wall: Int64) -> ClosedRange<Int64>? {
        guard [ArrivalSource.builtIn.rawValue, ArrivalSource.streets.rawValue].contains(source) else { return nil }
        let range = self.estimator.range(ofSeconds: seconds)
        return wall + Int64(range.lowerBound * 1000)...wall + Int64(range.upperBound * 1000)
    }

    /// What to do with a calculation, depending on who holds the job's lease.
    enum Turn: Hashable {
        /// Query a provider, or use the built-in estimator if there is none.
        case ask
        /// Use the street network and the built-in estimator, without a provider.
        case estimate
        /// Do nothing: another gateway calculates.
        case cede
    }

    /// Whether the calculation needs the lease. Close to the destination it does not need one, because it queries no provider.
    static func isShared(_ calculation: ArrivalTime.Calculation) -> Bool {
        switch calculation.reason {
        case .due, .deviation: true
        case .overdue, .near: false
        }
    }

    /// - Parameter isOurs: whether this gateway holds the lease. If not, another gateway calculated less than an interval ago
    ///   and will calculate again. Until then the gateway's own estimators are better than nothing, and better than an invalid
    ///   estimate.
    mutating func turn(_ calculation: ArrivalTime.Calculation, isOurs: Bool, now: UInt64) -> Turn {
        if isOurs {
            self.time.asked(calculation)
            return .ask
        }
        guard calculation.reason != .deviation, !self.isUnknown(now: now) else { return .estimate }
        self.time.ceded(calculation, now: now)
        return .cede
    }

    mutating func failed(_ calculation: ArrivalTime.Calculation, now: UInt64) {
        self.time.failed(calculation, now: now)
    }
}
