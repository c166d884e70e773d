import EnrouteWire
import Testing
import Tracking

@testable import Gateway
@testable import Realtime

/// A rider's reports on their way to Redis, without Redis. ReportQueueCheck, which CorpusTests runs, tests random histories.
@Suite struct ReportQueueTests {
    private static let (first, second, third) = (JobID("a")!, JobID("b")!, JobID("c")!)
    private static let oneSecond: UInt64 = 1_000_000_000

    /// One position per second, with a burst of one.
    private var queue = ReportQueue(perSecond: 1, burst: 1, maxJobs: 2)

    private static func answer(_ sequence: Int64, _ job: JobID = Self.first) -> ReportQueue.Answer {
        .init(job: job, sequence: sequence, ref: MessageRef("r\(sequence)"))
    }

    private static func report(_ sequence: Int64, _ job: JobID = Self.first, isRepeat: Bool = false)
        -> ReportQueue.Report
    {
        let place = Coordinate(latitude: 41.9, longitude: 12.5)!
        return .init(
            answer: Self.answer(sequence, job), fix: Fix(at: 1_790_000_000_000 + sequence, place: place),
            receivedAt: 1_790_000_000_000, isRepeat: isRepeat)
    }

    /// A report whose fix was accepted.
    private mutating func offer(_ sequence: Int64, _ job: JobID = Self.first, at now: UInt64 = 0)
        -> ReportQueue.Decision
    {
        let report = Self.report(sequence, job)
        return self.queue.validated(report.answer, .publish(report.fix), at: now, receivedAt: report.receivedAt)
    }

    @Test mutating func `reports within the rate are published immediately, without a timer`() {
        #expect(self.offer(1) == .publish(Self.report(1), replaces: false))
        #expect(self.queue.count == 0)
        #expect(self.queue.due(at: 0).timer == nil)
    }

    @Test mutating func `of reports that exceed the rate, the newest is published as soon as the rate allows`() {
        _ = self.offer(1)
        #expect(self.offer(2) == .wait(timer: Self.oneSecond, replaces: false))
        #expect(self.offer(3) == .wait(timer: nil, replaces: true))
        let due = self.queue.due(at: Self.oneSecond)
        #expect(due.reports == [Self.report(3)] && due.timer == nil)
    }

    @Test mutating func `a newer report that the rate allows is published, and the older one never is`() {
        _ = self.offer(1)
        _ = self.offer(2)
        #expect(self.offer(3, at: Self.oneSecond) == .publish(Self.report(3), replaces: true))
        #expect(self.queue.due(at: 2 * Self.oneSecond).reports.isEmpty)
    }

    @Test mutating func `the job that has waited longest is published next, even if its report was replaced`() {
        _ = self.offer(1)
        _ = self.offer(2, Self.second)
        _ = self.offer(3, Self.first)
        _ = self.offer(4, Self.second)
        let due = self.queue.due(at: Self.oneSecond)
        #expect(due.reports == [Self.report(4, Self.second)])
        #expect(due.timer == Self.oneSecond)
        #expect(self.queue.due(at: 2 * Self.oneSecond).reports == [Self.report(3)])
    }

    @Test mutating func `a report for several jobs counts once, whether it is published or waits`() {
        #expect(self.offer(1) == .publish(Self.report(1), replaces: false))
        #expect(self.offer(1, Self.second) == .publish(Self.report(1, Self.second), replaces: false))
        #expect(self.offer(2) == .wait(timer: Self.oneSecond, replaces: false))
        #expect(self.offer(2, Self.second) == .wait(timer: nil, replaces: false))
        let due = self.queue.due(at: Self.oneSecond)
        #expect(due.reports == [Self.report(2), Self.report(2, Self.second)] && due.timer == nil)
    }

