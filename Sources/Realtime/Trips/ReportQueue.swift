// Decides what happens to a rider's reports: which one is published to Redis now, which one waits, and how each is answered.
// Per job, only the newest report is queued, and the job that has waited longest is published next. A report that Redis did not
// answer is published again. An answer covers all earlier reports of its job, so a report that is replaced by a newer one gets
// no answer of its own.
//
// A value without a socket, a timer or Redis. It receives events and returns what to do (ReportDecisions), and RiderSession
// does it.

internal import EnrouteWire
internal import Fanout
internal import Tracking

/// The validated reports of one rider on their way to Redis.
struct ReportQueue: Sendable {
    private struct Queued {
        var report: Report
        /// The lowest value has waited longest. A newer report of the job keeps the value.
        var order: UInt64
    }

    private var rate: TokenBucket
    /// The report that the last token was taken for. All jobs of a report share one token, because a phone with ten stops
    /// reports one place.
    private var paid: (sequence: Int64, job: JobID, others: Set<JobID>)?
    /// The newest report of each job that exceeded the publishing rate or that Redis did not answer.
    private var queued: [JobID: Queued] = [:]
    private var lastOrder: UInt64 = 0
    private var isTimerSet = false
    /// The newest position of each job that Redis accepted.
    private var published: PublishedPositions
    /// Jobs whose rider has been notified that the time limit was reached.
    private var notifiedOfLimit: Set<JobID> = []
    /// The maximum number of jobs in each of the collections above.
    let maxJobs: Int

    /// The minimum delay before queued reports are published again, ns.
    static let retryNanoseconds: UInt64 = 250_000_000

    /// - Parameter maxJobs: the maximum number of jobs a rider may follow.
    init(perSecond: Int, burst: Int, maxJobs: Int) {
        self.rate = TokenBucket(perSecond: perSecond, burst: burst)
        self.published = PublishedPositions(most: maxJobs)
        self.maxJobs = maxJobs
    }

    /// The number of jobs with a queued report.
    var count: Int { self.queued.count }

    // MARK: reports

    /// Decides about a report that has been validated.
    ///
    /// - Parameters:
    ///   - now: ns of a monotonic clock.
    ///   - receivedAt: ms since the epoch.
    mutating func validated(
        _ answer: Answer, _ verdict: ReportVerdict, at now: UInt64, receivedAt: Int64
    ) -> Decision {
        switch verdict {
        case .publish(let fix): self.offer(Report(answer: answer, fix: fix, receivedAt: receivedAt), at: now)
        case .held: self.coverWithQueued(answer) ? .covered : .accept(answer)
        // The fix may be older than the queued one. It is then treated as if the queued one had replaced it.
        case .refused(let reason) where reason == .outOfOrder || reason == .duplicate:
            self.coverWithQueued(answer) ? .covered : .refuse(answer, reason)
        case .refused(let reason): .refuse(answer, reason)
        }
    }

    private mutating func offer(_ report: Report, at now: UInt64) -> Decision {
        if self.queued.isEmpty, self.takeToken(for: report, at: now) { return .publish(report, replaces: false) }
        let replaces = self.queued[report.job] != nil
        if replaces, self.queued.count == 1, self.takeToken(for: report, at: now) {
            self.queued[report.job] = nil
            return .publish(report, replaces: true)
        }
        guard self.enqueue(report) else { return .refuseTooMany(report.answer) }
        return .wait(timer: self.timer(at: now), replaces: replaces)
    }

    /// Takes a token for a report, unless one was taken for another job of the same report. Each job counts once per token, so
    /// repeating a sequence number gains nothing.
    private mutating func takeToken(for report: Report, at now: UInt64) -> Bool {
        let (sequence, job) = (report.answer.sequence, report.job)
        if let paid, paid.sequence == sequence, paid.job != job, paid.others.count < self.maxJobs,
            self.paid?.others.insert(job).inserted == true
        {
            return true
        }
        guard self.rate.take(at: now) else { return false }
        self.paid = (sequence, job, [])
        return true
    }

