// Publishes why a rider's location is unavailable: the reason that the phone reports, or the one that its silence
// implies.

package import EnrouteWire
internal import HTTPValues
package import Jobs
internal import LiveState
package import NIOCore
internal import Tracking

extension TripValidators {
    func append(_ event: PositionEvent, about key: Key) {
        self.loop.append(event, about: key.job, in: self.entries[key]?.zone)
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
            return bound.value.reportUnavailability(
                of: key, at: now + bound.value.delayUntilStale, isExplained: true)
        }
    }

    /// Checks every trip, because a location can become unavailable with time. Trips that have ended are not checked again.
    func reportUnavailability() {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        for key in self.entries.keys {
            self.reportUnavailability(of: key).whenSuccess { if $0 != nil { bound.value.restart(key) } }
        }
    }

    /// The session ended. Once its last positions become stale, the session will no longer exist, so the reason that
    /// will apply then is published now. It is not if another session of the same device has reported since.
    func disconnected() {
        let time = NIODeadline.now() + self.delayUntilStale
        for key in self.entries.keys {
            self.entries[key]?.trip.disconnected()
            self.reportUnavailability(of: key, at: time)
        }
    }

    /// A REST reporter has stopped sending reports for this trip. It counts as disconnected, unless another gateway
    /// receives its positions or a reason has been reported.
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
    /// - Parameters:
    ///   - time: a later time publishes the reason that will apply then.
    ///   - isExplained: the phone has just reported the reason, so no earlier position contradicts it.
    /// - Returns: why this device no longer reports for the job, as far as this was checked; it is only checked if there is a
    ///   reason to publish. Fails if Redis is unavailable; the next check then publishes the reason.
    @discardableResult
    func reportUnavailability(
        of key: Key, at time: NIODeadline = .now(), isExplained: Bool = false
    ) -> EventLoopFuture<Refused?> {
        let loop = self.loop.eventLoop
        guard self.entries[key]?.isAssigned == true,
            let taken = self.entries[key]?.trip.takeUnavailabilityNotice(now: time.uptimeNanoseconds, isOver: false),
            let reason = taken
        else { return loop.makeSucceededFuture(nil) }
        let (bound, notes, jobs) = (NIOLoopBound(self, eventLoop: loop), self.loop.notes, self.loop.jobs)
        let reporter = key.reporter ?? self.reporter
        let state = jobs.feed.state(of: reporter, for: key.job, now: WallClock.nowMilliseconds)
        return jobs.ledger.head(key.job).and(state).flatMap { head, state in
            // Since its last report, the rider's job may have been reassigned or may have ended, or another device of the rider
            // may have taken over.
            let isShared = head?.rider == key.rider && head?.isTravelling == true
            guard isShared, state.isReporter else {
                bound.value.entries[key]?.trip.noticeWasLost()
                return loop.makeSucceededFuture(isShared ? .otherDevice : .travelModeOff)
            }
            // Another session or gateway receives the positions of this device. The next check starts from them.
            if !isExplained, let trip = bound.value.entries[key]?.trip, trip.isOlder(than: state.positionAt) {
                return bound.value.read(key, again: true).map { nil }
            }
            // A position may have arrived in the meantime.
            if let trip = bound.value.entries[key]?.trip, trip.noticedReason != reason {
                return loop.makeSucceededFuture(nil)
            }
            bound.value.append(.unavailable(reason), about: key)
            let message = ServerMessage.unavailable(job: key.job, reason, tellsReason: true)
            return notes.note(key.job, by: key.rider, annotations: [.unavailable(reason)], message: message).map { nil }
        }.flatMapErrorThrowing { error in
            bound.value.entries[key]?.trip.noticeWasLost()
            throw error
        }
    }

    /// The live instance accepted a position. The position itself shows followers that the location is available again.
    ///
    /// - Returns: whether a reason had been published.
    @discardableResult
    func clearUnavailability(of key: Key, at index: [Key: Entry].Index, _ now: NIODeadline) -> Bool {
        guard self.entries.values[index].trip.takeUnavailabilityNotice(now: now.uptimeNanoseconds, isOver: true) != nil
        else {
            return false
        }
        self.append(.available, about: key)
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.notes.note(key.job, by: key.rider, annotations: [.unavailable(nil)]).whenFailure { _ in
            bound.value.entries[key]?.trip.noticeWasLost()
        }
        return true
    }

    /// The first position since travel mode was switched on here: an earlier session of the device may have published
    /// its end after the trip was read.
    func clearReasonOfEarlierSession(_ key: Key) {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.notes.read(key.job).whenSuccess { summary in
            let trips = bound.value
            guard let reason = summary.unavailable, let index = trips.entries.index(forKey: key),
                trips.entries.values[index].isAssigned, trips.entries.values[index].trip.noticedReason == nil
            else { return }
            trips.entries.values[index].trip.noticed(reason)
            trips.clearUnavailability(of: key, at: index, .now())
        }
    }
}