    @Test mutating func `a repeated sequence number gains nothing`() {
        _ = self.offer(1)
        #expect(self.offer(1) == .wait(timer: Self.oneSecond, replaces: false))
        _ = self.queue.due(at: Self.oneSecond)
        #expect(
            self.offer(1, Self.second, at: Self.oneSecond) == .publish(Self.report(1, Self.second), replaces: false))
        #expect(self.offer(1, Self.second, at: Self.oneSecond) == .wait(timer: Self.oneSecond, replaces: false))
    }

    @Test mutating func `no report overtakes a queued job`() {
        _ = self.offer(1)
        _ = self.offer(2)
        #expect(self.offer(3, Self.second, at: Self.oneSecond) == .wait(timer: nil, replaces: false))
        #expect(self.queue.due(at: Self.oneSecond).reports == [Self.report(2)])
    }

    @Test mutating func `reports of a limited number of jobs are queued`() {
        _ = self.offer(1)
        _ = self.offer(2, Self.first)
        _ = self.offer(3, Self.second)
        #expect(self.offer(4, Self.third) == .refuseTooMany(Self.answer(4, Self.third)))
        let refused = self.queue.settle(Self.report(1, Self.third), .noAnswer, at: 0)
        #expect(refused == .refuseTooMany)
        #expect(self.queue.count == 2)
    }

    @Test mutating func `the answer to a queued report covers held and older reports`() {
        _ = self.offer(1)
        _ = self.offer(2)
        #expect(self.queue.validated(Self.answer(3), .held, at: 0, receivedAt: 0) == .covered)
        #expect(self.queue.validated(Self.answer(4), .refused(.outOfOrder), at: 0, receivedAt: 0) == .covered)
        let due = self.queue.due(at: Self.oneSecond).reports
        #expect(due.map(\.answer) == [Self.answer(4)] && due.map(\.fix) == [Self.report(2).fix])
    }

    @Test(arguments: FixRefusal.allCases)
    mutating func `without a queued report, held and refused reports are answered immediately`(reason: FixRefusal) {
        #expect(self.queue.validated(Self.answer(1), .held, at: 0, receivedAt: 0) == .accept(Self.answer(1)))
        #expect(
            self.queue.validated(Self.answer(2), .refused(reason), at: 0, receivedAt: 0)
                == .refuse(Self.answer(2), reason))
    }

    @Test mutating func `an implausible report is refused although another report is queued`() {
        _ = self.offer(1)
        _ = self.offer(2)
        #expect(
            self.queue.validated(Self.answer(3), .refused(.inaccurate), at: 0, receivedAt: 0)
                == .refuse(Self.answer(3), .inaccurate))
    }

    @Test mutating func `a report that Redis did not answer is repeated after a quarter of a second`() {
        _ = self.offer(1)
        let wait = ReportQueue.retryNanoseconds
        #expect(self.queue.settle(Self.report(1), .noAnswer, at: Self.oneSecond) == .buffer(timer: wait))
        let due = self.queue.due(at: Self.oneSecond + wait)
        #expect(due.reports == [Self.report(1, isRepeat: true)] && due.timer == nil)
    }

    @Test mutating func `a repeated report that Redis already has is accepted, a first one is overruled`() {
        #expect(self.queue.settle(Self.report(1, isRepeat: true), .notNewer, at: 0) == .accept(listeners: nil))
        #expect(self.queue.settle(Self.report(1), .notNewer, at: 0) == .overrule(.outOfOrder))
    }

    @Test mutating func `of two reports that Redis did not answer, the newer is queued, whichever fails first`() {
        _ = self.queue.settle(Self.report(2), .noAnswer, at: 0)
        #expect(self.queue.settle(Self.report(1), .noAnswer, at: 0) == .covered)
        #expect(self.queue.settle(Self.report(3), .noAnswer, at: 0) == .buffer(timer: nil))
        #expect(self.queue.due(at: 0).reports == [Self.report(3, isRepeat: true)])
    }

    @Test mutating func `a later report is answered although the queued one is newer by the phone's clock`() {
        var late = Self.report(7)
        late.fix.at -= 100
        _ = self.queue.settle(Self.report(1), .noAnswer, at: 0)
        #expect(self.queue.settle(late, .noAnswer, at: 0) == .covered)
        #expect(self.queue.due(at: 0).reports.map(\.answer) == [late.answer])
    }

    @Test mutating func `if Redis does not know the job, travel mode is opened again and the report repeated`() {
        #expect(self.queue.settle(Self.report(1), .unknown, at: 0) == .reopen)
        #expect(
            self.queue.settle(Self.report(1), .reopened(true), at: 0) == .publish(Self.report(1, isRepeat: true)))
        #expect(self.queue.settle(Self.report(1), .reopened(false), at: 0) == .overrule(.travelModeOff))
        #expect(self.queue.settle(Self.report(1), .notShared, at: 0) == .overrule(.travelModeOff))
        #expect(self.queue.settle(Self.report(1), .future, at: 0) == .overrule(.future))
    }

    @Test mutating func `a new master receives recent positions again, and queued reports immediately`() {
        _ = self.offer(1)
        #expect(self.queue.settle(Self.report(1), .accepted(listeners: 3), at: 0) == .accept(listeners: 3))
        _ = self.queue.settle(Self.report(2, Self.second), .noAnswer, at: 0)
        let returned = self.queue.masterReturned(at: Self.oneSecond, time: Self.report(1).receivedAt)
        #expect(returned.again.mapValues(\.fix) == [Self.first: Self.report(1).fix])
        #expect(returned.timer == 0)
        // The queued report is newer than the published one.
        _ = self.queue.settle(Self.report(3), .noAnswer, at: Self.oneSecond)
        #expect(self.queue.masterReturned(at: Self.oneSecond, time: Self.report(1).receivedAt).again.isEmpty)
    }

    @Test mutating func `once travel mode is off, neither queued nor accepted positions are published again`() {
        _ = self.offer(1)
        _ = self.queue.settle(Self.report(1), .accepted(listeners: 0), at: 0)
        _ = self.offer(2)
        self.queue.travelStopped(Self.first)
        #expect(self.queue.due(at: Self.oneSecond).reports.isEmpty)
        #expect(self.queue.masterReturned(at: Self.oneSecond, time: Self.report(1).receivedAt).again.isEmpty)
    }

    @Test mutating func `the time limit is notified once, and again after travel mode was switched on again`() {
        let over = ReportQueue.Outcome.timeLimitReached(since: 5)
        #expect(self.queue.settle(Self.report(1), over, at: 0) == .endTravel(since: 5, notifiesRider: true))
        #expect(self.queue.settle(Self.report(2), over, at: 0) == .endTravel(since: 5, notifiesRider: false))
        let repeated = self.queue.timeLimitReached(of: Self.first)
        #expect(!repeated)
        self.queue.travelStarted(Self.first)
        let anew = self.queue.timeLimitReached(of: Self.first)
        #expect(anew)
    }
}

