// A job as it is read from both instances at once: whole for who begins to follow, or only what tells whether a follower is
// up to date.

package import Access
package import EnrouteWire
package import LiveState
internal import Tracking

/// Whom a job concerns.
package struct Parties: Sendable, Hashable {
    package var customer: PersonID
    package var rider: PersonID?
}

/// A job as it is read for a follower.
package struct JobView: Sendable {
    package var record: JobRecord
    package var snapshot: Snapshot
    /// Id of the position in the snapshot.
    package var positionID: UInt64?
    /// What the follower saw last is not in the log any more.
    package var isReset: Bool
    /// Both instances say that the rider shares its position, whether or not there is one.
    package var isTracking: Bool
    /// Until when, ms since the epoch; `nil` when it does not.
    package var deadline: Int64?
    /// Why nothing is seen of the rider, as was noted last.
    package var unavailable: UnavailableReason?
    /// When a position of the rider was last accepted, and when it began to share, ms since the epoch, as was noted.
    var seenAt: Int64?
    var sharingAt: Int64?

    package var parties: Parties { Parties(customer: self.record.customer, rider: self.record.rider) }
}

/// What a follower should have seen by now.
package struct JobCheck: Sendable {
    package var head: JobLedger.Head
    /// Both instances say that the rider shares its position.
    package var isTracking: Bool
    /// The live instance lets positions through that the ledger does not allow: a word to it was lost.
    package var isOpenInVain: Bool
    /// The last position as it was published, and its id.
    package var position: (id: UInt64, message: [UInt8])?
    /// Until when positions may come, ms since the epoch; `nil` when they may not.
    package var deadline: Int64?
    package var parties: Parties

    package init(_ head: JobLedger.Head, _ feed: JobFeed.State) {
        self.head = head
        self.parties = Parties(customer: head.customer, rider: head.rider)
        let isAllowed = head.isTravelling && feed.rider == head.rider
        self.isTracking = feed.isOpen && isAllowed
        self.isOpenInVain = feed.isOpen && !isAllowed
        self.deadline = self.isTracking ? feed.deadline : nil
        guard self.isTracking, let message = feed.position,
            let id = message.withUnsafeBytes({ PublishedLocation.id(of: $0) })
        else { return }
        self.position = (id, message)
    }
}

extension JobView {
    /// What a person is shown: where the vendor is, is for those who go there or send somebody.
    package func snapshot(for role: Role?) -> Snapshot {
        var snapshot = self.snapshot
        if let role, role != .customer { snapshot.vendorAddress = self.record.vendor?.address }
        return snapshot
    }

    /// The same for who may not be shown where the rider is at the moment.
    package var withoutPosition: JobView {
        guard self.positionID != nil else { return self }
        var view = self
        view.positionID = nil
        (view.snapshot.position, view.snapshot.positionAgeMilliseconds) = (nil, nil)
        view.snapshot.eta = nil
        view.snapshot.tracking = .waiting
        return view
    }

    /// - Parameters:
    ///   - now: ms since the epoch.
    ///   - freshness: a position that is older is called stale.
    package init(
        _ recovery: JobLedger.Recovery, _ feed: JobFeed.State, _ notes: ValidationSummary = ValidationSummary(),
        now: Int64,
        freshness: Duration
    ) {
        let record = recovery.record
        let isTracking = feed.isOpen && record.isTravelling && feed.rider == record.rider
        let id = feed.position.flatMap { $0.withUnsafeBytes { PublishedLocation.id(of: $0) } }
        // A position's id is the time of Redis when it came in, µs.
        let age = id.map { max(0, now - Int64($0 / 1000)) }
        let moment = UInt64(max(0, now)) * 1_000_000
        let facts = ViewFacts(
            end: record.status.endOfTravel ?? (isTracking ? nil : Self.pause(record, feed, notes, now: now)),
            isTravelling: isTracking, shownAt: age.map { moment - min(moment, UInt64($0) * 1_000_000) },
            freshFor: UInt64(max(0, freshness.milliseconds)) * 1_000_000)
        let (tracking, reason) = (facts.state(now: moment).tracking, facts.end)
        let shows = tracking == .live || tracking == .stale
        self.record = record
        self.unavailable = notes.unavailable
        (self.seenAt, self.sharingAt) = (notes.seenAt, notes.sharingAt)
        self.isTracking = isTracking
        self.deadline = isTracking ? feed.deadline : nil
        self.isReset = recovery.isReset
        self.positionID = shows ? id : nil
        self.snapshot = Snapshot(
            kind: record.kind, status: record.status, statusAt: record.statusAt,
            steps: record.kind.progress(at: record.status, reached: record.reached), epoch: record.epoch,
            id: record.head,
            destination: record.destination, geocoding: record.geocoded?.state, tracking: tracking, reason: reason,
            travelDeadline: record.travelDeadline, position: shows ? feed.position : nil,
            positionAgeMilliseconds: shows ? age : nil,
            eta: shows ? feed.eta.map { Self.eta($0, isStale: tracking == .stale) } : nil, missed: recovery.missed)
        self.snapshot.vendor = record.vendor?.name
        if isTracking, tracking != .live { self.snapshot.unavailable = notes.unavailable.map { TrackingTextKey($0) } }
    }

    /// What operations are told: a rider that shares and has been silent for as long as a position is kept is lost, and not
    /// waited for. Where nothing was noted, its silence counts from when it may have begun to share.
    ///
    /// - Parameters:
    ///   - now: ms since the epoch.
    ///   - settings: how long a position is kept, and for how long it may be shared.
    package func tracking(now: Int64, _ settings: LiveStateSettings) -> JobTracking {
        let state = JobTracking(self.snapshot.tracking)
        guard self.isTracking, state == .waiting else { return state }
        let known = [self.seenAt, self.sharingAt].compactMap { $0 }.max()
        // Neither sum leaves its range: both are times of this age, checked where they are read.
        let mayHaveBegun = self.deadline.flatMap { Fix.times.contains($0) ? $0 - settings.travelCap.milliseconds : nil }
        guard let heard = known ?? mayHaveBegun else { return state }
        return now - heard > settings.positionLifetime.milliseconds ? .lost : state
    }

    /// As it was kept, or that it is called into question: its rider is not seen any more.
    private static func eta(_ kept: ArrivalEstimate, isStale: Bool) -> ArrivalEstimate {
        isStale ? ArrivalEstimate(state: .recalculating, at: kept.at, stopsBefore: kept.stopsBefore) : kept
    }

    /// Why nothing is shown of a rider that is underway: it shared its position, and does not any more.
    private static func pause(
        _ record: JobRecord, _ feed: JobFeed.State, _ notes: ValidationSummary, now: Int64
    ) -> EndReason? {
        guard let deadline = record.travelDeadline, !record.isTravelling || feed.isClosed else { return nil }
        return deadline <= now ? .timeLimit : notes.wasStoppedByArrival ? .arrived : .deactivated
    }
}

extension ViewState {
    /// As clients are told.
    package var tracking: TrackingState {
        switch self {
        case .waiting: .waiting
        case .live: .live
        case .stale: .stale
        case .paused: .paused
        case .arrived: .arrived
        case .ended: .ended
        }
    }
}
