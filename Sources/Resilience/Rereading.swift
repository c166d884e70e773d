// Which jobs to read again, and when. Two reasons: something may be missing (a repair), or it is time to look (a check: a
// lost pub/sub message leaves nothing behind that would reveal it). One read at a time for each job; repairs before
// checks; all of them within a bound, so that a lost connection with 20,000 jobs on it does not become a storm.

/// Reads to begin, job by job. Times are nanoseconds of a clock that never goes back.
package struct Rereading<Job: Hashable & Sendable>: Sendable {
    package struct Bounds: Sendable {
        /// Reads under way, at most.
        package var mostInFlight = 500
        /// Between two checks of a job.
        package var soonestCheck = UInt64.seconds(5)
        package var latestCheck = UInt64.seconds(9)
        /// Who seems behind is looked at once more after this: the message may be on its way.
        package var secondLook = UInt64.milliseconds(250)
        /// A read that failed is tried again after rand(0, min(longest, shortest * 2^n)).
        package var shortestRetry = UInt64.milliseconds(200)
        package var longestRetry = UInt64.seconds(1)

        package init() {}
    }

    package enum Purpose: Hashable, Sendable {
        /// Followers wait for the whole state: they are unsynchronised before it is read, at the latest, and no other
        /// follower is shown what is read.
        case repair
        /// Compare what followers have seen with what is.
        case check
    }

    package struct Read: Hashable, Sendable {
        package let job: Job
        package let purpose: Purpose
        /// Tells it from an earlier read of the same job, whose answer may still come.
        fileprivate let number: UInt64
        /// What is read is as old as this, however long the answer takes: the next check counts from here.
        fileprivate let begun: UInt64
    }

    package enum Answer: Hashable, Sendable {
        /// The followers have it now, or had it.
        case agrees
        /// The followers have seen less than there is.
        case behind
        case failed
    }

    private enum Phase: Hashable {
        /// Until then nothing is to be done.
        case resting(until: UInt64, Purpose)
        case queued(Purpose)
        /// `again`: the reason for a repair came after the read was sent.
        case reading(Purpose, again: Bool, number: UInt64)
    }

    private struct Entry {
        var phase: Phase
        var failures = 0
        /// Seemed behind at the last look.
        var isSuspect = false

        var purpose: Purpose {
            switch self.phase {
            case .resting(_, let purpose), .queued(let purpose), .reading(let purpose, _, _): purpose
            }
        }

        /// Followers wait for it.
        var isRepair: Bool {
            if case .reading(_, again: true, _) = self.phase { true } else { self.purpose == .repair }
        }
    }

    private let bounds: Bounds
    private var entries: [Job: Entry] = [:]
    private var repairs = Queue<Job>()
    private var checks = Queue<Job>()
    /// Jobs that rest, by the tick in which they wake.
    private var alarms: [[Job]]
    private var nextTick: UInt64
    private var lastNumber: UInt64 = 0
    /// Reads without an answer, those of jobs that were left included.
    package private(set) var inFlight = 0
    /// Repairs that are not done: while there are any, followers wait.
    package private(set) var repairsOutstanding = 0
    private var jitter: SplitMix

    private static var tick: UInt64 { .milliseconds(50) }

    package init(bounds: Bounds = Bounds(), seed: UInt64, now: UInt64) {
        self.bounds = bounds
        self.jitter = SplitMix(seed: seed)
        self.nextTick = now / Self.tick
        let longest = max(bounds.latestCheck, bounds.longestRetry, bounds.secondLook)
        self.alarms = [[Job]](repeating: [], count: Int(longest / Self.tick) + 3)
    }

    package var count: Int { self.entries.count }

    // MARK: what is wanted

    /// Somebody follows the job from now on: its channels are acknowledged, its snapshot is about to be read. Not later:
    /// what is lost while the snapshot is under way has to be repaired too.
    package mutating func follow(_ job: Job, now: UInt64) {
        guard self.entries[job] == nil else { return }
        self.entries[job] = Entry(phase: .resting(until: now, .check))
        self.rest(job, self.checkDelay, .check, now: now)
    }

    /// Nobody follows it any more. A read under way still takes up its place until it is answered.
    package mutating func leave(_ job: Job) {
        guard let entry = self.entries.removeValue(forKey: job) else { return }
        if entry.isRepair { self.repairsOutstanding -= 1 }
    }

    /// Something may be missing.
    ///
    /// - Parameter spread: begins after a random time of at most this, ns; 0 at once.
    /// - Returns: whether its followers have to be unsynchronised; not when nobody follows it, since then no read comes.
    package mutating func repair(_ job: Job, within spread: UInt64 = 0, now: UInt64) -> Bool {
        guard let entry = self.entries[job] else { return false }
        if case .reading(let purpose, _, let number) = entry.phase {
            if !entry.isRepair { self.repairsOutstanding += 1 }
            self.entries[job]?.phase = .reading(purpose, again: true, number: number)
            return true
        }
        guard !entry.isRepair else { return true }
        self.repairsOutstanding += 1
        self.entries[job]?.isSuspect = false
        if spread > 0 {
            self.rest(job, self.jitter.upTo(min(spread, self.bounds.latestCheck)), .repair, now: now)
        } else {
            self.entries[job]?.phase = .queued(.repair)
            self.repairs.append(job)
        }
        return true
    }

    // MARK: what happens

    /// Reads to begin now.
    // The simulator's jobs are numbers; unspecialised this was 29 % of a run.
    @specialized(where Job == Int)
    package mutating func due(now: UInt64) -> [Read] {
        self.wake(now: now)
        var reads: [Read] = []
        while self.inFlight < self.bounds.mostInFlight {
            let purpose: Purpose = self.repairs.isEmpty ? .check : .repair
            guard let job = purpose == .repair ? self.repairs.take() : self.checks.take() else { break }
            // Left since, or left and followed again, or a check that became a repair.
            guard self.entries[job]?.phase == .queued(purpose) else { continue }
            self.lastNumber += 1
            self.entries[job]?.phase = .reading(purpose, again: false, number: self.lastNumber)
            self.inFlight += 1
            reads.append(Read(job: job, purpose: purpose, number: self.lastNumber, begun: now))
        }
        return reads
    }

    /// A read came to an end. Every read that `due` returned is answered once, if only with `failed`.
    ///
    /// - Returns: whether its answer may be shown: `false` when the reason for a repair came after it was sent, or when
    ///   nobody follows the job any more.
    package mutating func answered(_ read: Read, _ answer: Answer, now: UInt64) -> Bool {
        precondition(self.inFlight > 0, "a read was answered twice")
        self.inFlight -= 1
        let (job, purpose) = (read.job, read.purpose)
        guard let entry = self.entries[job], case .reading(_, let again, read.number) = entry.phase else {
            return false
        }
        switch answer {
        case .failed:
            // A demand in between changes what for, not how soon: who asks on does not get around the wait.
            let ceiling = min(self.bounds.longestRetry, self.bounds.shortestRetry << UInt64(min(entry.failures, 10)))
            self.entries[job]?.failures = entry.failures + 1
            self.rest(job, self.jitter.upTo(ceiling), again ? .repair : purpose, now: now)
        case _ where again:
            self.entries[job] = Entry(phase: .queued(.repair))
            self.repairs.append(job)
            return false
        case .behind where purpose == .check && !entry.isSuspect:
            self.entries[job]?.isSuspect = true
            self.rest(job, self.bounds.secondLook, .check, now: now)
        case .behind:
            if purpose == .check { self.repairsOutstanding += 1 }
            self.entries[job] = Entry(phase: .queued(.repair))
            self.rest(job, purpose == .check ? 0 : self.bounds.secondLook, .repair, now: now)
        case .agrees:
            if purpose == .repair { self.repairsOutstanding -= 1 }
            self.entries[job] = Entry(phase: .queued(.check))
            self.rest(job, self.checkDelay, .check, now: read.begun)
        }
        return answer != .failed
    }

    // MARK: resting

    private var checkDelay: UInt64 {
        mutating get {
            self.bounds.soonestCheck + self.jitter.upTo(self.bounds.latestCheck - self.bounds.soonestCheck)
        }
    }

    private mutating func rest(_ job: Job, _ delay: UInt64, _ purpose: Purpose, now: UInt64) {
        // Not before the tick that is looked at next, and within one turn of the ring.
        let tick = min(
            max((now + delay) / Self.tick + 1, self.nextTick), self.nextTick + UInt64(self.alarms.count) - 1)
        self.entries[job]?.phase = .resting(until: tick, purpose)
        self.alarms[Int(tick % UInt64(self.alarms.count))].append(job)
    }

    private mutating func wake(now: UInt64) {
        let last = now / Self.tick
        guard last >= self.nextTick else { return }
        // After a long pause each place of the ring is looked at once.
        var turns = min(last - self.nextTick + 1, UInt64(self.alarms.count))
        var tick = last + 1 - turns
        while turns > 0 {
            let place = Int(tick % UInt64(self.alarms.count))
            let jobs = self.alarms[place]
            self.alarms[place] = []
            for job in jobs {
                // What was left, or woken earlier, has another phase.
                guard case .resting(let until, let purpose)? = self.entries[job]?.phase, until <= last else { continue }
                self.entries[job]?.phase = .queued(purpose)
                if purpose == .repair { self.repairs.append(job) } else { self.checks.append(job) }
            }
            (tick, turns) = (tick + 1, turns - 1)
        }
        self.nextTick = last + 1
    }
}
