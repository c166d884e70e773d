// A rider's reports on their way to Redis, against plain lists (ReportQueueModel): reports of several jobs are validated, time
// passes, Redis accepts them, refuses them or is down, travel mode ends, another master answers, in any order.
//
// The queue's decisions are compared with the model, step by step. The model itself is checked for these invariants: every
// report is answered exactly once, one report per job waits, for a limited number of jobs, and a timer is set whenever any
// waits. At the end Redis accepts everything, and no report is left unanswered.

import EnrouteWire
import Tracking

@testable import Gateway
@testable import Realtime

/// First three bytes: the rate, the burst and the limit of jobs. Then two per step: the operation and the job.
struct ReportQueueCheck {
    private static let jobs = (0..<5).map { JobID("job-\($0)")! }

    private var queue: ReportQueue
    private var model: ReportQueueModel
    private var sequence: Int64 = 0
    /// The phone's clock, ms since the epoch; it may be set back when a trip starts again.
    private var clock: [JobID: Int64] = [:]
    /// What Redis accepted since travel mode was on.
    private var taken: Set<JobID> = []

    static func run(_ input: [UInt8]) throws(Disagreement) {
        var choices = Choices(input)
        var check = ReportQueueCheck(
            perSecond: 1 << choices.below(4), burst: 1 + choices.below(4), maxJobs: 1 + choices.below(5))
        while !choices.isOver {
            let (action, value) = (choices.below(16), Int(choices.byte()))
            try check.act(action, value)
            try check.compare()
        }
        try check.drain()
    }

    private var lastSequence: [JobID: Int64] = [:]

    private init(perSecond: Int, burst: Int, maxJobs: Int) {
        self.queue = ReportQueue(perSecond: perSecond, burst: burst, maxJobs: maxJobs)
        self.model = ReportQueueModel(perSecond: perSecond, burst: burst, maxJobs: maxJobs)
    }

    private mutating func act(_ action: Int, _ value: Int) throws(Disagreement) {
        let job = Self.jobs[value % Self.jobs.count]
        switch action {
        case 0..<4: try self.judge(job, .publish(self.fix(of: job)))
        case 4: try self.judge(job, .publish(self.fix(of: job)), sameReport: true)
        case 5: try self.judge(job, .held)
        case 6:
            let reasons: [FixRefusal] = [.outOfOrder, .duplicate, .inaccurate, .stale]
            try self.judge(job, .refused(reasons[value >> 5 & 3]))
        case 7, 8: self.model.wait(UInt64(value & 31))
        case 9: try self.fire()
        case 10..<14: try self.settle(value)
        case 14: try self.travel(job, value >> 6)
        default: try self.return()
        }
    }

    private mutating func fix(of job: JobID) -> Fix {
        let at = self.clock[job, default: 1_790_000_000_000] + 1
        self.clock[job] = at
        return Fix(at: at, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
    }

    /// - Parameter sameReport: for another job of the last report, unless it was for this job too.
    private mutating func judge(
        _ job: JobID, _ verdict: ReportVerdict, sameReport: Bool = false
    ) throws(Disagreement) {
        if !sameReport || self.lastSequence[job] == self.sequence { self.sequence += 1 }
        self.lastSequence[job] = self.sequence
        let answer = ReportQueue.Answer(job: job, sequence: self.sequence, ref: MessageRef("\(self.sequence)"))
        let expected = try self.model.validated(answer, verdict)
        let decision = self.queue.validated(
            answer, verdict, at: self.model.nanoseconds, receivedAt: self.model.time)
        try require(decision == expected, "\(verdict) of \(job): \(decision) instead of \(expected)")
    }

    private mutating func fire() throws(Disagreement) {
        guard self.model.timerAt != nil else { return }
        self.model.waitForTimer()
        let expected = self.model.due()
        let due = self.queue.due(at: self.model.nanoseconds)
        try require(due.reports == expected.reports, "\(due.reports) are due instead of \(expected.reports)")
        try require(due.timer == expected.timer, "timer after \(due.timer ?? 0), not \(expected.timer ?? 0)")
    }

    private mutating func settle(_ value: Int) throws(Disagreement) {
        guard !self.model.inFlight.isEmpty else { return }
        let index = value % self.model.inFlight.count
        let report = self.model.inFlight[index]
        // The script answers only `unknown`; reopening travel mode follows.
        let outcomes: [ReportQueue.Outcome] = [
            .accepted(listeners: value), .accepted(listeners: 0), .noAnswer, .noAnswer, .noAnswer, .notNewer, .future,
            .notShared, .otherDevice,
            .timeLimitReached(since: self.model.time), .unknown, .reopened(true), .reopened(false),
        ]
        let outcome = outcomes[value / 16 % outcomes.count]
        if case .accepted = outcome { self.taken.insert(report.job) }
        if case .timeLimitReached = outcome { self.taken.remove(report.job) }
        let expected = try self.model.settled(index, outcome)
        let settlement = self.queue.settle(report, outcome, at: self.model.nanoseconds)
        try require(settlement == expected, "\(outcome) of \(report): \(settlement) instead of \(expected)")
    }

    private mutating func travel(_ job: JobID, _ what: Int) throws(Disagreement) {
        switch what {
        case 0:
            self.queue.travelStarted(job)
            self.model.travelStarted(job)
        case 1:
            let expected = self.model.timeLimitReached(of: job)
            try require(
                self.queue.timeLimitReached(of: job) == expected, "\(job) is notified of its end twice, or never")
            self.taken.remove(job)
        default:
            self.queue.travelStopped(job)
            self.model.travelStopped(job)
            self.taken.remove(job)
            if what == 3 { self.clock[job, default: 1_790_000_000_000] -= 100 }
        }
    }

    private mutating func `return`() throws(Disagreement) {
        let waiting = Set(self.model.line.map(\.job))
        let expected = self.model.masterReturned()
        let returned = self.queue.masterReturned(at: self.model.nanoseconds, time: self.model.time)
        try require(returned.timer == expected, "after \(returned.timer ?? 0), not \(expected ?? 0)")
        for (job, taken) in returned.again {
            try require(self.taken.contains(job), "\(job) is reported again, but Redis did not accept it")
            try require(!waiting.contains(job), "\(job) is reported again while it waits")
            let age = self.model.time - taken.receivedAt
            try require(age <= PublishedPositions.maxAgeMilliseconds, "\(job) is reported again after \(age) ms")
        }
    }

    private func compare() throws(Disagreement) {
        try require(self.queue.count == self.model.line.count, "\(self.queue.count) wait, not \(self.model.line.count)")
        try self.model.isSettledLater()
    }

    /// Redis is available and accepts everything, so every report is answered.
    private mutating func drain() throws(Disagreement) {
        // Each time the timer is due, at least one report is sent: the rate allows it.
        for _ in 0...2 * Self.jobs.count {
            while !self.model.inFlight.isEmpty { try self.settle(0) }
            try self.fire()
            try self.compare()
        }
        try require(self.queue.count == 0 && self.model.inFlight.isEmpty, "reports wait forever")
        for (job, debts) in self.model.debts { try require(debts.isEmpty, "\(debts) of \(job) got no answer") }
    }
}
