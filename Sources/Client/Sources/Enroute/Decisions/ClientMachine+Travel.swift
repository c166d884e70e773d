// The part of the client that switches travel mode, and resumes it on each new connection until it is over.

extension ClientMachine {
    /// A job whose travel mode this device switched on.
    struct Travel {
        /// The last request that switched it on or resumed it.
        var request: Int
        var isAnswered = false
    }

    /// Switches travel mode on or off, and returns the number of the request. From then on, nothing is sent for a job
    /// that is switched off, even if the gateway cannot be reached. A job is resumed only if the request to switch it
    /// on was sent. If its answer is lost, the gateway refuses to resume travel mode that it never started.
    mutating func switchTravel(_ job: JobID, isActive: Bool, resumes: Bool, at moment: Moment) -> Int {
        if !isActive { self.forget(job) }
        let request = self.request(
            .travel(job, isActive: isActive, device: self.device, resumes: resumes), at: moment)
        if isActive, self.pending.contains(request) {
            self.travels[job] = Travel(request: request)
            self.takenOver.remove(job)
        }
        return request
    }

    mutating func resumeTravels(at moment: Moment) {
        for job in self.travels.keys.sorted(by: { $0.rawValue < $1.rawValue }) { self.resume(job, at: moment) }
    }

    mutating func resume(_ job: JobID, at moment: Moment) {
        guard self.travels[job] != nil else { return }
        let request = self.nextRequest()
        self.travels[job] = Travel(request: request)
        self.send(.travel(job, isActive: true, device: self.device, resumes: true), ref: request, at: moment)
    }

    mutating func travelAnswered(_ job: JobID, _ request: Int) {
        guard self.travels[job]?.request == request else { return }
        self.travels[job]?.isAnswered = true
        self.dropped.remove(job)
    }

    /// From now on, the client neither resumes the job nor sends its queued readings.
    mutating func forget(_ job: JobID) {
        self.travels[job] = nil
        self.timers[.travel(job)] = nil
        self.dropped.remove(job)
        self.unavailable[.job(job)] = nil
        self.fixes.forget(job)
    }

    /// Handles a refusal to switch travel mode on or off. If a later request was sent, its answer decides. A resumption is
    /// repeated; the app repeats its own requests.
    mutating func travelRefused(_ refusal: WireError, _ error: EnrouteError, tryAgainAt due: Double) {
        guard let job = refusal.job, let request = self.travels[job]?.request,
            refusal.ref == nil || refusal.ref == String(request)
        else { return }
        self.dropped.remove(job)
        if error.isRetryable {
            if self.pending.contains(request) { return }
            self.timers[.travel(job)] = due
            if error.code == .rateLimited { self.dropped.insert(job) }
            return
        }
        self.forget(job)
        if error.code == .otherDevice { self.takenOver.insert(job) }
        // Nobody waits for the answer to a resumption.
        if !self.pending.contains(request) { self.effects.append(.outcome(.refused(job, error))) }
    }

    /// Handles a refused report over the socket.
    mutating func reportRefused(_ job: JobID?, _ error: EnrouteError) {
        if let job, self.dropped.contains(job) { return self.fixes.repeatUnanswered() }
        self.fixes.refused(job)
        let isRepetition = error.code == .otherDevice && job.map { self.travels[$0] == nil } == true
        if let job { self.forget(job, after: error) }
        if !isRepetition { self.effects.append(.outcome(.refused(job, error))) }
    }

    /// Forgets a job if a refused report shows that this device does not report for it. A refusal from before the
    /// current request to switch travel mode on does not count.
    mutating func forget(_ job: JobID, after error: EnrouteError) {
        guard error.code == .otherDevice || error.code == .travelModeOff, self.travels[job]?.isAnswered != false else {
            return
        }
        self.forget(job)
        if error.code == .otherDevice { self.takenOver.insert(job) }
    }
}
