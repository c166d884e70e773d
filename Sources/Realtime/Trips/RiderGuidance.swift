// Guidance that results from a rider's reports: for the rider, the interval at which to report and its proximity to the
// destination; for its followers, why its location is unavailable.

internal import Access
internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis
internal import Tracking
internal import TrafficControl

/// The guidance of one session's rider. Confined to the session's loop.
final class RiderGuidance {
    private unowned let session: Session
    private let loop: LoopState
    private let trips: TripValidators
    private var rate = ReportRate()
    private var nextCheck: Deadline?

    /// The interval at which trips are checked for unavailable locations.
    private static let checkInterval = TimeAmount.seconds(10)

    init(session: Session, loop: LoopState, trips: TripValidators) {
        (self.session, self.loop, self.trips) = (session, loop, trips)
    }

    /// This session switched travel mode on.
    func started(_ job: JobID, resumes: Bool, _ grant: Grant) {
        self.trips.started(.init(rider: grant.person, job: job), resumes: resumes)
        self.scheduleAvailabilityCheck()
    }

    /// Redis accepted a position, and `listeners` connections received it.
    func published(_ fix: Fix, _ job: JobID, _ grant: Grant, _ listeners: Int) {
        if let state = self.trips.published(fix, .init(rider: grant.person, job: job), listeners: listeners) {
            self.session.send(.proximity(job: job, state))
        }
        if let seconds = self.rate.observe(self.trips.circumstances) {
            self.session.send(.rate(seconds: seconds))
        }
        self.scheduleAvailabilityCheck()
    }

    /// The phone reports why it has no location.
    func reported(_ reason: UnavailableReason, for job: JobID?, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.reportLocation) else {
            return self.session.refuse(
                "unavailable", job, .forbidden, "Only riders can report why their location is unavailable.", ref)
        }
        if let job, !grant.covers(job) || self.loop.revocations.hides(job, from: grant.role) {
            return self.session.refuse("unavailable", job, .noSuchJob, ref)
        }
        let trips = job.map { [TripValidators.Key(rider: grant.person, job: $0)] } ?? self.trips.trips
        // A trip that this session knows may have just ended. Then the reason is accepted although nobody sees it, so
        // that the phone needs no special case.
        guard let job, let trip = trips.first, !self.trips.isKnown(trip), !self.session.rider.isStartingTravel(for: job)
        else { return self.accept(reason, for: job, trips, ref) }
        self.checkShared(trip).whenComplete { [session = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)] in
            switch $0 {
            case .success(nil): session.value.rider.guidance.accept(reason, for: job, trips, isAssigned: true, ref)
            case .success(let refused?): session.value.refuse("unavailable", job, refused, ref)
            // The reason is remembered, and shown when Redis is available again.
            case .failure(let error) where (error as? RedisError)?.isOutage == true:
                session.value.rider.guidance.accept(reason, for: job, trips, ref)
            case .failure(let error):
                session.value.refuse("unavailable", job, session.value.refusal(for: error), ref)
            }
        }
    }

    /// - Returns: why the rider does not report for the job; `nil` if it does.
    private func checkShared(_ trip: TripValidators.Key) -> EventLoopFuture<Refused?> {
        self.loop.jobs.ledger.head(trip.job).map { head in
            guard let head, head.rider == trip.rider else { return .noSuchJob }
            return head.isTravelling ? nil : .travelModeOff
        }
    }

    private func accept(
        _ reason: UnavailableReason, for job: JobID?, _ trips: [TripValidators.Key], isAssigned: Bool = false,
        _ ref: MessageRef?
    ) {
        guard self.session.isOpen else { return }
        for trip in trips { self.trips.reported(reason, trip, isAssigned: isAssigned) }
        self.scheduleAvailabilityCheck()
        self.session.send(.ok(replyTo: "unavailable", job: job, sequence: nil, deadline: nil, ref: ref))
    }

    /// The session ended. The final states and counts of its trips have not been published yet.
    func sessionEnded() {
        self.nextCheck?.cancel()
        self.trips.disconnected()
        self.trips.countAll(isLast: true)
    }

    private func scheduleAvailabilityCheck() {
        guard self.nextCheck == nil else { return }
        self.nextCheck = self.loop.deadlines.after(Self.checkInterval) { [weak self, weak session = self.session] in
            guard let self, session?.isOpen == true else { return }
            self.nextCheck = nil
            self.trips.reportUnavailability()
            self.scheduleAvailabilityCheck()
        }
    }
}

extension TripValidators {
    /// Whether the job is or was assigned to the rider, as far as this device knows.
    fileprivate func isKnown(_ key: Key) -> Bool {
        self.entries[key].map { $0.isAssigned || $0.isOvertaken } ?? false
    }
}
