// The model of a rider's report queue, with plain lists: a queue of jobs, a token bucket in integers, and the debts, which are
// the reports that are not answered yet.

import EnrouteWire
import Tracking

@testable import Gateway
@testable import Realtime

/// The reference of ReportQueueCheck.
struct ReportQueueModel {
    /// Times are integers in steps of 1/64 s, and rates are powers of two, so that Double arithmetic is exact.
    static let stepNanoseconds: UInt64 = 15_625_000
    private static let token: UInt64 = 64

    let perSecond: UInt64
    let burst: UInt64
    let maxJobs: Int

    /// Steps since the start.
    private(set) var now: UInt64 = 1
    private var credit: UInt64
    /// The purpose for which the last token was taken.
    private var paidSequence: Int64 = -1
    private var paidJobs: [JobID] = []
    /// In sending order: the longest waiting first.
    private(set) var line: [ReportQueue.Report] = []
    /// ns; `nil` when no timer is set.
    private(set) var timerAt: UInt64?
    /// Published, but not answered by Redis.
    private(set) var inFlight: [ReportQueue.Report] = []
    /// Unanswered reports by job.
    private(set) var debts: [JobID: Set<Int64>] = [:]
    private var answered: [JobID: Set<Int64>] = [:]
    /// Jobs notified of the end of their time, and not started since.
    private(set) var told: Set<JobID> = []

    init(perSecond: Int, burst: Int, maxJobs: Int) {
        self.perSecond = UInt64(perSecond)
        self.burst = UInt64(burst)
        self.maxJobs = maxJobs
        self.credit = UInt64(burst) * Self.token
    }

    var nanoseconds: UInt64 { self.now * Self.stepNanoseconds }
    /// ms since the epoch.
    var time: Int64 { 1_790_000_000_000 + Int64(self.nanoseconds / 1_000_000) }

    mutating func wait(_ steps: UInt64) {
        self.now += steps
        self.credit = min(self.burst * Self.token, self.credit + steps * self.perSecond)
    }

    /// Advances the time to when the timer is due.
    mutating func waitForTimer() {
        guard let timerAt, timerAt > self.nanoseconds else { return }
        self.wait((timerAt - self.nanoseconds + Self.stepNanoseconds - 1) / Self.stepNanoseconds)
    }

    /// The jobs of one report need one token.
    private mutating func takeToken(for report: ReportQueue.Report) -> Bool {
        if self.paidSequence == report.answer.sequence, !self.paidJobs.contains(report.job),
            self.paidJobs.count <= self.maxJobs
        {
            self.paidJobs.append(report.job)
            return true
        }
        guard self.credit >= Self.token else { return false }
        self.credit -= Self.token
        (self.paidSequence, self.paidJobs) = (report.answer.sequence, [report.job])
        return true
    }

    /// Returns the time in ns after which the timer is due, if none is set, and sets it.
    private mutating func timer(least: UInt64 = 0) -> UInt64? {
        guard self.timerAt == nil else { return nil }
        let missing = self.credit < Self.token ? Self.token - self.credit : 0
        let wait = max(least, (missing * Self.stepNanoseconds + self.perSecond - 1) / self.perSecond)
        self.timerAt = self.nanoseconds + wait
        return wait
    }

    // MARK: Events and decisions

    mutating func validated(_ answer: ReportQueue.Answer, _ verdict: ReportVerdict) throws(Disagreement)
        -> ReportQueue.Decision
    {
        self.debts[answer.job, default: []].insert(answer.sequence)
        let place = self.line.firstIndex { $0.job == answer.job }
        switch verdict {
        case .publish(let fix):
            let report = ReportQueue.Report(answer: answer, fix: fix, receivedAt: self.time)
            if self.line.count == (place == nil ? 0 : 1), self.takeToken(for: report) {
                self.line.removeAll()
                self.inFlight.append(report)
                return .publish(report, replaces: place != nil)
            }
            if let place {
                self.line[place] = report
            } else if self.line.count < self.maxJobs {
                self.line.append(report)
            } else {
                try self.answer(answer)
                return .refuseTooMany(answer)
            }
            return .wait(timer: self.timer(), replaces: place != nil)
        case .held, .refused(.outOfOrder), .refused(.duplicate):
            if let place {
                self.line[place].answer = answer
                return .covered
            }
            try self.answer(answer)
            if case .refused(let reason) = verdict { return .refuse(answer, reason) }
            return .accept(answer)
        case .refused(let reason):
            try self.answer(answer)
            return .refuse(answer, reason)
        }
    }