    /// If a report of the job is queued, lets its answer also cover this one.
    ///
    /// - Returns: whether a report of the job is queued.
    private mutating func coverWithQueued(_ answer: Answer) -> Bool {
        guard !self.queued.isEmpty, let index = self.queued.index(forKey: answer.job) else { return false }
        self.queued.values[index].report.answer = answer
        return true
    }

    /// Queues a report. It replaces an older report of its job, or is added at the end.
    ///
    /// - Returns: `false` if the queue is full.
    private mutating func enqueue(_ report: Report) -> Bool {
        if let index = self.queued.index(forKey: report.job) {
            self.queued.values[index].report = report
            return true
        }
        guard self.queued.count < self.maxJobs else { return false }
        self.lastOrder += 1
        self.queued[report.job] = Queued(report: report, order: self.lastOrder)
        return true
    }

    /// Called when the timer fires.
    ///
    /// - Returns: the reports to publish, in order, and the ns until the timer is next due if any are left.
    mutating func due(at now: UInt64) -> (reports: [Report], timer: UInt64?) {
        self.isTimerSet = false
        var reports: [Report] = []
        for waiting in self.queued.values.sorted(by: { $0.order < $1.order }) {
            guard self.takeToken(for: waiting.report, at: now) else { break }
            self.queued[waiting.report.job] = nil
            reports.append(waiting.report)
        }
        return (reports, self.queued.isEmpty ? nil : self.timer(at: now, least: Self.retryNanoseconds))
    }

    /// The ns until the timer is due; `nil` if it is already set.
    private mutating func timer(at now: UInt64, least: UInt64 = 0) -> UInt64? {
        guard !self.isTimerSet else { return nil }
        self.isTimerSet = true
        return max(least, self.rate.wait(at: now))
    }

    // MARK: Redis

    /// Decides about a report that was published.
    mutating func settle(_ report: Report, _ outcome: Outcome, at now: UInt64) -> Settlement {
        switch outcome {
        case .accepted(let listeners):
            self.published.remember(report.fix, of: report.job, receivedAt: report.receivedAt)
            return .accept(listeners: listeners)
        // If the report is a repeat, Redis may have accepted it the first time and its answer was lost.
        case .notNewer: return report.isRepeat ? .accept(listeners: nil) : .overrule(.outOfOrder)
        case .future: return .overrule(.future)
        case .notShared, .reopened(false): return .overrule(.travelModeOff)
        case .otherDevice:
            self.published.forget(report.job)
            return .overrule(.otherDevice)
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

    /// Buffers the newest report of each job until Redis is available.
    private mutating func requeue(_ report: Report, at now: UInt64) -> Settlement {
        var again = report
        again.isRepeat = true
        if let waiting = self.queued[report.job]?.report {
            // The later report does not always contain the newer fix: the phone's clock may have been set back.
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

    /// A new master answers, and may lack positions that the previous one accepted.
    ///
    /// - Parameter time: ms since the epoch.
    /// - Returns: the positions to publish again, and the new ns until the timer is due; `nil` if it does not change.
    mutating func masterReturned(at now: UInt64, time: Int64) -> (
        again: [JobID: PublishedPositions.Published], timer: UInt64?
    ) {
        let again = self.published.recent(now: time).filter { self.queued[$0.key] == nil }
        guard !self.queued.isEmpty else { return (again, nil) }
        self.isTimerSet = false
        return (again, self.timer(at: now))
    }

    // MARK: travel mode

    /// Travel mode is on, and the rider has been given a new time limit.
    mutating func travelStarted(_ job: JobID) { self.notifiedOfLimit.remove(job) }

    /// Travel mode was switched off, so queued reports are dropped.
    mutating func travelStopped(_ job: JobID) {
        self.queued[job] = nil
        self.published.forget(job)
    }

    /// The job's sharing time limit was reached.
    ///
    /// - Returns: whether to notify the rider. It is notified once, whether or not it still sends positions.
    mutating func timeLimitReached(of job: JobID) -> Bool {
        self.travelStopped(job)
        if self.notifiedOfLimit.count >= self.maxJobs { self.notifiedOfLimit.removeAll() }
        return self.notifiedOfLimit.insert(job).inserted
    }
}
