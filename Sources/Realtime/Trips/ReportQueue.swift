// What becomes of a rider's reports: which one goes to Redis now, which one waits, and what each is answered. Of each job
// only the newest report waits, and the job that has waited longest goes next. What Redis could not take goes out again. An
// answer covers every earlier report of its job, so a report that was replaced by a newer one has no answer of its own.
//
// A value without a socket, a timer or Redis: it is told what happened and says what to do. RiderSession does it.

internal import EnrouteWire
internal import Fanout
internal import Tracking

/// The judged reports of one rider, on their way to Redis.
struct ReportQueue: Sendable {
    /// What the answer to a report names.
    struct Answer: Hashable, Sendable {
        var job: JobID
        var sequence: Int64
        var ref: MessageRef?
    }

    /// One position for Redis.
    struct Report: Hashable, Sendable {
        var answer: Answer
        var fix: Fix
        /// ms since the epoch.
        var receivedAt: Int64
        /// It was sent before, and nobody knows whether Redis took it.
        var isRepeat = false

        var job: JobID { self.answer.job }
    }

    /// What to do with a report that was judged.
    enum Decision: Hashable, Sendable {
        /// - Parameter replaces: a report that waited is never sent.
        case publish(Report, replaces: Bool)
        /// - Parameters:
        ///   - timer: set one that is due after so many ns; `nil` when it is set already.
        ///   - replaces: a report that waited is never sent.
        case wait(timer: UInt64?, replaces: Bool)
        /// Answer `ok`.
        case accept(Answer)
        case refuse(Answer, FixRefusal)
        /// Positions of too many jobs wait already.
        case refuseTooMany(Answer)
        /// The answer to the report that waits covers it.
        case covered
    }

    /// What Redis made of a report.
    enum Outcome: Hashable, Sendable {
        case accepted(listeners: Int)
        /// It has one that is as new or newer.
        case notNewer
        case future
        /// Travel mode is off, or another rider shares its position.
        case notShared
        /// It knows nothing of the job.
        case unknown
        /// Travel mode was opened again after `unknown`, or could not be.
        case reopened(Bool)
        /// ms since the epoch.
        case timeLimitReached(since: Int64)
        /// It did not answer.
        case noAnswer
    }

    /// What to do with a report after Redis has answered, or has not.
    enum Settlement: Hashable, Sendable {
        /// Answer `ok`.
        ///
        /// - Parameter listeners: who heard it; `nil` when Redis had taken it before, and nobody knows.
        case accept(listeners: Int?)
        /// Redis knows more than this gateway: refuse the report, and correct what it is judged by.
        case overrule(FixRefusal)
        /// - Parameter notifiesRider: the rider has not been told yet.
        case endTravel(since: Int64, notifiesRider: Bool)
        /// Open travel mode again.
        case reopen
        case publish(Report)
        /// - Parameter timer: as of `Decision.wait`.
        case buffer(timer: UInt64?)
        case refuseTooMany
        /// A newer report waits, whose answer covers this one.
        case covered
    }

    private struct Queued {
        var report: Report
        /// The least has waited longest. A newer report of the job keeps it.
        var order: UInt64
    }

    private var rate: TokenBucket
    /// The newest report of each job that came faster than it may be published, or that Redis could not take.
    private var queued: [JobID: Queued] = [:]
    private var lastOrder: UInt64 = 0
    private var isTimerSet = false
    /// The newest position of each job that Redis took.
    private var published: PublishedPositions
    /// Jobs whose rider was told that the time is over.
    private var notifiedOfLimit: Set<JobID> = []
    /// Jobs of each kind that it knows at once.
    let mostJobs: Int

    /// Between two attempts to publish what waits, at least, ns.
    static let retryNanoseconds: UInt64 = 250_000_000

    /// - Parameter mostJobs: as many as a rider may follow.
    init(perSecond: Int, burst: Int, mostJobs: Int) {
        self.rate = TokenBucket(perSecond: perSecond, burst: burst)
        self.published = PublishedPositions(most: mostJobs)
        self.mostJobs = mostJobs
    }

    /// Jobs of which a report waits.
    var count: Int { self.queued.count }

    // MARK: reports

    /// A report was judged.
    ///
    /// - Parameters:
    ///   - now: ns of a clock that does not go back.
    ///   - receivedAt: ms since the epoch.
    mutating func validated(
        _ answer: Answer, _ verdict: ReportVerdict, at now: UInt64, receivedAt: Int64
    ) -> Decision {
        switch verdict {
        case .publish(let fix): self.offer(Report(answer: answer, fix: fix, receivedAt: receivedAt), at: now)
        case .held: self.coverWithQueued(answer) ? .covered : .accept(answer)
        // Older than the one that waits, perhaps: then it is like one that was replaced.
        case .refused(let reason) where reason == .outOfOrder || reason == .duplicate:
            self.coverWithQueued(answer) ? .covered : .refuse(answer, reason)
        case .refused(let reason): .refuse(answer, reason)
        }
    }

