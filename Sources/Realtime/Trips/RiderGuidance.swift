// What a rider's reports lead to beside being shown: how often it is to report, how near it seems to be, and why
// nothing is seen of it when they fail to come.

internal import Access
internal import EnrouteWire
internal import Jobs
internal import NIOCore
internal import Tracking
internal import TrafficControl

/// What one session's rider is told of itself. Confined to the session's loop.
final class RiderGuidance {
    private unowned let session: Session
    private let loop: LoopState
    private let trips: TripValidators
    private var rate = ReportRate()
    private var nextCheck: Deadline?

    /// Between two looks at why nothing is seen of a trip.
    private static let checkInterval = TimeAmount.seconds(10)

    init(session: Session, loop: LoopState, trips: TripValidators) {
        (self.session, self.loop, self.trips) = (session, loop, trips)
    }

    /// Travel mode was switched on by this session.
    func started(_ job: JobID, _ grant: Grant) {
        self.trips.started(.init(rider: grant.person, job: job))
        self.scheduleAvailabilityCheck()
    }

    /// A position was taken, and so many connections heard it.
    package func published(_ fix: Fix, _ job: JobID, _ grant: Grant, _ listeners: Int) {
        if let state = self.trips.published(fix, .init(rider: grant.person, job: job), listeners: listeners) {
            self.session.send(.proximity(job: job, state))
        }
        if let seconds = self.rate.observe(self.trips.circumstances) {
            self.session.send(.rate(seconds: seconds))
        }
        self.scheduleAvailabilityCheck()
    }

    /// The phone says why it has no position.
    package func reported(_ reason: UnavailableReason, for job: JobID?, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.reportLocation) else {
            return self.session.refuse(
                "unavailable", job, .forbidden, "Only riders can report why their location is unavailable.", ref)
        }
        if let job, !grant.covers(job) || self.loop.revocations.hides(job, from: grant.role) {
            return self.session.refuse("unavailable", job, .noSuchJob, ref)
        }
        let trips = job.map { [TripValidators.Key(rider: grant.person, job: $0)] } ?? self.trips.trips
        for trip in trips { self.trips.reported(reason, trip) }
        self.scheduleAvailabilityCheck()
        self.session.send(.ok(replyTo: "unavailable", job: job, sequence: nil, deadline: nil, ref: ref))
    }

    /// The session is over: what its reports came to is not.
    func sessionEnded() {
        self.nextCheck?.cancel()
        self.trips.disconnected()
        self.trips.countAll()
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
