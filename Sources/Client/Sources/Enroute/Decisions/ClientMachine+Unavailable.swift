// The part of the client that reports why a rider's phone has no position, and repeats it on each new connection.

extension ClientMachine {
    /// What a reason applies to.
    enum Silence: Hashable {
        case all
        case job(JobID)

        var job: JobID? { if case .job(let job) = self { job } else { nil } }
    }

    /// Sends the reason, and returns the number of the request. Without a connection, the reason is sent on the next one.
    mutating func reportUnavailable(_ reason: UnavailableReason, _ job: JobID?, at moment: Moment) -> Int {
        self.unavailable[job.map { .job($0) } ?? .all] = reason
        return self.request(.unavailable(reason, job), at: moment)
    }

    /// Sends the reasons on a new connection, those for single jobs last. Nobody waits for the answers.
    mutating func repeatUnavailable(at moment: Moment) {
        let reasons = self.unavailable.sorted { ($0.key.job?.rawValue ?? "") < ($1.key.job?.rawValue ?? "") }
        for (silence, reason) in reasons { self.send(.unavailable(reason, silence.job), at: moment) }
    }

    /// Forgets the reasons, because the phone has a position again.
    mutating func forgetUnavailable(_ jobs: [JobID]) {
        self.unavailable[.all] = nil
        for job in jobs { self.unavailable[.job(job)] = nil }
    }

    /// Forgets a reason that the gateway refuses, because the job is not this rider's or its travel mode is off.
    mutating func unavailableRefused(_ refusal: WireError, _ error: EnrouteError) {
        guard !error.isRetryable else { return }
        self.unavailable[refusal.job.map { .job($0) } ?? .all] = nil
    }
}
