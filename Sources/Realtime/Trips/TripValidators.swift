// Validates the reports that arrive on one loop. Validation of a trip continues from what its followers have already been
// shown, possibly by another gateway, so the marker never moves back. Only a trip's first report waits for Redis. Verdict
// counts are written to Redis asynchronously: refusals within seconds, accepted fixes once a minute.
//
// Step 4 of 10 of the hot path. Before: Realtime/Trips/RiderSession.swift
// Next: LiveState/Jobs/LocationPublisher.swift

package import EnrouteWire
internal import HotPath
internal import HTTPValues
package import Jobs
package import LiveState
internal import Logging
package import NIOCore
internal import Telemetry
package import Tracking
internal import TrafficControl

/// The trips whose reports arrive on one loop, by a session or by REST. Confined to it.
package final class TripValidators {
    /// A class, because a value of the dictionary would be copied by each look at one of its members.
    final class Entry {
        var trip: TripState
        /// What followers have been shown has been read.
        var isRead = false
        var reading: EventLoopFuture<Void>?
        /// According to the ledger, the job is assigned to this rider.
        var isAssigned = false
        /// Another device has taken over since this one started or reported.
        var isOvertaken = false
        /// The job's zone, for other systems.
        var zone: ZoneID?
        var usedAt: NIODeadline
        var readAt = NIODeadline.uptimeNanoseconds(0)
        var verdicts = UnwrittenVerdicts()

        init(trip: TripState, usedAt: NIODeadline) { (self.trip, self.usedAt) = (trip, usedAt) }
    }

    private unowned let loop: LoopState
    private let most: Int
    /// A position older than this is stale. Stored, because reading a member of the settings copies them.
    let freshness: TimeAmount
    /// The device of the session that these trips belong to; of REST requests, the one without a name, because the keys of the
    /// others name theirs.
    var reporter: Reporter
    private(set) var entries: [Key: Entry] = [:]
    private var uncounted: Set<Key> = []
    private var countTimer: Deadline?
    /// What the timer was set to.
    private var countDelay = TimeAmount.zero

    /// The delay after a verdict until it is counted in the metrics, together with all later ones, and possibly in Redis
    /// (`UnwrittenVerdicts`).
    private static let countInterval = TimeAmount.seconds(5)
    /// The same after a fix was accepted as usual. Metrics are scraped about this often.
    private static let usualCountInterval = TimeAmount.seconds(15)

    /// - Parameter most: the maximum number of trips remembered at the same time. Beyond it, the least recently used trip is
    ///   forgotten and has to be read again.
    package init(loop: LoopState, most: Int, reporter: Reporter = .requests) {
        (self.loop, self.most, self.reporter) = (loop, most, reporter)
        self.freshness = .milliseconds(loop.settings.freshness.milliseconds)
    }

    /// - Returns: `nil` if what followers have been shown has to be read first.
    package func validate(_ fixes: [Fix], invalidFixes: [InvalidFix], battery: Double?, _ key: Key) -> ValidatedReport?
    {
        guard let index = self.entries.index(forKey: key), self.entries.values[index].isRead else { return nil }
        HotPath.pass(.tripValidators)
        let now = NIODeadline.now()
        self.entries.values[index].usedAt = now
        self.entries.values[index].trip.reportReceived(battery: battery)
        var validated = self.entries.values[index].trip.validate(
            fixes, invalidFixes: invalidFixes,
            received: .init(monotonic: now.uptimeNanoseconds, wall: WallClock.nowMilliseconds))
        // Redis refuses positions of a device that does not report, and any other fix never reaches it.
        if self.entries.values[index].isOvertaken, !validated.verdict.isPublished {
            validated.verdict = .refused(.otherDevice)
        }
        if case .refused(let reason) = validated.verdict {
            self.entries.values[index].trip.refused(reason, now: now.uptimeNanoseconds)
        }
        if case .publish = validated.verdict, self.entries.values[index].verdicts.wasWritten {
            self.scheduleCount(key, after: Self.usualCountInterval)
        } else {
            self.scheduleCount(key)
        }
        return validated
    }

    /// After this time the job is read again, because its destination may have changed.
    private static let rereadAfter = TimeAmount.seconds(60)

    /// Reads what followers have been shown. Always succeeds: without Redis, a trip is validated on its own, and accepted
    /// positions wait for Redis anyway.
    ///
    /// - Parameter again: read it even if it is known, because another gateway may have received reports since.
    package func read(_ key: Key, again: Bool = false) -> EventLoopFuture<Void> {
        let entry = self.entry(key)
        if let reading = entry.reading { return reading }
        if entry.isRead, !again { return self.loop.eventLoop.makeSucceededVoidFuture() }
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        let reading = self.loop.jobs.view(key.job).map { view in
            // The job may have been assigned to another rider since it was last read.
            bound.value.entries[key]?.isAssigned = false
            bound.value.finishRead(key, view)
        }.flatMapErrorThrowing { _ in bound.value.finishRead(key, nil) }
        // The read may have completed already: a disconnected client fails immediately.
        if self.entries[key]?.isRead == false { self.entries[key]?.reading = reading }
        return reading
    }

    private func append(_ event: PositionEvent, about key: Key) {
        self.loop.append(event, about: key.job, in: self.entries[key]?.zone)
    }

    /// Reads the job again if its rider, its destination or its zone has changed, which is rare.
    private func readIfChanged(_ key: Key, at index: [Key: Entry].Index, _ now: NIODeadline) {
        // Not again until the next interval, whatever Redis answers.
        self.entries.values[index].readAt = now
        let isSent =
            self.entries.values[index].isAssigned
            && self.loop.jobs.ledger.readTripFacts(key.job) { [weak self] facts in
                guard let self, let entry = self.entries[key] else { return }
                let isSame = facts.map {
                    $0.rider == key.rider && $0.destination.map { Point($0) } == entry.trip.destination
                        && $0.zone == entry.zone
                }
                if isSame != true { _ = self.read(key, again: true) }
            }
        if !isSent { _ = self.read(key, again: true) }
    }

    private func finishRead(_ key: Key, _ view: JobView?) {
        self.entries[key]?.reading = nil
        self.entries[key]?.isRead = true
        self.entries[key]?.readAt = .now()
        guard let view, view.record.rider == key.rider else { return }
        let reporter = key.reporter ?? self.reporter
        // Only a device without a name may go on for another one, and only for one of its kind.
        if let newest = view.record.reporter, newest == reporter || !newest.isNameless || !reporter.isNameless {
            self.entries[key]?.isOvertaken = newest != reporter
        }
        let isOvertaken = self.entries[key]?.isOvertaken == true
        self.entries[key]?.isAssigned = !isOvertaken
        self.entries[key]?.zone = view.record.zone
        self.entries[key]?.trip.resume(from: view, now: NIODeadline.now().uptimeNanoseconds)
    }

    private func entry(_ key: Key) -> Entry {
        if let entry = self.entries[key] { return entry }
        if self.entries.count >= self.most, let oldest = self.entries.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            self.count(oldest.key, isLast: true)
            self.entries[oldest.key] = nil
        }
        let trip = TripState(
            bounds: self.loop.settings.validation, freshFor: UInt64(self.freshness.nanoseconds),
            streets: self.loop.settings.streetSource)
        let entry = Entry(trip: trip, usedAt: .now())
        self.entries[key] = entry
        return entry
    }

    /// Redis refused a position that this gateway accepted, so Redis has newer information. It is read before the next report.
    package func overrule(_ reason: FixRefusal, _ key: Key) {
        self.entries[key]?.trip.overrule(reason)
        switch reason {
        case .travelModeOff: self.restart(key)
        // Nothing that this device reports is shown until it takes over.
        case .otherDevice:
            self.restart(key)
            self.entries[key]?.isOvertaken = true
            self.entries[key]?.isAssigned = false
        default: self.entries[key]?.isRead = false
        }
        self.scheduleCount(key)
    }

    // MARK: after publishing

    /// Redis accepted a position.
    ///
    /// - Returns: a new proximity state. Followers have been notified of it; the caller notifies the rider.
    package func published(_ fix: Fix, _ key: Key, listeners: Int) -> ProximityState? {
        let now = NIODeadline.now()
        // Modified in place, as in `validate`: copying a trip would cost more than everything else here.
        guard let index = self.entries.index(forKey: key) else { return nil }
        let proximity = self.entries.values[index].trip.published(fix, listeners: listeners, now: now.uptimeNanoseconds)
        let isAssigned = self.entries.values[index].isAssigned
        self.entries.values[index].usedAt = now
        if isAssigned { self.clearUnavailability(of: key, at: index, now) }
        if now - self.entries.values[index].readAt > Self.rereadAfter { self.readIfChanged(key, at: index, now) }
        if let onNear = self.loop.onNear, isAssigned, let seconds = self.entries.values[index].trip.near(fix) {
            onNear(key.job, key.rider, seconds)
        }
        guard let state = proximity, isAssigned else { return nil }
        self.loop.logger.info(
            "rider proximity changed", metadata: [LogKey.job: "\(key.job)", LogKey.reason: "\(state.rawValue)"])
        self.loop.trail.record(.suggested(state, key.job, by: key.rider))
        self.append(.proximity(state, at: fix.at), about: key)
        let stops = state == .arrived && self.loop.settings.arrivalStopsTravel
        let noted = self.loop.notes.note(
            key.job, annotations: [.proximity(state)] + (stops ? [.stoppedByArrival(true)] : []),
            message: .proximity(job: key.job, state))
        if stops {
            let jobs = self.loop.jobs
            let trail = NIOLoopBound(self.loop.trail, eventLoop: self.loop.eventLoop)
            noted.flatMap { jobs.stopTravel(key.job, by: key.rider, because: .arrived) }.whenSuccess {
                trail.value.record(.stopped(key.job, of: key.rider, because: .arrived))
            }
            self.restart(key)
        }
        return state
    }

    /// The current proximity state, if the job is known to be assigned to the rider.
    package func proximity(of key: Key) -> ProximityState? {
        self.entries[key].flatMap { $0.isAssigned ? $0.trip.proximity : nil }
    }

    /// Travel mode was switched on.
    ///
    /// - Parameter resumes: this device goes on; otherwise it may have taken over from another one.
    package func started(_ key: Key, resumes: Bool) {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        // Another device may have reported since.
        self.entries[key]?.isOvertaken = false
        let read = self.read(key, again: true)
        if !resumes { self.entries[key]?.trip.takeOver() }
        read.whenComplete { _ in
            let isNew = bound.value.entries[key]?.trip.startTravel(now: NIODeadline.now().uptimeNanoseconds) == true
            // Only the assigned rider can switch travel mode on.
            bound.value.entries[key]?.isAssigned = true
            // Unavailable reasons from an earlier trip, or from another rider, no longer apply.
            var annotations: [ValidationSummaryStore.Annotation] = isNew ? [.unavailable(nil), .sharing] : []
            if bound.value.loop.settings.arrivalStopsTravel { annotations.append(.stoppedByArrival(false)) }
            guard !annotations.isEmpty else { return }
            bound.value.loop.notes.note(key.job, annotations: annotations).whenFailure { _ in
                if isNew { bound.value.entries[key]?.trip.noticeWasLost() }
            }
        }
    }

    /// The rider's phone reports why it has no location.
    ///
    /// - Parameter isAssigned: the ledger has just confirmed that the job is assigned to the rider.
    /// - Returns: why followers are not shown the reason, as far as this was checked; `nil` if they are. Fails if it could not
    ///   be stored.
    @discardableResult
    package func reported(
        _ reason: UnavailableReason, _ key: Key, isAssigned: Bool = false
    ) -> EventLoopFuture<Refused?> {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        return self.read(key).flatMap {
            let now = NIODeadline.now()
            if isAssigned { bound.value.entries[key]?.isAssigned = true }
            bound.value.entries[key]?.trip.reported(reason, now: now.uptimeNanoseconds)
            return bound.value.reportUnavailability(of: key, at: now + bound.value.delayUntilStale)
        }
    }

    package var trips: [Key] { Array(self.entries.keys) }

    /// The trips that this device reports for, as far as it knows.
    var shared: [Key] { self.entries.filter { $0.value.isAssigned && !$0.value.isOvertaken }.map(\.key) }

    /// Checks every trip, because a location can become unavailable with time. Trips that have ended are not checked again.
    func reportUnavailability() {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        for key in self.entries.keys {
            self.reportUnavailability(of: key).whenSuccess { if $0 != nil { bound.value.restart(key) } }
        }
    }

    /// The session ended. The reason that will apply when its last positions become stale is published now, because the session
    /// will not exist then.
    func disconnected() {
        let time = NIODeadline.now() + self.delayUntilStale
        for key in self.entries.keys {
            self.entries[key]?.trip.disconnected()
            self.reportUnavailability(of: key, at: time)
        }
    }

    /// A REST reporter has stopped sending reports for this trip. It counts as disconnected, unless another gateway receives
    /// its positions or a reason has been reported.
    func becameSilent(_ key: Key) {
        guard self.entries[key]?.isAssigned == true else { return }
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.jobs.view(key.job).whenSuccess { view in
            let now = NIODeadline.now()
            guard let view, view.record.rider == key.rider, view.snapshot.tracking == .stale, view.unavailable == nil
            else {
                return
            }
            bound.value.entries[key]?.trip.resume(from: view, now: now.uptimeNanoseconds)
            bound.value.entries[key]?.trip.disconnected()
            bound.value.reportUnavailability(of: key, at: now + bound.value.delayUntilStale)
        }
    }

    /// After this time, the last position is certainly stale.
    private var delayUntilStale: TimeAmount { self.freshness + .nanoseconds(1) }

    /// Publishes the unavailable reason to followers, if it differs from the last published one.
    ///
    /// - Parameter time: a later time publishes the reason that will apply then.
    /// - Returns: why this device no longer reports for the job, as far as this was checked; it is only checked if there is a
    ///   reason to publish. Fails if Redis is unavailable; the next check then publishes the reason.
    @discardableResult
    func reportUnavailability(of key: Key, at time: NIODeadline = .now()) -> EventLoopFuture<Refused?> {
        let loop = self.loop.eventLoop
        guard self.entries[key]?.isAssigned == true,
            let taken = self.entries[key]?.trip.takeUnavailabilityNotice(now: time.uptimeNanoseconds, isOver: false),
            let reason = taken
        else { return loop.makeSucceededFuture(nil) }
        let (bound, notes, jobs) = (NIOLoopBound(self, eventLoop: loop), self.loop.notes, self.loop.jobs)
        let reporter = key.reporter ?? self.reporter
        let isReporter = jobs.feed.isReporter(reporter, of: key.job, now: WallClock.nowMilliseconds)
        return jobs.ledger.head(key.job).and(isReporter).flatMap { head, isReporter in
            // Since its last report, the rider's job may have been reassigned or may have ended, or another device of the rider
            // may have taken over.
            let isShared = head?.rider == key.rider && head?.isTravelling == true
            guard isShared, isReporter else {
                bound.value.entries[key]?.trip.noticeWasLost()
                return loop.makeSucceededFuture(isShared ? .otherDevice : .travelModeOff)
            }
            // A position may have arrived in the meantime.
            if let trip = bound.value.entries[key]?.trip, trip.noticedReason != reason {
                return loop.makeSucceededFuture(nil)
            }
            bound.value.append(.unavailable(reason), about: key)
            let message = ServerMessage.unavailable(job: key.job, reason, tellsReason: true)
            return notes.note(key.job, annotations: [.unavailable(reason)], message: message).map { nil }
        }.flatMapErrorThrowing { error in
            bound.value.entries[key]?.trip.noticeWasLost()
            throw error
        }
    }

    /// The live instance accepted a position. Followers see from the position itself that the location is available again.
    private func clearUnavailability(of key: Key, at index: [Key: Entry].Index, _ now: NIODeadline) {
        guard self.entries.values[index].trip.takeUnavailabilityNotice(now: now.uptimeNanoseconds, isOver: true) != nil
        else {
            return
        }
        self.append(.available, about: key)
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.notes.note(key.job, annotations: [.unavailable(nil)]).whenFailure { _ in
            bound.value.entries[key]?.trip.noticeWasLost()
        }
    }

    // MARK: counting

    private func scheduleCount(_ key: Key, after delay: TimeAmount = countInterval) {
        self.uncounted.insert(key)
        if self.countTimer != nil, self.countDelay <= delay { return }
        self.countTimer?.cancel()
        self.countDelay = delay
        self.countTimer = self.loop.deadlines.after(delay) { [weak self] in self?.countAll() }
    }

    /// Counts all verdicts that have not been counted yet.
    ///
    /// - Parameter isLast: the session ends, so Redis must have all of them.
    func countAll(isLast: Bool = false) {
        self.countTimer?.cancel()
        self.countTimer = nil
        let keys = self.uncounted
        self.uncounted = []
        for key in keys where !self.count(key, isLast: isLast) {
            self.scheduleCount(key, after: Self.usualCountInterval)
        }
    }

    /// - Returns: whether nothing is left to write.
    @discardableResult
    private func count(_ key: Key, isLast: Bool) -> Bool {
        guard let index = self.entries.index(forKey: key) else { return true }
        for (verdict, count) in self.entries.values[index].trip.newCounts() {
            // A position that Redis refused reduces the number of accepted ones. A metric cannot decrease once it has been
            // scraped.
            self.loop.counts.add(verdict.metric, max(0, count))
            self.entries.values[index].verdicts.add(verdict, count)
        }
        // For a job that is not assigned to the rider, verdicts are only counted in the metrics.
        guard self.entries.values[index].isAssigned else {
            self.entries.values[index].verdicts = UnwrittenVerdicts()
            return true
        }
        let now = NIODeadline.now().uptimeNanoseconds
        let due = self.entries.values[index].verdicts.due(now: now, isLast: isLast)
        // If Redis is unavailable, these counts are lost. They are for people to look at, and the metrics still contain them.
        if !due.isEmpty { _ = self.loop.notes.note(key.job, counts: due.map { ($0.verdict.text, $0.count) }) }
        return self.entries.values[index].verdicts.isEmpty
    }
}
