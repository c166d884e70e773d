// The arrival times of the jobs that are followed on one event loop. Each job is checked every second, and due calculations are
// started. Only one gateway calculates for a job: the one that holds the job's lease. It publishes the result in the job's
// feed. All gateways, including itself, receive it from there and send the same bytes to followers.

package import EnrouteWire
internal import HTTPValues
package import Jobs
package import LiveState
package import Logging
package import NIOCore
internal import Routing
internal import Telemetry
internal import Tracking

/// The arrivals of one loop's followed jobs. Confined to that loop.
package final class ArrivalTimes {
    private let eventLoop: any EventLoop
    private let store: ETAStore
    private let before: PrecedingStops
    private let settings: ArrivalSettings
    private let bounds: ArrivalTime.Bounds
    private let routing: ArrivalRouting
    private let logger: Logger
    /// Where changes of arrival times are appended for other systems; `nil` for nowhere.
    private let events: EventStreams?
    private let clock: () -> (monotonic: UInt64, wall: Int64)
    private var arrivals = ArrivalTable()

    /// Called with an estimate that Redis does not publish, to send it to this loop's followers.
    package var onEstimate: (ArrivalEstimate, JobID) -> Void = { _, _ in }
    /// Called with an estimate from before there is a position, to send it to this loop's followers.
    package var onEarlyEstimate: (ArrivalEstimate, JobID) -> Void = { _, _ in }

    /// Another gateway's result that is younger than this is not replaced: this gateway's built-in estimator has the same data.
    private static let minAge = Duration.seconds(5)

    /// - Parameters:
    ///   - freshness: the time after which a position is stale and the arrival doubtful.
    ///   - clock: ns of a monotonic clock, and ms since the epoch.
    package init(
        eventLoop: any EventLoop, store: ETAStore, before: PrecedingStops, settings: ArrivalSettings,
        freshness: Duration, routing: ArrivalRouting, logger: Logger, events: EventStreams? = nil,
        clock: @escaping () -> (monotonic: UInt64, wall: Int64) = {
            (NIODeadline.now().uptimeNanoseconds, WallClock.nowMilliseconds)
        }
    ) {
        self.eventLoop = eventLoop
        self.store = store
        self.before = before
        self.settings = settings
        self.bounds = settings.bounds(freshness: freshness)
        self.clock = clock
        self.routing = routing
        self.logger = logger
        self.events = events
    }

    private var now: UInt64 { self.clock().monotonic }

    private subscript(job: JobID) -> FollowedArrival? {
        get { self.arrivals[job] }
        set { self.arrivals[job] = newValue }
    }

    // MARK: input

    /// Learns from a job that was read for its followers.
    ///
    /// - Returns: the view with the newest arrival time.
    package func viewRead(_ view: JobView, of job: JobID) -> JobView {
        guard let destination = view.record.destination, let rider = view.record.rider else {
            self[job] = nil
            return view
        }
        var arrival =
            self[job].flatMap { $0.rider == rider ? $0 : nil }
            ?? FollowedArrival(
                rider: rider, destination: destination, bounds: self.bounds,
                estimator: self.routing.learned.remove(job, of: rider, now: now) ?? TravelEstimator())
        defer { self[job] = arrival }
        arrival.setDestination(destination)
        arrival.announced.zone = view.record.zone
        arrival.vehicle = view.vehicle
        guard view.isTracking else {
            arrival.ended()
            arrival.sent(early: view.snapshot.eta, of: view.early)
            return view
        }
        arrival.sent(early: view.snapshot.eta, of: view.early)
        let now = self.now
        func before(_ milliseconds: Int64) -> UInt64 { UInt64(clamping: milliseconds).multipliedClamped(by: 1_000_000) }
        if let location = view.snapshot.location {
            let age = before(view.snapshot.positionAgeMilliseconds ?? 0)
            arrival.observe(location.fix, now: now - min(now, age))
        }
        if view.early == nil, let eta = view.snapshot.eta, eta.at > arrival.lastSent?.at ?? 0 {
            arrival.received(eta, age: before(self.clock().wall - eta.at), now: now)
        } else if view.snapshot.position != nil, view.snapshot.eta == nil {
            arrival.resultLost()
        }
        var view = view
        if view.snapshot.position != nil { view.snapshot.eta = arrival.shown }
        return view
    }

    /// Records a location. Called for every one.
    package func received(position frame: [UInt8], of job: JobID) {
        self.arrivals.received(position: frame, of: job)
    }

    package func received(_ estimate: ArrivalEstimate, of job: JobID) { self[job]?.received(estimate, now: self.now) }

    package func ended(_ job: JobID, because reason: EndReason?) {
        if reason == .arrived || reason == .completed {
            for (source, minutes, seconds) in self[job]?.predictions.arrived(now: self.now) ?? [] {
                self.routing.counts.recordError(source, minutes: minutes, seconds: seconds)
            }
        }
        self[job]?.ended()
    }

    /// The status changed, so an arrival without a position is estimated anew.
    package func statusChanged(_ job: JobID, to status: JobStatus, at time: Int64) {
        self[job]?.early?.move(to: status, at: time)
    }

    /// Nobody on this loop follows the job any longer.
    package func unfollow(_ job: JobID) {
        if let arrival = self[job], let learned = arrival.learned {
            self.routing.learned.store(learned, of: job, by: arrival.rider, now: self.now)
        }
        self[job] = nil
    }

    /// The last estimate that followers of the job received.
    package func lastEstimate(of job: JobID) -> ArrivalEstimate? { self[job]?.shown }

    /// The vehicle of a followed job's rider: known, or learned from the trip.
    func assumedVehicle(of job: JobID) -> Vehicle? { self[job]?.learned?.assumedVehicle }

    // MARK: calculations

    /// Called on every tick of the loop.
    package func tick() {
        self.arrivals.tick()
        if self.arrivals.isNewRound { self.routing.learned.expire(now: self.now) }
        guard self.arrivals.hasJobsToCheck else { return }
        let (now, wall) = self.clock()
        for (job, step) in self.arrivals.steps(now: now, wall: wall) {
            switch step {
            case .calculate(let calculation): self.calculate(calculation, job)
            case .send(let estimate): self.onEstimate(estimate, job)
            case .sendEarly(let estimate): self.onEarlyEstimate(estimate, job)
            case .wait: break
            }
        }
    }

    private func calculate(_ calculation: ArrivalTime.Calculation, _ job: JobID) {
        guard let rider = self[job]?.rider else { return }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.before.stops(before: job, of: rider).whenComplete { result in
            // If Redis fails, the stops stay as they were.
            if case .success(let stops) = result { bound.value[job]?.before = stops }
            bound.value.claim(calculation, job)
        }
    }

    private func claim(_ calculation: ArrivalTime.Calculation, _ job: JobID) {
        guard FollowedArrival.isShared(calculation) else {
            return self.finish(calculation, job, by: nil, Self.minAge)
        }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.store.claim(job, for: self.settings.lease).whenComplete { result in
            bound.value.claimed(calculation, job, result)
        }
    }

    private func claimed(_ calculation: ArrivalTime.Calculation, _ job: JobID, _ result: Result<Bool, any Error>) {
        switch result {
        case .success(let isOurs):
            switch self[job]?.turn(calculation, isOurs: isOurs, now: self.now) {
            case .ask?:
                let store = self.store
                self.findRoute(calculation, job, .zero) { await $0.find($1, store) }
            case .estimate?: self.findRoute(calculation, job, Self.minAge) { await $0.findWithoutProviders($1) }
            case .cede?, nil: break
            }
        case .failure(let error):
            self.logger.debug(
                "ETA not calculated", metadata: [LogKey.job: "\(job)", LogKey.reason: "\(error)"])
            self[job]?.failed(calculation, now: self.now)
        }
    }

    /// Finds a route. If none is found, the built-in estimator is used.
    private func findRoute(
        _ calculation: ArrivalTime.Calculation, _ job: JobID, _ minAge: Duration,
        _ find: @escaping @Sendable (ArrivalRouting, RouteQuery) async -> SourcedRoute?
    ) {
        guard self.routing.finder != nil, let question = self[job]?.question else {
            return self.finish(calculation, job, by: nil, minAge)
        }
        let routing = self.routing
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        // Never cancelled: the client's timeout limits each query.
        self.eventLoop.makeFutureWithTask { await find(routing, question) }.whenSuccess { route in
            bound.value.finish(calculation, job, by: route, minAge)
        }
    }

    private func finish(
        _ calculation: ArrivalTime.Calculation, _ job: JobID, by route: SourcedRoute?, _ minAge: Duration
    ) {
        guard let rider = self[job]?.rider,
            let estimate = self[job]?.finish(calculation, by: route, now: self.now, wall: self.clock().wall)
        else { return }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.store.publish(estimate, of: job, by: rider, minAge: minAge).whenComplete { result in
            let times = bound.value
            switch result {
            case .success(.published):
                times[job]?.predictions.published(estimate, now: times.now)
                // If the ledger is unavailable, the next change is appended.
                if let events = times.events, let event = times[job]?.announced.event(for: estimate, of: job) {
                    _ = events.append(event)
                }
            case .success: break
            case .failure(let error):
                times.logger.debug(
                    "ETA not published", metadata: [LogKey.job: "\(job)", LogKey.reason: "\(error)"])
            }
        }
    }
}

extension UInt64 {
    /// The product, or the maximum on overflow.
    fileprivate func multipliedClamped(by other: UInt64) -> UInt64 {
        let (product, isGreater) = self.multipliedReportingOverflow(by: other)
        return isGreater ? .max : product
    }
}