    private mutating func offer(_ report: Report, at now: UInt64) -> Decision {
        if self.queued.isEmpty, self.rate.take(at: now) { return .publish(report, replaces: false) }
        let replaces = self.queued[report.job] != nil
        if replaces, self.queued.count == 1, self.rate.take(at: now) {
            self.queued[report.job] = nil
            return .publish(report, replaces: true)
        }
        guard self.enqueue(report) else { return .refuseTooMany(report.answer) }
        return .wait(timer: self.timer(at: now), replaces: replaces)
    }

    /// Whether a report of the job waits, whose answer is from now on this one's too.
    private mutating func coverWithQueued(_ answer: Answer) -> Bool {
        guard !self.queued.isEmpty, let index = self.queued.index(forKey: answer.job) else { return false }
        self.queued.values[index].report.answer = answer
        return true
    }

    /// It waits: it replaces an older report of its job, or joins the end of the queue.
    private mutating func enqueue(_ report: Report) -> Bool {
        if let index = self.queued.index(forKey: report.job) {
            self.queued.values[index].report = report
            return true
        }
        guard self.queued.count < self.mostJobs else { return false }
        self.lastOrder += 1
        self.queued[report.job] = Queued(report: report, order: self.lastOrder)
        return true
    }

    /// The timer is due.
    ///
    /// - Returns: what to publish, in this order, and when to come back, in ns, if there is more.
    mutating func due(at now: UInt64) -> (reports: [Report], timer: UInt64?) {
        self.isTimerSet = false
        var reports: [Report] = []
        for waiting in self.queued.values.sorted(by: { $0.order < $1.order }) {
            guard self.rate.take(at: now) else { break }
            self.queued[waiting.report.job] = nil
            reports.append(waiting.report)
        }
        return (reports, self.queued.isEmpty ? nil : self.timer(at: now, least: Self.retryNanoseconds))
    }

    /// After how many ns the timer is due, if it has to be set.
    private mutating func timer(at now: UInt64, least: UInt64 = 0) -> UInt64? {
        guard !self.isTimerSet else { return nil }
        self.isTimerSet = true
        return max(least, self.rate.wait(at: now))
    }

    // MARK: Redis

    /// What was published has come to this.
    mutating func settle(_ report: Report, _ outcome: Outcome, at now: UInt64) -> Settlement {
        switch outcome {
        case .accepted(let listeners):
            self.published.remember(report.fix, of: report.job, receivedAt: report.receivedAt)
            return .accept(listeners: listeners)
        // The first time Redis may have taken it, and its answer was lost.
        case .notNewer: return report.isRepeat ? .accept(listeners: nil) : .overrule(.outOfOrder)
        case .future: return .overrule(.future)
        case .notShared, .reopened(false): return .overrule(.travelModeOff)
        case .timeLimitReached(let since):
            return .endTravel(since: since, notifiesRider: self.timeLimitReached(of: report.job))
        case .unknown: return .reopen
        case .reopened(true):
            var again = report
            again.isRepeat = true
            return .publish(again)
        case .noAnswer: return self.requeue(report, at: now)
        }
    }

    /// The newest position of each job is kept until Redis is back.
    private mutating func requeue(_ report: Report, at now: UInt64) -> Settlement {
        var again = report
        again.isRepeat = true
        if let waiting = self.queued[report.job]?.report {
            // The newer reading is not always that of the later report: a phone's clock may have been set back.
            let later = waiting.answer.sequence > report.answer.sequence ? waiting.answer : report.answer
            guard report.fix.at > waiting.fix.at else {
                _ = self.coverWithQueued(later)
                return .covered
            }
            again.answer = later
        }
        guard self.enqueue(again) else { return .refuseTooMany }
        return .buffer(timer: self.timer(at: now, least: Self.retryNanoseconds))
    }

    /// Another master answers, which may lack what the last one took.
    ///
    /// - Parameter time: ms since the epoch.
    /// - Returns: what it has to be told again, and when the timer is due instead of the one that is set; `nil` leaves that.
    mutating func masterReturned(at now: UInt64, time: Int64) -> (
        again: [JobID: PublishedPositions.Published], timer: UInt64?
    ) {
        let again = self.published.recent(now: time).filter { self.queued[$0.key] == nil }
        guard !self.queued.isEmpty else { return (again, nil) }
        self.isTimerSet = false
        return (again, self.timer(at: now))
    }

    // MARK: travel mode

    /// Travel mode is on, until a time that the rider was told.
    mutating func travelStarted(_ job: JobID) { self.notifiedOfLimit.remove(job) }

    /// Travel mode was switched off: waiting reports are dropped.
    mutating func travelStopped(_ job: JobID) {
        self.queued[job] = nil
        self.published.forget(job)
    }

    /// The time in which the rider may share its position is over.
    ///
    /// - Returns: whether the rider is to be told: once, whether it was still sending or not.
    mutating func timeLimitReached(of job: JobID) -> Bool {
        self.travelStopped(job)
        if self.notifiedOfLimit.count >= self.mostJobs { self.notifiedOfLimit.removeAll() }
        return self.notifiedOfLimit.insert(job).inserted
    }
}
