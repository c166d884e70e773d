// A rider sets their availability and switches travel mode. Travel mode ends by itself at the sharing time limit.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import TrafficControl

extension RiderSession {
    func setAvailability(_ status: Availability, _ device: DeviceID?, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.beAvailable) else {
            return self.session.refuse(
                "availability", nil, .forbidden,
                "Only riders can set their availability, and their token must not be restricted to one job.", ref)
        }
        if let wait = self.loop.quotas.declarationDelay(
            of: SessionOwner(grant), at: NIODeadline.now().uptimeNanoseconds)
        {
            return self.session.refuse(
                "availability", nil, .rateLimited, "Availability changed too often. Try again later.", ref,
                retryIn: wait)
        }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.loop.riders.declare(status, of: grant.person, device: device, by: .init(grant.person)).whenComplete {
            result in
            switch result {
            case .success:
                bound.value.send(.ok(replyTo: "availability", job: nil, sequence: nil, deadline: nil, ref: ref))
                bound.value.rider.presence.availabilitySet(status, by: device)
            case .failure(let error):
                bound.value.refuse("availability", nil, bound.value.refusal(for: error).ofItself, ref)
            }
        }
    }

    /// - Parameter resumes: whether to only continue, or switch off, what this device started.
    func travel(_ job: JobID, active: Bool, resumes: Bool, _ grant: Grant, _ ref: MessageRef?) {
        guard grant.allows(.switchTravel) else {
            return self.session.refuse("travel", job, .forbidden, "Only riders can switch travel mode.", ref)
        }
        guard self.reaches(job, grant) else { return self.session.refuse("travel", job, .noSuchJob, ref) }
        if !active, !resumes { self.travelStopped(job, grant) }
        if active { self.starting.insert(job) }
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        let jobs = self.loop.jobs
        let done: EventLoopFuture<Int64?> =
            active
            ? jobs.startTravel(job, by: grant.person, on: self.reporter, resumes: resumes).map { $0 }
            : resumes
                ? jobs.stopTravel(job, by: grant.person, startedOn: self.reporter).map { nil }
                : jobs.stopTravel(job, by: grant.person).map { nil }
        done.whenComplete { result in
            if active { bound.value.rider.starting.remove(job) }
            switch result {
            case .success(let deadline):
                bound.value.send(.ok(replyTo: "travel", job: job, sequence: nil, deadline: deadline, ref: ref))
                if let deadline {
                    bound.value.rider.endTravel(of: job, at: deadline)
                    bound.value.rider.guidance.started(job, resumes: resumes, grant)
                } else if resumes {
                    bound.value.rider.travelStopped(job, grant)
                }
            case .failure(let error):
                let refused = bound.value.refusal(for: error)
                bound.value.refuse("travel", job, refused.code, refused.message, ref)
            }
        }
    }

    /// Whether this session has sent a `travel` command that Redis has not answered yet.
    func isStartingTravel(for job: JobID) -> Bool { self.starting.contains(job) }

    /// Reports that are waiting are no longer published.
    private func travelStopped(_ job: JobID, _ grant: Grant) {
        self.trips.restart(.init(rider: grant.person, job: job))
        self.queue.travelStopped(job)
        self.sharingTimers.remove(job)?.cancel()
    }

    // MARK: sharing time limit

    private func endTravel(of job: JobID, at deadline: Int64) {
        // The reply may arrive after the end of the session.
        guard self.session.isOpen else { return }
        self.queue.travelStarted(job)
        let timer = self.loop.deadlines.after(.until(deadline)) { [weak self, weak session = self.session] in
            guard let self, session?.isOpen == true else { return }
            self.loop.relay.limits.closeNow(job, deadline)
            self.ended(job, notifiesRider: self.queue.timeLimitReached(of: job))
        }
        self.sharingTimers.set(timer, for: job, at: deadline)?.cancel()
    }

    /// The job's sharing time limit was reached.
    func ended(_ job: JobID, notifiesRider: Bool) {
        self.sharingTimers.remove(job)?.cancel()
        if notifiesRider { self.session.send(.tracking(job: job, .ended, .timeLimit)) }
    }
}
