// A job as read from both instances: complete for a new follower, or only the parts that show whether a follower is up
// to date.

package import Access
package import EnrouteWire
package import LiveState
package import Tracking

/// The customer and the rider of a job.
package struct Parties: Sendable, Hashable {
    package var customer: PersonID
    package var rider: PersonID?
}

/// A job as a follower receives it.
package struct JobView: Sendable {
    package var record: JobRecord
    package var snapshot: Snapshot
    /// Id of the position in the snapshot.
    package var positionID: UInt64?
    /// The position was stored before the current device took over.
    package var isPositionOfOtherDevice: Bool
    /// The log no longer holds the last event that the follower saw.
    package var isReset: Bool
    /// Both instances have travel mode on for the rider, whether or not there is a position.
    package var isTracking: Bool
    /// Deadline of travel mode, ms since the epoch; `nil` when it is off.
    package var deadline: Int64?
    /// Why the rider's location is unavailable, as last reported.
    package var unavailable: UnavailableReason?
    /// The last proximity that followers were notified of.
    package var proximity: ProximityState?
    /// The basis for estimating the arrival before there is a position; `nil` if nothing is known.
    package var early: EarlyArrival?
    /// When a position was last accepted, and when the rider started to share it, ms since the epoch.
    var seenAt: Int64?
    var sharingAt: Int64?

    package var parties: Parties { Parties(customer: self.record.customer, rider: self.record.rider) }
}

/// What an up-to-date follower has seen.
package struct JobCheck: Sendable {
    package var head: JobLedger.Head
    /// Both instances have travel mode on for the rider.
    package var isTracking: Bool
    /// The live instance accepts positions although the ledger does not allow it, because an update was lost.
    package var isFeedOrphaned: Bool
    /// The last position as it was published, and its id.
    package var position: (id: UInt64, message: [UInt8])?
    /// Deadline of travel mode, ms since the epoch; `nil` when it is off.
    package var deadline: Int64?
    package var parties: Parties

    package init(_ head: JobLedger.Head, _ feed: JobFeed.State) {
        let position = feed.position.flatMap { message in
            message.withUnsafeBytes { PublishedLocation.id(of: $0) }.map { (id: $0, message: message) }
        }
        self.init(head, rider: feed.rider, deadline: feed.deadline, position)
    }

    package init(_ reading: JobCheckReader.Reading) {
        self.init(
            reading.head, rider: reading.travel?.rider, deadline: reading.travel?.deadline, reading.position)
    }

    /// - Parameters:
    ///   - rider: who shares their position according to the live instance; `nil` while the feed is closed.
    ///   - deadline: ms since the epoch.
    private init(
        _ head: JobLedger.Head, rider: PersonID?, deadline: Int64?, _ position: (id: UInt64, message: [UInt8])?
    ) {
        self.head = head
        self.parties = Parties(customer: head.customer, rider: head.rider)
        let isAllowed = head.isTravelling && rider == head.rider
        self.isTracking = rider != nil && isAllowed
        self.isFeedOrphaned = rider != nil && !isAllowed
        self.deadline = self.isTracking ? deadline : nil
        self.position = self.isTracking ? position : nil
    }
}

extension JobView {
    /// The snapshot for a role. Customers and link viewers do not see the vendor's address or the route to the stops
    /// before theirs. Metadata is for services and operations staff. The recipient and the customer's note are for them
    /// and, until the job ends, for the rider.
    package func snapshot(for role: Role?) -> Snapshot {
        var snapshot = self.snapshot
        if let role, role != .customer { snapshot.vendorAddress = self.record.vendor?.address }
        if role == .ops || role == .service { snapshot.metadata = self.record.metadata }
        let isForRider = role == .rider && self.record.status.end == nil
        if isForRider || role == .ops || role == .service {
            (snapshot.customerNote, snapshot.recipient) = (self.record.customerNote, self.record.recipient)
        }
        if role == nil || role == .customer { snapshot.eta = snapshot.eta?.forCustomers }
        return snapshot
    }

    /// The view without the position, while the caller may not show it.
    package var withoutPosition: JobView {
        guard self.positionID != nil else { return self }
        var view = self
        view.positionID = nil
        (view.snapshot.position, view.snapshot.positionAgeMilliseconds) = (nil, nil)
        view.snapshot.eta = nil
        view.snapshot.tracking = .waiting
        return view
    }

    /// The view without the rider's card, for a caller that does not count as a viewer yet.
    package var withoutRider: JobView {
        var view = self
        view.snapshot.riderCard = nil
        return view
    }

    /// How the job ended, for a link that no longer opens sessions: without places, people and the customer's details.
    package var outcome: JobView {
        var view = self.withoutPosition.withoutRider
        (view.snapshot.destination, view.snapshot.geocoding, view.snapshot.display) = (nil, nil, nil)
        return view
    }

