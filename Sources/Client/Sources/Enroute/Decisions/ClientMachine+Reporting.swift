// The part of the client that reports a rider's locations: over the socket while it is open, and over REST while the app is in
// the background.

extension ClientMachine {
    mutating func report(_ fix: Fix, jobs: [JobID], battery: Double?, at moment: Moment) {
        var fix = fix
        fix.measuredAt = self.connection.clock.localTime(of: fix.measuredAt, at: moment.wall)
        if fix.place.isValid { self.forgetUnavailable(jobs) }
        // Another device reports for the other jobs.
        let own = jobs.filter { !self.takenOver.contains($0) }
        if own.isEmpty, !jobs.isEmpty { return }
        do {
            try self.fixes.add(fix, jobs: own, battery: battery)
            self.reportWhenDue(at: moment)
        } catch {
            self.effects.append(.outcome(.refused(own.first, error)))
        }
    }

    mutating func reportWhenDue(at moment: Moment) {
        guard let due = self.fixes.due(at: moment.now), self.timers[.report] == nil else { return }
        guard self.connection.isOpen || (self.isInBackground && !self.isPosting), self.dropped.isEmpty else { return }
        let wait = due == 0 && self.connection.isCongested ? Self.congestionPause : due
        if wait > 0 {
            self.timers[.report] = moment.now + wait
            return
        }
        guard let report = self.fixes.next(at: moment, clockOffset: self.connection.clock.offset) else { return }
        if self.connection.isOpen {
            self.send(.location(report), at: moment)
            // Readings for other jobs may wait.
            self.reportWhenDue(at: moment)
        } else {
            (self.isPosting, self.postedAt) = (true, moment)
            self.effects.append(.post(report))
        }
    }

    /// Handles the result of a report over REST.
    mutating func posted(_ result: Result<BatchAnswer, EnrouteError>, sequence: Int64, jobs: [JobID], at moment: Moment)
    {
        self.isPosting = false
        switch result {
        case .success(let answer):
            self.correctClock(answer.serverTime, at: moment)
            self.fixes.answered(sequence)
            for job in answer.accepted + (answer.held ?? []) { self.effects.append(.outcome(.accepted(job))) }
            for refusal in answer.refused ?? [] {
                let error = EnrouteError(EnrouteError.Code(rawValue: refusal.code), "The location was refused.")
                self.forget(refusal.job, after: error)
                self.effects.append(.outcome(.refused(refusal.job, error)))
            }
            if let seconds = answer.intervalSeconds {
                self.fixes.setInterval(seconds: seconds)
                self.effects.append(.pace(self.fixes.interval))
            }
        case .failure(let error) where error.isRetryable:
            // The readings are sent again with the next report, unless newer ones replace them.
            self.fixes.repeatUnanswered()
            if let pause = error.retryAfter?.inMilliseconds {
                self.timers[.report] = moment.now + min(pause, Reconnecting.longestNotBefore)
            }
        case .failure(let error):
            self.correctClock(error.serverTime, at: moment)
            self.fixes.answered(sequence)
            // If the gateway refused all jobs, the first job's error counts.
            if let first = jobs.first { self.forget(first, after: error) }
            for job in jobs { self.effects.append(.outcome(.refused(job, error))) }
        }
        self.reportWhenDue(at: moment)
    }
}

/// The clock. While the app is in the background, only REST responses correct it.
extension ClientMachine {
    private mutating func correctClock(_ serverTime: Double?, at moment: Moment) {
        guard let serverTime, let asked = self.postedAt else { return }
        if self.connection.correctClock(serverTime: serverTime, asked: asked, at: moment) { self.updateClock() }
    }
}

/// The response to `POST jobs/{job}/locations`.
struct BatchAnswer: Decodable, Sendable {
    struct Refusal: Decodable, Sendable {
        let job: JobID
        let code: String
    }

    let accepted: [JobID]
    let held: [JobID]?
    let refused: [Refusal]?
    let intervalSeconds: Double?
    /// ms since the epoch, by the gateway's clock.
    var serverTime: Double?
}
