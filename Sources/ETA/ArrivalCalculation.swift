// The calculation of one arrival: what to query, and the estimate that follows from the result.

internal import EnrouteWire
internal import Routing
internal import Tracking

extension FollowedArrival {
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

    /// Whether there is no estimate that could be used for another interval.
    private func isUnknown(now: UInt64) -> Bool { if case .ok = self.time.state(now: now) { false } else { true } }

    // MARK: query and result

    /// The query for a provider; `nil` without a position, and for an unknown path.
    var question: RouteQuery? {
        guard let last = self.last, case .through = self.path else { return nil }
        return RouteQuery(
            places: [last.place] + self.before.compactMap { $0 } + [self.destination],
            vehicle: self.estimator.assumedVehicle)
    }

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
            // An estimate from before the unknown stop was listed must not count down.
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
    func remainingRoute(stopsBefore: Int64?) -> RemainingRoute? {
        guard let route, route.stopsBefore == stopsBefore, let last else { return nil }
        return route.ahead(of: last.place)
    }

    /// The range within which 80 % of the riders arrive for whom these seconds are estimated, ms since the epoch. Only the
    /// gateway's own estimators are calibrated, so the estimates of providers have no range.
    func range(ofSeconds seconds: Double, source: String?, _ wall: Int64) -> ClosedRange<Int64>? {
        guard [ArrivalSource.builtIn.rawValue, ArrivalSource.streets.rawValue].contains(source) else { return nil }
        let range = self.estimator.range(ofSeconds: seconds)
        return wall + Int64(range.lowerBound * 1000)...wall + Int64(range.upperBound * 1000)
    }

    mutating func failed(_ calculation: ArrivalTime.Calculation, now: UInt64) {
        self.time.failed(calculation, now: now)
    }

    // MARK: the path

    /// The path of the rider to the destination.
    private var path: MultiStopRoute.Path {
        var stops = self.before.map { MultiStopRoute.Stop(destination: $0.map { Point($0) }) }
        stops.append(MultiStopRoute.Stop(destination: Point(self.destination)))
        return MultiStopRoute(stops: stops).path(to: stops.count - 1)
    }

    var stopsBefore: Int64? { self.before.isEmpty ? nil : Int64(self.before.count) }

    /// Seconds spent at the preceding stops, which providers do not include.
    private var standingSeconds: Double { if case .through(_, let seconds) = self.path { seconds } else { 0 } }
}