    /// - Parameters:
    ///   - card: of the job's rider, if its status shows the rider.
    ///   - early: how long preparation and pickup take.
    ///   - now: ms since the epoch.
    ///   - freshness: age from which a position is stale.
    package init(
        _ recovery: JobLedger.Recovery, _ feed: JobFeed.State, _ notes: ValidationSummary = ValidationSummary(),
        card: RiderCard? = nil, early: EarlyArrival.Settings = .off, now: Int64,
        freshness: Duration
    ) {
        let record = recovery.record
        let isTracking = feed.isOpen && record.isTravelling && feed.rider == record.rider
        let id = feed.position.flatMap { $0.withUnsafeBytes { PublishedLocation.id(of: $0) } }
        // A position's id is the time at which Redis stored it, µs.
        let age = id.map { max(0, now - Int64($0 / 1000)) }
        let nowNanoseconds = UInt64(max(0, now)) * 1_000_000
        let facts = ViewFacts(
            end: record.status.endOfTravel ?? (isTracking ? nil : Self.pause(record, feed, notes, now: now)),
            isTravelling: isTracking, shownAt: age.map { nowNanoseconds - min(nowNanoseconds, UInt64($0) * 1_000_000) },
            freshFor: UInt64(max(0, freshness.milliseconds)) * 1_000_000)
        let state = facts.state(now: nowNanoseconds)
        let (tracking, reason, shows) = (state.tracking, facts.end, state.showsMarker)
        // Nothing is known about a rider who has become silent.
        self.early = tracking == .waiting && Self.lastSeen(notes) == nil ? EarlyArrival(record, card, early) : nil
        self.record = record
        (self.unavailable, self.proximity) = (notes.unavailable, notes.proximity)
        (self.seenAt, self.sharingAt) = (notes.seenAt, notes.sharingAt)
        self.isTracking = isTracking
        self.deadline = isTracking ? feed.deadline : nil
        self.isReset = recovery.isReset
        self.positionID = shows ? id : nil
        self.isPositionOfOtherDevice =
            record.reporterSince.map { since in
                id.map { $0 / 1000 < UInt64(clamping: since) } ?? false
            } ?? false
        self.snapshot = Snapshot(
            kind: record.kind, status: record.status, statusAt: record.statusAt,
            steps: record.kind.progress(at: record.status, reached: record.reached), epoch: record.epoch,
            id: record.head,
            destination: record.destination, geocoding: record.geocoded?.state, tracking: tracking, reason: reason,
            travelDeadline: record.travelDeadline, position: shows ? feed.position : nil,
            positionAgeMilliseconds: shows ? age : nil,
            eta: shows ? feed.eta.map { Self.eta($0, isStale: tracking == .stale) } : self.early?.estimate(wall: now),
            missed: recovery.missed)
        // A new follower sees the route from the rider's position on, not where the rider was before.
        if self.snapshot.eta?.route != nil {
            self.snapshot.eta = self.snapshot.eta?.ahead(
                of: self.snapshot.location?.fix.place, at: now - (age ?? 0))
        }
        self.snapshot.vendor = record.vendor?.name
        self.snapshot.display = record.display
        if record.rider != nil, record.status.showsRider {
            self.snapshot.riderCard = card
            if let vehicle = record.display?.vehicle { self.snapshot.riderCard?.vehicle = vehicle }
        }
        if isTracking, tracking != .live { self.snapshot.unavailable = notes.unavailable.map { TrackingTextKey($0) } }
        if isTracking, tracking == .waiting { self.snapshot.lastSeenAt = Self.lastSeen(notes) }
    }

    /// The rider's vehicle: the one in the job's details, or else the one on the rider's card; `nil` if unknown.
    package var vehicle: Vehicle? { self.record.display?.vehicle ?? self.snapshot.riderCard?.vehicle }

    /// When this rider last reported a position that is no longer stored. A position from before sharing started may be that
    /// of another rider.
    private static func lastSeen(_ notes: ValidationSummary) -> Int64? {
        guard let seenAt = notes.seenAt, seenAt >= notes.sharingAt ?? 0 else { return nil }
        return seenAt
    }

    /// The tracking state for operations staff. A rider whose travel mode is on and who has sent no position for as long as
    /// positions are stored is lost, not waiting. Without any record, the time counts from the earliest possible start of
    /// sharing.
    ///
    /// - Parameters:
    ///   - now: ms since the epoch.
    ///   - settings: how long a position is stored and may be shared.
    package func tracking(now: Int64, _ settings: LiveStateSettings) -> JobTracking {
        let state = JobTracking(self.snapshot.tracking)
        guard self.isTracking, state == .waiting else { return state }
        let known = [self.seenAt, self.sharingAt].compactMap { $0 }.max()
        // Neither operation overflows: both are recent times, validated when they were read.
        let earliestStart = self.deadline.flatMap {
            Fix.times.contains($0) ? $0 - settings.maxSharingDuration.milliseconds : nil
        }
        guard let lastSeen = known ?? earliestStart else { return state }
        return now - lastSeen > settings.positionLifetime.milliseconds ? .lost : state
    }

    /// The stored estimate, or a note that it is being recalculated because the rider's position is stale.
    private static func eta(_ estimate: ArrivalEstimate, isStale: Bool) -> ArrivalEstimate {
        isStale ? ArrivalEstimate(state: .recalculating, at: estimate.at, stopsBefore: estimate.stopsBefore) : estimate
    }

    /// Why no position is shown in a travelling status: the rider shared their position before and stopped.
    private static func pause(
        _ record: JobRecord, _ feed: JobFeed.State, _ notes: ValidationSummary, now: Int64
    ) -> EndReason? {
        guard let deadline = record.travelDeadline, !record.isTravelling || feed.isClosed else { return nil }
        return deadline <= now ? .timeLimit : notes.wasStoppedByArrival ? .arrived : .deactivated
    }
}

extension EarlyArrival {
    /// - Returns: `nil` without a rider, for a visit, and if the place of the vendor or the destination is unknown.
    fileprivate init?(_ record: JobRecord, _ card: RiderCard?, _ settings: Settings) {
        guard settings.isOn, record.kind == .delivery, record.rider != nil, let vendor = record.vendor?.place,
            let destination = record.destination
        else { return nil }
        self.init(
            status: record.status, since: record.statusAt, acceptedAt: record.acceptedAt, from: vendor, to: destination,
            vehicle: record.display?.vehicle ?? card?.vehicle,
            promisedFrom: record.display?.window?.from, settings: settings)
    }
}

extension ViewState {
    /// The state as clients receive it.
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