@Suite struct UnvalidatedReportsTests {
    private static func report(_ sequence: Int64, _ job: String = "a") -> LocationReport {
        let fix = Fix(at: 1_790_000_000_000, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
        return LocationReport(job: JobID(job)!, sequence: sequence, fixes: [fix])
    }

    @Test func `only the first report of a job triggers a read`() {
        var reports = UnvalidatedReports(maxJobs: 2)
        #expect(reports.add(Self.report(1)) == .read)
        #expect(reports.add(Self.report(2)) == .waits)
        #expect(reports.take(JobID("a")!) == [Self.report(1), Self.report(2)])
        #expect(reports.add(Self.report(3)) == .read)
    }

    @Test func `the newest reports of a job are buffered in order`() {
        var reports = UnvalidatedReports(maxJobs: 1)
        let most = Int64(UnvalidatedReports.maxPerJob)
        for sequence in 1...most { #expect(reports.add(Self.report(sequence)) == (sequence == 1 ? .read : .waits)) }
        #expect(reports.add(Self.report(most + 1)) == .replaces)
        #expect(reports.take(JobID("a")!).map(\.sequence) == Array(2...most + 1))
    }

    @Test func `unvalidated reports of a limited number of jobs are buffered`() {
        var reports = UnvalidatedReports(maxJobs: 1)
        _ = reports.add(Self.report(1))
        #expect(reports.add(Self.report(2, "b")) == .tooMany)
        #expect(reports.take(JobID("b")!).isEmpty)
    }
}
