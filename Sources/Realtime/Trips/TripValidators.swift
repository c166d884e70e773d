// Whose reports are validated on one loop, and by what: each trip of a rider begins with what its followers have been
// shown already, by another gateway perhaps, so that the marker never goes back. Nothing waits for Redis but a trip's
// first report; what was counted is noted there every few seconds, beside the work.
//
// Step 4 of 10 of the hot path. Before: Realtime/Trips/RiderSession.swift
// Next: LiveState/Jobs/LocationPublisher.swift

package import EnrouteWire
internal import HotPath
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import Logging
package import NIOCore
internal import Telemetry
package import Tracking
internal import TrafficControl

/// The trips whose reports come in on one loop, by a session or by requests. Confined to it.
package final class TripValidators {
    package struct Key: Hashable, Sendable {
        package let rider: PersonID
        package let job: JobID

        package init(rider: PersonID, job: JobID) {
            self.rider = rider
            self.job = job
        }
    }

    private struct Entry {
        var trip: TripState
        /// What followers have been shown is known here.
        var isRead = false
        var reading: EventLoopFuture<Void>?
        /// The ledger says that the job is this rider's.
        var isAssigned = false
        var usedAt: NIODeadline
        var readAt = NIODeadline.uptimeNanoseconds(0)
    }

    private unowned let loop: LoopState
    private let most: Int
    private var entries: [Key: Entry] = [:]
    private var uncounted: Set<Key> = []
    private var countTimer: Deadline?

    /// From a verdict until it is counted in Redis and in the metrics, with those that come meanwhile.
    private static let countInterval = TimeAmount.seconds(5)

    /// - Parameter most: trips that are known at once; of more the one that was used longest ago is read anew.
    package init(loop: LoopState, most: Int) { (self.loop, self.most) = (loop, most) }

    /// - Returns: `nil` when what followers have been shown has to be read first.
    package func validate(_ fixes: [Fix], invalidFixes: [InvalidFix], battery: Double?, _ key: Key) -> ValidatedReport? {
        guard let index = self.entries.index(forKey: key), self.entries.values[index].isRead else { return nil }
        HotPath.pass(.tripValidators)
        let now = NIODeadline.now()
        self.entries.values[index].usedAt = now
        self.scheduleCount(key)
        self.entries.values[index].trip.reportReceived(battery: battery)
        let validated = self.entries.values[index].trip.validate(
            fixes, invalidFixes: invalidFixes, received: .init(monotonic: now.uptimeNanoseconds, wall: .now))
        if case .refused = validated.verdict { self.entries.values[index].trip.refused(now: now.uptimeNanoseconds) }
        return validated
    }

    /// The destination may be another after so long.
    private static let rereadAfter = TimeAmount.seconds(60)

    /// Reads what followers have been shown. Succeeds in any case: without Redis a trip is validated by itself, and what is
    /// accepted waits for Redis anyway.
    ///
    /// - Parameter again: also when that is known; somebody else may have reported since.
    package func read(_ key: Key, again: Bool = false) -> EventLoopFuture<Void> {
        let entry = self.entry(key)
        if let reading = entry.reading { return reading }
        if entry.isRead, !again { return self.loop.eventLoop.makeSucceededVoidFuture() }
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        let reading = self.loop.jobs.view(key.job).map { view in
            // It may have been given to another rider since it was read last.
            bound.value.entries[key]?.isAssigned = false
            bound.value.finishRead(key, view)
        }.flatMapErrorThrowing { _ in bound.value.finishRead(key, nil) }
        // It may be over already: a client that is not connected fails at once.
        if self.entries[key]?.isRead == false { self.entries[key]?.reading = reading }
        return reading
    }

    private func finishRead(_ key: Key, _ view: JobView?) {
        self.entries[key]?.reading = nil
        self.entries[key]?.isRead = true
        self.entries[key]?.readAt = .now()
        guard let view, view.record.rider == key.rider else { return }
        self.entries[key]?.isAssigned = true
        self.entries[key]?.trip.resume(from: view, now: NIODeadline.now().uptimeNanoseconds)
    }

    private func entry(_ key: Key) -> Entry {
        if let entry = self.entries[key] { return entry }
        if self.entries.count >= self.most, let oldest = self.entries.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            self.count(oldest.key)
            self.entries[oldest.key] = nil
        }
        let trip = TripState(bounds: self.loop.settings.validation, freshFor: UInt64(self.freshness.nanoseconds))
        let entry = Entry(trip: trip, usedAt: .now())
        self.entries[key] = entry
        return entry
    }

    /// Redis refused what was accepted here, so it knows more: what it knows is read before the next report.
    package func overrule(_ reason: FixRefusal, _ key: Key) {
        self.entries[key]?.trip.overrule(reason)
        if reason == .travelModeOff { self.restart(key) } else { self.entries[key]?.isRead = false }
        self.scheduleCount(key)
    }

    // MARK: what follows

    /// Redis took a position.
    ///
    /// - Returns: what its place suggests from now on; that was told to others, and is to be told to the rider.
    package func published(_ fix: Fix, _ key: Key, listeners: Int) -> ProximityState? {
        let now = NIODeadline.now()
        // Changed where it lies, as in `judge`: a copy of a trip costs more than all that is done with it.
        guard let index = self.entries.index(forKey: key) else { return nil }
        let proximity = self.entries.values[index].trip.published(fix, listeners: listeners, now: now.uptimeNanoseconds)
        let isAssigned = self.entries.values[index].isAssigned
        self.entries.values[index].usedAt = now
        if isAssigned { self.clearUnavailability(of: key, at: index, now) }
        if now - self.entries.values[index].readAt > Self.rereadAfter { _ = self.read(key, again: true) }
        guard let state = proximity, isAssigned else { return nil }
        self.loop.logger.info(
            "rider proximity changed", metadata: [LogKey.job: "\(key.job)", LogKey.reason: "\(state.rawValue)"])
        self.loop.trail.record(.suggested(state, key.job, by: key.rider))
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

    /// What a rider's place suggests at the moment, of a job that is known to be its own.
    package func proximity(of key: Key) -> ProximityState? {
        self.entries[key].flatMap { $0.isAssigned ? $0.trip.proximity : nil }
    }

    /// What the rider of these trips is to be asked for.
    func circumstances(of keys: [Key]) -> ReportRate.Circumstances {
        self.circumstances(at: keys.compactMap { self.entries.index(forKey: $0) })
    }

    /// What the rider of all trips is to be asked for.
    var circumstances: ReportRate.Circumstances { self.circumstances(at: self.entries.indices) }

    /// A trip of which nothing came for so long that its last position is old is over, or as good as over: who followed
    /// it, and how near its door was, is no matter any more.
    private func circumstances(at indices: some Sequence<[Key: Entry].Index>) -> ReportRate.Circumstances {
        let oldest = NIODeadline.now() - self.freshness
        var all = ReportRate.Circumstances(isFollowed: false, metersToGo: nil, speedMetersPerSecond: 0)
        var newest = oldest
        for index in indices where self.entries.values[index].usedAt >= oldest {
            let (toGo, usedAt) = (self.entries.values[index].trip.metersToGo, self.entries.values[index].usedAt)
            if self.entries.values[index].trip.isFollowed { all.isFollowed = true }
            if let toGo { all.metersToGo = min(all.metersToGo ?? toGo, toGo) }
            all.speedMetersPerSecond = max(
                all.speedMetersPerSecond, self.entries.values[index].trip.speedMetersPerSecond)
            // One phone for all of them: what it said last.
            guard usedAt >= newest else { continue }
            (newest, all.batteryPercent) = (usedAt, self.entries.values[index].trip.batteryPercent)
        }
        return all
    }

    /// Travel mode was switched on.
    package func started(_ key: Key) {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.read(key).whenComplete { _ in
            let isNew = bound.value.entries[key]?.trip.startTravel(now: NIODeadline.now().uptimeNanoseconds) == true
            // Only who has the job may switch it on.
            bound.value.entries[key]?.isAssigned = true
            // What was the matter when travel mode was on before, or with another rider, is over.
            var annotations: [ValidationSummaryStore.Annotation] = isNew ? [.unavailable(nil), .sharing] : []
            if bound.value.loop.settings.arrivalStopsTravel { annotations.append(.stoppedByArrival(false)) }
            guard !annotations.isEmpty else { return }
            bound.value.loop.notes.note(key.job, annotations: annotations).whenFailure { _ in
                if isNew { bound.value.entries[key]?.trip.noticeWasLost() }
            }
        }
    }

    /// The rider's phone says why it has no position.
    ///
    /// - Parameter isAssigned: the ledger has just said so.
    /// - Returns: whether the job is the rider's, and shared, as far as that was asked. Fails when the reason could not
    ///   be noted.
    @discardableResult
    package func reported(_ reason: UnavailableReason, _ key: Key, isAssigned: Bool = false) -> EventLoopFuture<Bool> {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        return self.read(key).flatMap {
            let now = NIODeadline.now()
            if isAssigned { bound.value.entries[key]?.isAssigned = true }
            bound.value.entries[key]?.trip.reported(reason, now: now.uptimeNanoseconds)
            return bound.value.reportUnavailability(of: key, at: now + bound.value.delayUntilStale)
        }
    }

    package var trips: [Key] { Array(self.entries.keys) }

    /// Looks at every trip: a silence explains itself with time. One that is over is not looked at again.
    func reportUnavailability() {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        for key in self.entries.keys {
            self.reportUnavailability(of: key).whenSuccess { isShared in if !isShared { bound.value.restart(key) } }
        }
    }

    /// The session is gone: what will be so when its last positions are old is known now, and nobody will be there then.
    func disconnected() {
        let time = NIODeadline.now() + self.delayUntilStale
        for key in self.entries.keys {
            self.entries[key]?.trip.disconnected()
            self.reportUnavailability(of: key, at: time)
        }
    }

    /// Nothing comes of a trip any more, and no session's end says so: its rider's connection is gone, unless positions come
    /// on another way, or somebody said why not.
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

    /// After so long what was shown last is old for sure.
    private var delayUntilStale: TimeAmount { self.freshness + .nanoseconds(1) }

    private var freshness: TimeAmount { .milliseconds(self.loop.settings.freshness.milliseconds) }

    /// Tells followers why nothing is seen, if it is something else than they were told.
    ///
    /// - Parameter time: later than now, to tell what will be so then.
    /// - Returns: whether the job is this rider's still, and shared, as far as it was asked: it is when there is
    ///   something to tell. Fails when Redis is away; then it is told at the next look.
    @discardableResult
    func reportUnavailability(of key: Key, at time: NIODeadline = .now()) -> EventLoopFuture<Bool> {
        let loop = self.loop.eventLoop
        guard self.entries[key]?.isAssigned == true,
            let taken = self.entries[key]?.trip.takeUnavailabilityNotice(now: time.uptimeNanoseconds, isOver: false),
            let reason = taken
        else { return loop.makeSucceededFuture(true) }
        let (bound, notes) = (NIOLoopBound(self, eventLoop: loop), self.loop.notes)
        return self.loop.jobs.ledger.head(key.job).flatMap { head in
            // It may have been given to another rider, or have ended, since this one reported last.
            guard let head, head.rider == key.rider, head.isTravelling else {
                bound.value.entries[key]?.trip.noticeWasLost()
                return loop.makeSucceededFuture(false)
            }
            // Meanwhile a position may have come.
            if let trip = bound.value.entries[key]?.trip, trip.noticedReason != reason {
                return loop.makeSucceededFuture(true)
            }
            let message = ServerMessage.unavailable(job: key.job, reason, tellsReason: true)
            return notes.note(key.job, annotations: [.unavailable(reason)], message: message).map { true }
        }.flatMapErrorThrowing { error in
            bound.value.entries[key]?.trip.noticeWasLost()
            throw error
        }
    }

    /// A position has come, which the live instance took: followers see that by itself.
    private func clearUnavailability(of key: Key, at index: [Key: Entry].Index, _ now: NIODeadline) {
        guard self.entries.values[index].trip.takeUnavailabilityNotice(now: now.uptimeNanoseconds, isOver: true) != nil
        else {
            return
        }
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.notes.note(key.job, annotations: [.unavailable(nil)]).whenFailure { _ in
            bound.value.entries[key]?.trip.noticeWasLost()
        }
    }

    /// Travel mode was switched off: nothing is shown any more.
    package func restart(_ key: Key) { self.entries[key]?.trip.restart() }

    // MARK: counting

    private func scheduleCount(_ key: Key) {
        self.uncounted.insert(key)
        guard self.countTimer == nil else { return }
        self.countTimer = self.loop.deadlines.after(Self.countInterval) { [weak self] in self?.countAll() }
    }

    /// Counts what is not counted yet; at the end of a session too.
    func countAll() {
        self.countTimer?.cancel()
        self.countTimer = nil
        let keys = self.uncounted
        self.uncounted = []
        for key in keys { self.count(key) }
    }

    private func count(_ key: Key) {
        guard let counts = self.entries[key]?.trip.takeCounts(), !counts.isEmpty else { return }
        // What Redis refused after all is one less of the accepted, which a metric can not say once it was scraped.
        for (verdict, count) in counts { self.loop.counts.add(verdict.metric, max(0, count)) }
        // Of a job of somebody else nothing is counted but here.
        guard self.entries[key]?.isAssigned == true else { return }
        // Lost when Redis is away: they are for people to look at, and the metrics have them.
        _ = self.loop.notes.note(key.job, counts: counts.map { ($0.verdict.text, $0.count) })
    }
}
