// Validates the reports that arrive on one loop. Validation of a trip continues from the last position that its
// followers have been shown, possibly by another gateway, so the marker never moves back. Only a trip's first report
// waits for Redis. Verdict counts are written to Redis asynchronously: refusals within seconds, accepted fixes once a
// minute.
//
// Step 4 of 10 of the hot path. Before: Realtime/Trips/RiderSession.swift Next: LiveState/Jobs/LocationPublisher.swift

package import EnrouteWire
internal import HotPath
internal import HTTPValues
internal import Jobs
package import LiveState
internal import Logging
internal import NIOCore
internal import Telemetry
package import Tracking
internal import TrafficControl

/// The trips whose reports arrive on one loop, by a session or by REST. Confined to it.
package final class TripValidators {
    /// A class, because reading one member of a struct in the dictionary would copy the whole struct.
    final class Entry {
        var trip: TripState
        /// Whether the state that followers have been shown has been read.
        var isRead = false
        var reading: EventLoopFuture<Void>?
        /// According to the ledger, the job is assigned to this rider.
        var isAssigned = false
        /// Another device has taken over since this one started or reported.
        var isOvertaken = false
        /// The rider has arrived, which switches travel mode off, and has not switched it on again.
        var isStopping = false
        /// A position was published since travel mode was switched on here.
        var hasPublished = false
        /// The job's zone, for events to other systems.
        var zone: ZoneID?
        var usedAt: NIODeadline
        var readAt = NIODeadline.uptimeNanoseconds(0)
        var verdicts = UnwrittenVerdicts()

        init(trip: TripState, usedAt: NIODeadline) { (self.trip, self.usedAt) = (trip, usedAt) }
    }

    unowned let loop: LoopState
    private let most: Int
    /// A position older than this is stale. Stored, because reading a member of the settings copies them.
    let freshness: TimeAmount
    /// The device of the session that these trips belong to. For REST requests, it is the device without a name,
    /// because the keys of the other trips contain their device.
    var reporter: Reporter
    private(set) var entries: [Key: Entry] = [:]
    private var oldest = LeastRecentlyUsed<Key>()
    private var uncounted: Set<Key> = []
    private var countTimer: Deadline?
    /// The delay that the timer was set to.
    private var countDelay = TimeAmount.zero

    /// The delay after a verdict until it is counted in the metrics, together with all later ones, and possibly in
    /// Redis (`UnwrittenVerdicts`).
    private static let countInterval = TimeAmount.seconds(5)
    /// The delay after a fix was accepted as usual. Metrics are scraped about this often.
    private static let usualCountInterval = TimeAmount.seconds(15)

    /// After this time the job is read again, because its destination may have changed.
    static let rereadAfter = TimeAmount.seconds(60)

    /// - Parameter most: maximum number of trips. Beyond it, the least recently used one is forgotten and read again.
    package init(loop: LoopState, most: Int, reporter: Reporter = .requests) {
        (self.loop, self.most, self.reporter) = (loop, most, reporter)
        self.freshness = .milliseconds(loop.settings.freshness.milliseconds)
    }

    /// - Returns: `nil` if the state that followers have been shown must be read first.
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
        // Redis refuses the positions of an overtaken device, but a fix that is not published never reaches Redis.
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

    /// Redis refused a position that this gateway accepted, so Redis has newer information. It is read before the next
    /// report.
    package func overrule(_ reason: FixRefusal, _ key: Key) {
        self.entries[key]?.trip.overrule(reason)
        switch reason {
        case .travelModeOff: self.restart(key)
        // No report of this device is shown until it takes over again.
        case .otherDevice:
            self.restart(key)
            self.entries[key]?.isOvertaken = true
            self.entries[key]?.isAssigned = false
        default: self.entries[key]?.isRead = false
        }
        self.scheduleCount(key)
    }

    func entry(_ key: Key) -> Entry {
        if let entry = self.entries[key] { return entry }
        if self.entries.count >= self.most, let oldest = self.oldest.next(in: self.entries, by: \.usedAt) {
            self.count(oldest, isLast: true)
            self.entries[oldest] = nil
        }
        let trip = TripState(
            bounds: self.loop.settings.validation, freshFor: UInt64(self.freshness.nanoseconds),
            streets: self.loop.settings.streetSource)
        let entry = Entry(trip: trip, usedAt: .now())
        self.entries[key] = entry
        return entry
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
        if isAssigned, !self.clearUnavailability(of: key, at: index, now), !self.entries.values[index].hasPublished {
            self.clearReasonOfEarlierSession(key)
        }
        if isAssigned { self.entries.values[index].hasPublished = true }
        if now - self.entries.values[index].readAt > Self.rereadAfter { self.readIfChanged(key, at: index, now) }
        if let onNear = self.loop.onNear, isAssigned, let seconds = self.entries.values[index].trip.near(fix) {
            onNear(key.job, key.rider, seconds)
        }
        guard let state = proximity, isAssigned else { return nil }
        self.loop.logger.info(
            "rider proximity changed", metadata: [LogKey.job: "\(key.job)", LogKey.reason: "\(state.rawValue)"])
        self.loop.trail.record(.suggested(state, key.job, by: key.rider))
        self.append(.proximity(state, at: fix.at), about: key)
        _ = self.loop.notes.note(
            key.job, by: key.rider, annotations: [.proximity(state)], message: .proximity(job: key.job, state))
        if state == .arrived, self.loop.settings.arrivalStopsTravel { self.stopOnArrival(key) }
        return state
    }

    private func stopOnArrival(_ key: Key) {
        self.entries[key]?.isStopping = true
        let bound = NIOLoopBound((self, self.loop.trail), eventLoop: self.loop.eventLoop)
        self.loop.jobs.stopTravelOnArrival(
            key.job, of: key.rider,
            // The trip may have been forgotten since, because the session has ended.
            while: { bound.value.0.entries[key]?.isStopping != false },
            onStopped: { bound.value.1.record(.stopped(key.job, of: key.rider, because: .arrived)) })
        self.restart(key)
    }

    /// The current proximity state, if the job is known to be assigned to the rider.
    package func proximity(of key: Key) -> ProximityState? {
        self.entries[key].flatMap { $0.isAssigned ? $0.trip.proximity : nil }
    }

    /// Travel mode was switched on.
    ///
    /// - Parameter resumes: this device continues its trip; otherwise it may have taken over from another one.
    package func started(_ key: Key, resumes: Bool) {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        // Another device may have reported since.
        self.entries[key]?.isOvertaken = false
        self.entries[key]?.isStopping = false
        self.entries[key]?.hasPublished = false
        let read = self.read(key, again: true)
        if !resumes { self.entries[key]?.trip.takeOver() }
        read.whenComplete { _ in
            let now = NIODeadline.now().uptimeNanoseconds
            let isNew = bound.value.entries[key]?.trip.startTravel(resumes: resumes, now: now) == true
            // Only the assigned rider can switch travel mode on.
            bound.value.entries[key]?.isAssigned = true
            // Unavailable reasons from an earlier trip, or from another rider, no longer apply.
            var annotations: [ValidationSummaryStore.Annotation] = isNew ? [.unavailable(nil), .sharing] : []
            if bound.value.loop.settings.arrivalStopsTravel { annotations.append(.stoppedByArrival(false)) }
            guard !annotations.isEmpty else { return }
            bound.value.loop.notes.note(key.job, by: key.rider, annotations: annotations).whenFailure { _ in
                if isNew { bound.value.entries[key]?.trip.noticeWasLost() }
            }
        }
    }

    package var trips: [Key] { Array(self.entries.keys) }

    /// The trips that this device reports for, as far as it knows.
    var shared: [Key] { self.entries.filter { $0.value.isAssigned && !$0.value.isOvertaken }.map(\.key) }

    /// Travel mode was switched off, so positions are no longer shown.
    package func restart(_ key: Key) { self.entries[key]?.trip.restart() }

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
            // A position that Redis refused reduces the number of accepted ones. A metric must not decrease once it has
            // been scraped.
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
        // If Redis is unavailable, these counts are lost. They are only displayed, and the metrics still contain them.
        if !due.isEmpty {
            _ = self.loop.notes.note(key.job, by: key.rider, counts: due.map { ($0.verdict.text, $0.count) })
        }
        return self.entries.values[index].verdicts.isEmpty
    }
}
