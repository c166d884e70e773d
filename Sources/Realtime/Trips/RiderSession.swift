// The rider's part of a session: locations arrive from the socket and are published to Redis.
//
// Step 3 of 10 of the hot path. Before: EnrouteWire/Location/LocationReport.swift
// Next: Realtime/Trips/TripValidators.swift

internal import Access
internal import EnrouteWire
internal import Fanout
internal import HotPath
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis
internal import Telemetry
internal import Tracking
internal import TrafficControl
internal import WebSocket

/// The locations and travel mode of one rider. Confined to the session's loop.
package final class RiderSession {
    unowned let session: Session
    let loop: LoopState
    /// Decides about the reports; this class carries out the decisions.
    var queue: ReportQueue
    private var unvalidated: UnvalidatedReports
    /// When the queue's timer is due.
    private var queueTimer: Deadline?
    /// The sharing time limits of the jobs whose travel mode this session switched on.
    var sharingTimers: SharingTimers<Deadline>
    lazy var trips = TripValidators(
        loop: self.loop, most: self.loop.settings.limits.subscriptions, reporter: self.reporter)
    private(set) lazy var guidance = RiderGuidance(session: self.session, loop: self.loop, trips: self.trips)
    private(set) lazy var presence = RiderPresence(session: self.session, loop: self.loop)

    private var paths: PublicationPaths
    /// The reporting device, by the name that it last sent; before that, this connection stands for it.
    private(set) var reporter = Reporter.connection() {
        didSet { self.trips.reporter = self.reporter }
    }

    /// The device has switched travel mode or reported under its current name.
    private var isKnownAsReporter = false

    /// The jobs whose travel mode is being switched on.
    var starting: Set<JobID> = []

    private lazy var stopSequence = StopSequence(store: self.loop.stopSequences)

    init(session: Session, loop: LoopState) {
        self.session = session
        self.loop = loop
        let limits = loop.settings.limits
        self.queue = ReportQueue(
            perSecond: limits.positionsPerSecond, burst: limits.positionsBurst, maxJobs: limits.subscriptions)
        self.unvalidated = UnvalidatedReports(maxJobs: limits.subscriptions)
        self.sharingTimers = SharingTimers(maxJobs: limits.subscriptions)
        self.paths = PublicationPaths(maxJobs: limits.subscriptions)
        loop.add(self, of: session)
    }

    /// The phone sends the name of its device. Once a device has switched travel mode on or reported, it keeps the name that it
    /// used for this, because parts of an app may use different names.
    ///
    /// - Parameter switchesTravel: the name came with a message that switches travel mode.
    func name(_ device: DeviceID?, switchesTravel: Bool) {
        if let device, switchesTravel || !self.isKnownAsReporter {
            let reporter = Reporter(device)
            if reporter != self.reporter { self.reporter = reporter }
        }
        if switchesTravel { self.isKnownAsReporter = true }
    }

    /// The session ended. A device without a name cannot continue on another connection, so another device without a name may
    /// report from now on.
    func sessionEnded() {
        // Timers may be due in hours, and phones reconnect often.
        for timer in self.sharingTimers.removeAll() { timer.cancel() }
        self.guidance.sessionEnded()
        self.presence.sessionEnded()
        guard self.reporter.isNameless else { return }
        for trip in self.trips.shared { self.loop.jobs.feed.release(trip.job, by: trip.rider, on: self.reporter) }
    }

    func report(_ report: LocationReport, _ grant: Grant) {
        HotPath.pass(.riderSession)
        self.isKnownAsReporter = true
        self.stopSequence.stops = [report.job] + report.otherJobs
        guard !report.otherJobs.isEmpty else { return self.reportOne(report, grant) }
        for one in report.forEachJob { self.reportOne(one, grant) }
    }

    /// A job that the token does not cover, or that is revoked, is treated as if it did not exist.
    func reaches(_ job: JobID, _ grant: Grant) -> Bool {
        grant.covers(job) && !self.loop.revocations.hides(job, from: grant.role)
    }

    /// Handles the report for one job, either immediately or after it has waited for validation.
    private func reportOne(_ report: LocationReport, _ grant: Grant) {
        guard grant.allows(.reportLocation) else {
            return self.session.refuse(
                "location", report.job, .forbidden, "Only riders can report locations.", report.ref)
        }
        guard self.reaches(report.job, grant) else {
            return self.session.refuse("location", report.job, .noSuchJob, report.ref)
        }
        let trip = TripValidators.Key(rider: grant.person, job: report.job)
        guard
            let validated = self.trips.validate(
                report.fixes, invalidFixes: report.invalidFixes, battery: report.battery, trip)
        else {
            return self.validateLater(report, grant)
        }
        let answer = ReportQueue.Answer(job: report.job, sequence: report.sequence, ref: report.ref)
        // The held fix was answered `ok`. This error refers to the held fix, so it does not carry the ref of the report that
        // refuted it.
        if validated.refutes {
            var refuted = answer
            refuted.ref = nil
            self.refuse(refuted, .implausibleSpeed)
        }
        if let correction = validated.clockCorrection { self.notify(ofClockCorrection: correction, answer) }
        self.decide(
            self.queue.validated(
                answer, validated.verdict, at: NIODeadline.now().uptimeNanoseconds,
                receivedAt: WallClock.nowMilliseconds),
            grant)
    }

    private func validateLater(_ report: LocationReport, _ grant: Grant) {
        switch self.unvalidated.add(report) {
        case .waits: return
        case .replaces: return self.loop.counts.add(.positionsConflatedIn)
        case .tooMany:
            return self.refuseTooMany(.init(job: report.job, sequence: report.sequence, ref: report.ref))
        case .read: break
        }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.trips.read(.init(rider: grant.person, job: report.job)).whenComplete { _ in
            guard bound.value.isOpen else { return }
            let rider = bound.value.rider
            for report in rider.unvalidated.take(report.job) { rider.reportOne(report, grant) }
        }
    }

    private func decide(_ decision: ReportQueue.Decision, _ grant: Grant) {
        switch decision {
        case .publish(let report, let replaces):
            if replaces { self.loop.counts.add(.positionsConflatedIn) }
            self.publish(report, grant)
        case .wait(let timer, let replaces):
            if replaces { self.loop.counts.add(.positionsConflatedIn) }
            self.setQueueTimer(timer, grant)
        case .accept(let answer): self.accept(answer)
        case .refuse(let answer, let reason): self.refuse(answer, reason)
        case .refuseTooMany(let answer): self.refuseTooMany(answer)
        case .covered: break
        }
    }

    /// - Parameter wait: ns; `nil` if the timer is set already.
    private func setQueueTimer(_ wait: UInt64?, _ grant: Grant) {
        guard let wait else { return }
        self.queueTimer?.cancel()
        self.queueTimer = self.loop.deadlines.after(.nanoseconds(Int64(clamping: wait))) {
            [weak self, weak session = self.session] in
            // If the session has ended, its rider no longer exists.
            guard let self, session?.isOpen == true else { return }
            let due = self.queue.due(at: NIODeadline.now().uptimeNanoseconds)
            self.setQueueTimer(due.timer, grant)
            for report in due.reports { self.publish(report, grant) }
        }
    }

    private func publish(_ report: ReportQueue.Report, _ grant: Grant) {
        let session = self.session
        let path = self.paths.path(for: report.job, by: grant.person, on: self.reporter, self.loop.publisher)
        self.loop.publisher.publish(report.fix, on: path, receivedAt: report.receivedAt) {
            session.rider.published(report, grant, $0)
        }
    }

    private func published(
        _ report: ReportQueue.Report, _ grant: Grant, _ result: Result<LocationPublisher.Verdict, any Error>
    ) {
        switch result {
        case .success(let verdict): self.settle(report, .init(verdict), grant)
        case .failure(let error) where (error as? RedisError)?.isOutage == true: self.settle(report, .noAnswer, grant)
        case .failure(let error):
            let refused = self.session.refusal(for: error)
            self.refuse(report.answer, refused.code, refused.message)
        }
    }

    private func settle(_ report: ReportQueue.Report, _ outcome: ReportQueue.Outcome, _ grant: Grant) {
        switch self.queue.settle(report, outcome, at: NIODeadline.now().uptimeNanoseconds) {
        case .accept(let listeners): self.accepted(report, grant, listeners: listeners)
        case .overrule(let reason): self.overrule(report, reason, grant)
        case .endTravel(let deadline, let notifiesRider):
            self.loop.relay.limits.closeNow(report.job, deadline)
            self.ended(report.job, notifiesRider: notifiesRider)
            self.trips.overrule(.travelModeOff, .init(rider: grant.person, job: report.job))
            self.refuse(
                report.answer, .travelModeOff, "The sharing time limit of this job has been reached.")
        case .reopen: self.reopen(report, grant)
        case .publish(let report): self.publish(report, grant)
        case .buffer(let timer):
            self.loop.counts.add(.positionsBuffered)
            self.setQueueTimer(timer, grant)
        case .refuseTooMany: self.refuseTooMany(report.answer)
        case .covered: break
        }
    }

    /// The live instance is available again. A new master may lack positions that the previous one accepted, and the rider may
    /// not report again for some seconds. The newest position of each job is therefore published again, and queued reports are
    /// published immediately. If the master already has a position, nothing changes.
    func republish() {
        guard self.session.isOpen, let grant = self.session.grant else { return }
        let returned = self.queue.masterReturned(
            at: NIODeadline.now().uptimeNanoseconds, time: WallClock.nowMilliseconds)
        for (job, taken) in returned.again { self.loop.republish(taken, of: job, by: grant.person, on: self.reporter) }
        self.setQueueTimer(returned.timer, grant)
    }

    /// - Parameter listeners: the number of connections that received the position; `nil` if Redis had already accepted it
    ///   before.
    private func accepted(_ report: ReportQueue.Report, _ grant: Grant, listeners: Int?) {
        if grant.allows(.beAvailable) { self.presence.positionAccepted(at: report.fix.place) }
        self.stopSequence.accepted(report.job)
        self.accept(report.answer)
        if let listeners { self.guidance.published(report.fix, report.job, grant, listeners) }
    }

    /// Redis has newer information than this session.
    private func overrule(_ report: ReportQueue.Report, _ reason: FixRefusal, _ grant: Grant) {
        self.trips.overrule(reason, .init(rider: grant.person, job: report.job))
        self.refuse(report.answer, reason)
    }

    /// The live instance does not know the job. If it lost the job, travel mode is opened again and the position is published
    /// again.
    private func reopen(_ report: ReportQueue.Report, _ grant: Grant) {
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.loop.jobs.reopen(report.job, for: grant.person).whenComplete { result in
            bound.value.rider.settle(report, (try? result.get()).map { .reopened($0) } ?? .noAnswer, grant)
        }
    }
}
