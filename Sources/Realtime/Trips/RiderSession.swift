// The travelling half of a session: a location comes off the socket and goes to Redis.
//
// Step 1 of 7 of the hot path. Before: a frame, unmasked, from Gateway/Session.swift. Next: EnrouteWire/LocationReport.swift.

internal import Access
internal import EnrouteWire
internal import Fanout
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis
internal import Telemetry
internal import Tracking
internal import TrafficControl

/// Locations and travel mode of one rider. Confined to the session's loop.
package final class RiderSession {
    private unowned let session: Session
    private let loop: LoopState
    private var rate: TokenBucket
    /// Newest report of each job that came faster than it may be published.
    private var held: [JobID: Held] = [:]
    /// When what is held may be published.
    private var release: Deadline?
    /// When travel mode, switched on by this session, ends by itself.
    private var limits: [JobID: Deadline] = [:]
    /// Jobs whose rider was told that the time is over: those it asks about, as many as it may follow.
    private var toldOfLimit: Set<JobID> = []
    private lazy var trips = JudgedTrips(loop: self.loop, most: self.loop.settings.limits.subscriptions)
    /// Reports that wait until what followers have been shown is read: of each job the newest few.
    private var unjudged: [JobID: [LocationReport]] = [:]
    private(set) lazy var guidance = RiderGuidance(session: self.session, loop: self.loop, trips: self.trips)
    private(set) lazy var presence = RiderPresence(session: self.session, loop: self.loop)

    private lazy var round = RiderRound(rounds: self.loop.rounds)

    private struct Held {
        var report: LocationReport
        var receivedAt: Int64
        /// Since when the job waits, whatever report it waits with, ms since the epoch: who waits longest is next.
        var since: Int64
        /// It was sent to Redis before, and what became of it is not known.
        var isRepeat = false
    }

    /// As many jobs as may be followed.
    private var taken: TakenPositions

    /// Reports of a job that wait to be judged, at most: a few milliseconds' worth.
    private static let mostUnjudged = 16

    init(session: Session, loop: LoopState) {
        self.session = session
        self.loop = loop
        let limits = loop.settings.limits
        self.rate = TokenBucket(perSecond: limits.positionsPerSecond, burst: limits.positionsBurst)
        self.taken = TakenPositions(most: limits.subscriptions)
        loop.add(self, of: session)
    }

    func report(_ report: LocationReport, _ grant: Grant) {
        self.round.stops = [report.job] + report.alsoFor
        guard !report.alsoFor.isEmpty else { return self.reportOne(report, grant) }
        for one in report.forEachJob { self.reportOne(one, grant) }
    }

    /// A job that the token does not reach, or that is revoked, is answered like one that does not exist.
    private func mayChange(_ job: JobID, _ grant: Grant) -> Bool {
        grant.covers(job) && !self.loop.revocations.hides(job, from: grant.role)
    }

    /// For one job: from the phone, or after it waited to be judged.
    private func reportOne(_ report: LocationReport, _ grant: Grant) {
        guard grant.allows(.reportLocation) else {
            return self.session.refuse("location", report.job, .forbidden, "Only riders report locations.", report.ref)
        }
        guard self.mayChange(report.job, grant) else {
            return self.session.refuse("location", report.job, .noSuchJob, report.ref)
        }
        let trip = JudgedTrips.Key(rider: grant.person, job: report.job)
        guard let judged = self.trips.judge(report.fixes, strays: report.strays, battery: report.battery, trip)
        else {
            return self.judgeLater(report, grant)
        }
        // What was held was answered ok; this is about that, and not the answer to what refutes it.
        if judged.refutes {
            var refuted = report
            refuted.ref = nil
            self.refuse(refuted, .implausibleSpeed)
        }
        self.judged(report, judged.judgement, grant)
    }

    private func judgeLater(_ report: LocationReport, _ grant: Grant) {
        let waiting = self.unjudged[report.job] ?? []
        if waiting.count >= Self.mostUnjudged { self.loop.counts.add(.positionsConflatedIn) }
        self.unjudged[report.job] = waiting.suffix(Self.mostUnjudged - 1) + [report]
        guard waiting.isEmpty else { return }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.trips.read(.init(rider: grant.person, job: report.job)).whenComplete { _ in
            guard bound.value.isOpen else { return }
            for report in bound.value.rider.unjudged.removeValue(forKey: report.job) ?? [] {
                bound.value.rider.reportOne(report, grant)
            }
        }
    }

    private func judged(_ report: LocationReport, _ judgement: Judgement, _ grant: Grant) {
        switch judgement {
        case .publish(let fix):
            var report = report
            report.fixes = [fix]
            self.take(report, grant)
        case .held:
            // The answer to what waits covers all before it.
            guard self.held[report.job] == nil else {
                self.held[report.job]?.report.sequence = report.sequence
                self.held[report.job]?.report.ref = report.ref
                return
            }
            self.session.send(
                .ok(re: "location", job: report.job, sequence: report.sequence, deadline: nil, ref: report.ref))
        case .refused(let reason):
            let isOlder = reason == .outOfOrder || reason == .duplicate
            if !isOlder || self.held[report.job] == nil { self.refuse(report, reason) }
        }
    }

    private func take(_ report: LocationReport, _ grant: Grant) {
        let waiting = self.held[report.job]
        let isNext = self.held.count == (waiting == nil ? 0 : 1)
        guard isNext, self.rate.take(at: NIODeadline.now().uptimeNanoseconds) else {
            // As many jobs as may be followed: a rider has few.
            guard waiting != nil || self.held.count < self.loop.settings.limits.subscriptions else {
                return self.session.refuse(
                    "location", report.job, .limitExceeded, "Positions of too many jobs at once.", report.ref)
            }
            self.held[report.job] = Held(report: report, receivedAt: .now, since: waiting?.since ?? .now)
            if waiting != nil { self.loop.counts.add(.positionsConflatedIn) }
            return self.releaseLater(grant)
        }
        // Older than this one, or this one would have been refused above.
        if self.held.removeValue(forKey: report.job) != nil { self.loop.counts.add(.positionsConflatedIn) }
        self.publish(report, receivedAt: .now, grant)
    }

    /// Publishes what was held back, as fast as it may.
    private func releaseLater(_ grant: Grant, after least: TimeAmount = .zero) {
        guard self.release == nil else { return }
        let wait = self.rate.wait(at: NIODeadline.now().uptimeNanoseconds)
        self.release = self.loop.deadlines.after(max(least, .nanoseconds(Int64(clamping: wait)))) {
            [weak self, weak session = self.session] in
            // A session that is gone has taken its rider with it.
            guard let self, session?.isOpen == true else { return }
            self.release = nil
            let held = self.held.sorted { $0.value.since < $1.value.since }
            for (job, waiting) in held where self.rate.take(at: NIODeadline.now().uptimeNanoseconds) {
                self.held[job] = nil
                self.publish(waiting.report, receivedAt: waiting.receivedAt, grant, isRepeat: waiting.isRepeat)
            }
            if !self.held.isEmpty { self.releaseLater(grant, after: Self.outageDelay) }
        }
    }

    /// Between two attempts to publish what Redis could not take.
    private static let outageDelay = TimeAmount.milliseconds(250)

    private func publish(_ report: LocationReport, receivedAt: Int64, _ grant: Grant, isRepeat: Bool = false) {
        guard let fix = report.newest else { return }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.loop.publisher.publish(fix, for: report.job, by: grant.person, receivedAt: receivedAt).whenComplete {
            bound.value.rider.published(report, receivedAt, grant, isRepeat, $0)
        }
    }

    private func published(
        _ report: LocationReport, _ receivedAt: Int64, _ grant: Grant, _ isRepeat: Bool,
        _ result: Result<LocationPublisher.Verdict, any Error>
    ) {
        switch result {
        case .success(.accepted(_, let listeners)):
            if let fix = report.newest { self.taken.remember(fix, of: report.job, receivedAt: receivedAt) }
            self.accepted(report, grant, listeners: listeners)
        // The first time it may have been taken, and the answer lost.
        case .success(.stale) where isRepeat: self.accepted(report, grant, listeners: nil)
        case .success(.stale): self.overrule(report, .outOfOrder, grant)
        case .success(.future): self.overrule(report, .future, grant)
        case .success(.timeLimit(let deadline)):
            self.loop.relay.limits.closeNow(report.job, deadline)
            self.endsByLimit(report.job)
            self.trips.overrule(.travelModeOff, .init(rider: grant.person, job: report.job))
            self.refuse(report, .travelModeOff, "The time in which a position may be shared for this job is over.")
        case .success(.unknown): self.reopen(report, receivedAt, grant)
        case .success(.travelModeOff), .success(.otherRider): self.overrule(report, .travelModeOff, grant)
        case .failure(let error):
            if (error as? RedisError)?.isOutage == true { return self.keep(report, receivedAt, grant) }
            let refused = self.session.refused(error)
            self.refuse(report, refused.code, refused.message)
        }
    }

    /// The live instance answers again. A master that was replaced has taken positions that the new one lacks, and a rider may
    /// report the next one seconds later; so the newest of each job goes out once more, and what waited goes out at once.
    /// Where the master has it, nothing happens.
    func publishAgain() {
        guard self.session.isOpen, let grant = self.session.grant else { return }
        for (job, taken) in self.taken.recent(now: .now) where self.held[job] == nil {
            self.loop.publishAgain(taken, of: job, by: grant.person)
        }
        guard !self.held.isEmpty else { return }
        self.release?.cancel()
        self.release = nil
        self.releaseLater(grant)
    }

    /// - Parameter listeners: who heard it; `nil` when it had been taken before, and that is not known.
    private func accepted(_ report: LocationReport, _ grant: Grant, listeners: Int?) {
        if grant.allows(.beAvailable) { self.presence.travelled(to: report.newest?.place) }
        self.round.accepted(report.job)
        defer {
            if let listeners, let fix = report.newest { self.guidance.published(fix, report.job, grant, listeners) }
        }
        self.session.send(
            .ok(re: "location", job: report.job, sequence: report.sequence, deadline: nil, ref: report.ref))
    }

    /// Redis knows more than this session.
    private func overrule(_ report: LocationReport, _ reason: FixRefusal, _ grant: Grant) {
        self.trips.overrule(reason, .init(rider: grant.person, job: report.job))
        self.refuse(report, reason)
    }

    /// Redis is away: the newest position of each job is kept, and sent when it is back.
    private func keep(_ report: LocationReport, _ receivedAt: Int64, _ grant: Grant) {
        if let held = self.held[report.job]?.report.newest, held.at >= report.newest?.at ?? 0 { return }
        guard self.held[report.job] != nil || self.held.count < self.loop.settings.limits.subscriptions else {
            return self.refuse(report, .limitExceeded, "Positions of too many jobs at once.")
        }
        self.loop.counts.add(.positionsKept)
        self.held[report.job] = Held(
            report: report, receivedAt: receivedAt, since: self.held[report.job]?.since ?? .now, isRepeat: true)
        self.releaseLater(grant, after: Self.outageDelay)
    }

    /// The live instance knows nothing of the job. If it forgot, travel mode is opened again, and the position sent again.
    private func reopen(_ report: LocationReport, _ receivedAt: Int64, _ grant: Grant) {
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.loop.jobs.reopen(report.job, for: grant.person).whenComplete { result in
            let rider = bound.value.rider
            switch result {
            case .success(true): rider.publish(report, receivedAt: receivedAt, grant, isRepeat: true)
            case .success(false): rider.overrule(report, .travelModeOff, grant)
            case .failure: rider.keep(report, receivedAt, grant)
            }
        }
    }

    private func refuse(_ report: LocationReport, _ reason: FixRefusal) {
        self.session.send(
            .error(
                Refusal(
                    re: "location", job: report.job, code: reason.code, message: reason.sentence,
                    reason: reason.rawValue, ref: report.ref)))
    }

    private func refuse(_ report: LocationReport, _ code: ErrorCode, _ message: String) {
        self.session.refuse("location", report.job, code, message, report.ref)
    }

    func declare(_ status: Availability, _ device: DeviceID?, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.beAvailable) else {
            return self.session.refuse(
                "availability", nil, .forbidden,
                "Only riders declare themselves, with a token that is not narrowed to a job.", ref)
        }
        if let wait = self.loop.quotas.availability(of: grant.person, at: NIODeadline.now().uptimeNanoseconds) {
            return self.session.refuse(
                "availability", nil, .rateLimited, "The status may not be declared so often.", ref, retryIn: wait)
        }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.loop.riders.declare(status, of: grant.person, device: device, by: .init(grant.person)).whenComplete {
            result in
            switch result {
            case .success:
                bound.value.send(.ok(re: "availability", job: nil, sequence: nil, deadline: nil, ref: ref))
                bound.value.rider.presence.declared(by: device)
            case .failure(let error): bound.value.refuse("availability", nil, bound.value.refused(error).ofItself, ref)
            }
        }
    }

    func travel(_ job: JobID, active: Bool, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.switchTravel) else {
            return self.session.refuse("travel", job, .forbidden, "Only riders switch travel mode.", ref)
        }
        guard self.mayChange(job, grant) else { return self.session.refuse("travel", job, .noSuchJob, ref) }
        if !active {
            self.trips.restart(.init(rider: grant.person, job: job))
            self.held[job] = nil
            self.taken.forget(job)
            self.limits.removeValue(forKey: job)?.cancel()
        }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        let jobs = self.loop.jobs
        let done: EventLoopFuture<Int64?> =
            active
            ? jobs.startTravel(job, by: grant.person).map { $0 } : jobs.stopTravel(job, by: grant.person).map { nil }
        done.whenComplete { result in
            switch result {
            case .success(let deadline):
                bound.value.send(.ok(re: "travel", job: job, sequence: nil, deadline: deadline, ref: ref))
                if let deadline {
                    bound.value.rider.watch(job, until: deadline)
                    bound.value.rider.guidance.started(job, grant)
                }
            case .failure(let error):
                let refused = bound.value.refused(error)
                bound.value.refuse("travel", job, refused.code, refused.message, ref)
            }
        }
    }

    // MARK: the limit of its time

    private func watch(_ job: JobID, until deadline: Int64) {
        self.toldOfLimit.remove(job)
        self.limits[job]?.cancel()
        self.limits[job] = self.loop.deadlines.after(.until(deadline)) {
            [weak self, weak session = self.session] in
            guard let self, session?.isOpen == true else { return }
            self.loop.relay.limits.closeNow(job, deadline)
            self.endsByLimit(job)
        }
    }

    /// The rider is told once, whether it was still sending or not.
    private func endsByLimit(_ job: JobID) {
        self.held[job] = nil
        self.taken.forget(job)
        self.limits.removeValue(forKey: job)?.cancel()
        if self.toldOfLimit.count >= self.loop.settings.limits.subscriptions { self.toldOfLimit.removeAll() }
        guard self.toldOfLimit.insert(job).inserted else { return }
        self.session.send(.tracking(job: job, .ended, .timeLimit))
    }
}