    mutating func due() -> (reports: [ReportQueue.Report], timer: UInt64?) {
        self.timerAt = nil
        var reports: [ReportQueue.Report] = []
        while let first = self.line.first, self.takeToken(for: first) { reports.append(self.line.removeFirst()) }
        self.inFlight += reports
        return (reports, self.line.isEmpty ? nil : self.timer(least: ReportQueue.retryNanoseconds))
    }

    mutating func settled(_ index: Int, _ outcome: ReportQueue.Outcome) throws(Disagreement)
        -> ReportQueue.Settlement
    {
        var report = self.inFlight.remove(at: index)
        let settlement: ReportQueue.Settlement
        switch outcome {
        case .accepted(let listeners): settlement = .accept(listeners: listeners)
        case .notNewer: settlement = report.isRepeat ? .accept(listeners: nil) : .overrule(.outOfOrder)
        case .future: settlement = .overrule(.future)
        case .notShared, .reopened(false): settlement = .overrule(.travelModeOff)
        case .otherDevice: settlement = .overrule(.otherDevice)
        case .timeLimitReached(let since):
            settlement = .endTravel(since: since, notifiesRider: self.timeLimitReached(of: report.job))
        case .unknown:
            self.inFlight.insert(report, at: index)
            return .reopen
        case .reopened(true):
            report.isRepeat = true
            self.inFlight.append(report)
            return .publish(report)
        case .noAnswer: return try self.keep(report)
        }
        try self.answer(report.answer)
        return settlement
    }

    private mutating func keep(_ report: ReportQueue.Report) throws(Disagreement) -> ReportQueue.Settlement {
        var kept = report
        kept.isRepeat = true
        guard let place = self.line.firstIndex(where: { $0.job == report.job }) else {
            guard self.line.count < self.maxJobs else {
                try self.answer(report.answer)
                return .refuseTooMany
            }
            self.line.append(kept)
            return .buffer(timer: self.timer(least: ReportQueue.retryNanoseconds))
        }
        let isNewer = report.fix.at > self.line[place].fix.at
        let later = [self.line[place].answer, report.answer].max { $0.sequence < $1.sequence }!
        if isNewer { self.line[place] = kept }
        self.line[place].answer = later
        return isNewer ? .buffer(timer: self.timer(least: ReportQueue.retryNanoseconds)) : .covered
    }

    /// Another master: waiting reports may be sent immediately.
    mutating func masterReturned() -> UInt64? {
        guard !self.line.isEmpty else { return nil }
        self.timerAt = nil
        return self.timer()
    }

    mutating func travelStarted(_ job: JobID) { self.told.remove(job) }

    /// Waiting reports are no longer published and need no answer: the rider switched travel mode off, or was notified of its
    /// end.
    mutating func travelStopped(_ job: JobID) {
        self.line.removeAll { $0.job == job }
        let last = self.inFlight.filter { $0.job == job }.map(\.answer.sequence).max() ?? -1
        self.debts[job] = self.debts[job]?.filter { $0 <= last }
    }

    mutating func timeLimitReached(of job: JobID) -> Bool {
        self.travelStopped(job)
        if self.told.count >= self.maxJobs { self.told.removeAll() }
        return self.told.insert(job).inserted
    }

    // MARK: Debts

    private mutating func answer(_ answer: ReportQueue.Answer) throws(Disagreement) {
        let isFirst = self.answered[answer.job, default: []].insert(answer.sequence).inserted
        try require(isFirst, "report \(answer.sequence) of \(answer.job) is answered twice")
        self.debts[answer.job] = self.debts[answer.job]?.filter { $0 > answer.sequence }
    }

    /// Every unanswered report will be answered: some report of its job, as late or later, is in flight or waits.
    func isSettledLater() throws(Disagreement) {
        try require(self.line.count <= self.maxJobs, "\(self.line.count) jobs wait")
        try require(Set(self.line.map(\.job)).count == self.line.count, "two reports of a job wait")
        try require(self.line.isEmpty || self.timerAt != nil, "reports wait, but no timer is set")
        for (job, debts) in self.debts {
            guard let latest = debts.max() else { continue }
            let carriers = (self.line + self.inFlight).filter { $0.job == job }.map(\.answer.sequence)
            try require((carriers.max() ?? -1) >= latest, "report \(latest) of \(job) will never be answered")
        }
    }
}
