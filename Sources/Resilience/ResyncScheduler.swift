// Decides which jobs to read again, and when. There are two purposes: a repair, when messages may be missing, and a
// periodic check, because nothing else reveals that a pub/sub message was lost. Each job has one read at a time,
// repairs precede checks, and the total is bounded, so that losing a connection with 20,000 jobs does not cause a storm
// of reads.

/// Schedules reads, job by job. Times are nanoseconds of a monotonic clock.
package struct ResyncScheduler<Job: Hashable & Sendable>: Sendable {
    package struct Bounds: Sendable {
        /// Maximum number of reads under way.
        package var maxInFlight = 500
        /// Bounds of the random time between two checks of a job.
        package var soonestCheck = UInt64.seconds(5)
        package var latestCheck = UInt64.seconds(9)
        /// A second check after this time confirms a mismatch, because the message may still be on its way.
        package var confirmationDelay = UInt64.milliseconds(250)
        /// A failed repair is retried after rand(0, min(longest, shortest * 2^n)), and so is a check that fails once. A
        /// check that fails again waits like any other: nobody waits for it, and the end of an outage causes repairs.
        package var shortestRetry = UInt64.milliseconds(200)
        package var longestRetry = UInt64.seconds(1)

        package init() {}
    }

    package enum Purpose: Hashable, Sendable {
        /// Followers need the whole state. Mark them unsynchronized before the read; only they receive its result.
        case repair
        /// Compare what followers have received with what is stored.
        case check
    }

    package struct Read: Hashable, Sendable {
        package let job: Job
        package let purpose: Purpose
        /// A check that confirms a mismatch.
        package let isConfirmation: Bool
        /// Distinguishes it from an earlier read of the same job whose reply may still arrive.
        fileprivate let number: UInt64
        /// The result is at least as new as this time, however long the reply takes. The next check is scheduled from
        /// here.
        fileprivate let startedAt: UInt64
    }

    package enum Answer: Hashable, Sendable {
        /// The followers are up to date.
        case matches
        /// The followers have received less than is stored.
        case mismatch
        case failed
    }

    private enum Phase: Hashable {
        /// Nothing to do until this time.
        case resting(until: UInt64, Purpose)
        case queued(Purpose)
        /// `again`: a repair was requested after the read had been sent.
        case reading(Purpose, again: Bool, number: UInt64)
    }

    private struct Entry {
        var phase: Phase
        var failures = 0
        /// The last check found a mismatch that is not confirmed yet.
        var isSuspect = false

        var purpose: Purpose {
            switch self.phase {
            case .resting(_, let purpose), .queued(let purpose), .reading(let purpose, _, _): purpose
            }
        }

        /// Whether followers are waiting for it.
        var isRepair: Bool {
            if case .reading(_, again: true, _) = self.phase { true } else { self.purpose == .repair }
        }
    }

    private let bounds: Bounds
    private var entries: [Job: Entry] = [:]
    private var repairs = Queue<Job>()
    private var checks = Queue<Job>()
    /// Resting jobs, by the tick at which they wake up.
    private var alarms: [[Job]]
    private var nextTick: UInt64
    private var lastNumber: UInt64 = 0
    /// Reads without a reply, including those of jobs that are no longer followed.
    package private(set) var inFlight = 0
    /// Unfinished repairs. While there are any, followers are waiting.
    package private(set) var repairsOutstanding = 0
    private var jitter: SplitMix

    private static var tick: UInt64 { .milliseconds(50) }

    package init(bounds: Bounds = Bounds(), seed: UInt64, now: UInt64) {
        self.bounds = bounds
        self.jitter = SplitMix(seed: seed)
        self.nextTick = now / Self.tick
        let longest = max(bounds.latestCheck, bounds.longestRetry, bounds.confirmationDelay)
        self.alarms = [[Job]](repeating: [], count: Int(longest / Self.tick) + 3)
    }

    package var count: Int { self.entries.count }

    // MARK: Followed jobs

    /// Adds a followed job. Call it when the job's channels are acknowledged and before its snapshot is read: messages
    /// that are lost while the snapshot is being read must be repaired too.
    package mutating func follow(_ job: Job, now: UInt64) {
        guard self.entries[job] == nil else { return }
        self.entries[job] = Entry(phase: .resting(until: now, .check))
        self.rest(job, self.checkDelay, .check, now: now)
    }

    /// Removes a job that nobody follows. An unfinished read still counts until its result is reported.
    package mutating func unfollow(_ job: Job) {
        guard let entry = self.entries.removeValue(forKey: job) else { return }
        if entry.isRepair { self.repairsOutstanding -= 1 }
    }

    /// Requests a repair, because messages may be missing.
    ///
    /// - Parameter spread: the read starts after a random delay of at most this, ns; 0 to start immediately.
    /// - Returns: whether its followers must be marked unsynchronized; `false` when the job is not followed.
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

    // MARK: Reads

    /// Returns the reads to start now.
    // Specialized for numbers, which gateways and the simulator use: the unspecialized version took 29 % of a simulation.
    @specialized(where Job == Int)
    package mutating func due(now: UInt64) -> [Read] {
        self.wake(now: now)
        var reads: [Read] = []
        while self.inFlight < self.bounds.maxInFlight {
            let purpose: Purpose = self.repairs.isEmpty ? .check : .repair
            guard let job = purpose == .repair ? self.repairs.popFirst() : self.checks.popFirst() else { break }
            // Skip jobs that are no longer followed, were unfollowed and followed again, or were promoted from a check to a
            // repair.
            guard let entry = self.entries[job], entry.phase == .queued(purpose) else { continue }
            self.lastNumber += 1
            self.entries[job]?.phase = .reading(purpose, again: false, number: self.lastNumber)
            self.inFlight += 1
            reads.append(
                Read(
                    job: job, purpose: purpose, isConfirmation: entry.isSuspect, number: self.lastNumber,
                    startedAt: now))
        }
        return reads
    }

    /// Records the result of a read. Call it exactly once for every read that `due` returned, even if only with
    /// `failed`.
    ///
    /// - Returns: whether the result may be shown: `false` when a repair was requested after the read was sent, or when
    ///   nobody follows the job any longer.
    @specialized(where Job == Int)
    package mutating func answered(_ read: Read, _ answer: Answer, now: UInt64) -> Bool {
        precondition(self.inFlight > 0, "a read was answered twice")
        self.inFlight -= 1
        let (job, purpose) = (read.job, read.purpose)
        guard let entry = self.entries[job], case .reading(_, let again, read.number) = entry.phase else {
            return false
        }
        switch answer {
        case .failed where purpose == .check && !again && entry.failures > 0:
            self.rest(job, self.checkDelay, .check, now: now)
        case .failed:
            // A repair that was requested meanwhile changes the purpose, not the back-off.
            let ceiling = min(self.bounds.longestRetry, self.bounds.shortestRetry << UInt64(min(entry.failures, 10)))
            self.entries[job]?.failures = entry.failures + 1
            self.rest(job, self.jitter.upTo(ceiling), again ? .repair : purpose, now: now)
        case _ where again:
            self.entries[job] = Entry(phase: .queued(.repair))
            self.repairs.append(job)
            return false
        case .mismatch where purpose == .check && !entry.isSuspect:
            self.entries[job]?.isSuspect = true
            self.rest(job, self.bounds.confirmationDelay, .check, now: now)
        case .mismatch:
            if purpose == .check { self.repairsOutstanding += 1 }
            self.entries[job] = Entry(phase: .queued(.repair))
            self.rest(job, purpose == .check ? 0 : self.bounds.confirmationDelay, .repair, now: now)
        case .matches:
            if purpose == .repair { self.repairsOutstanding -= 1 }
            self.entries[job] = Entry(phase: .queued(.check))
            self.rest(job, self.checkDelay, .check, now: read.startedAt)
        }
        return answer != .failed
    }

    // MARK: Timers

    private var checkDelay: UInt64 {
        mutating get {
            self.bounds.soonestCheck + self.jitter.upTo(self.bounds.latestCheck - self.bounds.soonestCheck)
        }
    }

    private mutating func rest(_ job: Job, _ delay: UInt64, _ purpose: Purpose, now: UInt64) {
        // Not before the next tick to be processed, and within one round of the timer ring.
        let tick = min(
            max((now + delay) / Self.tick + 1, self.nextTick), self.nextTick + UInt64(self.alarms.count) - 1)
        self.entries[job]?.phase = .resting(until: tick, purpose)
        self.alarms[Int(tick % UInt64(self.alarms.count))].append(job)
    }

    private mutating func wake(now: UInt64) {
        let last = now / Self.tick
        guard last >= self.nextTick else { return }
        // After a long pause, each slot of the ring is visited once.
        var turns = min(last - self.nextTick + 1, UInt64(self.alarms.count))
        var tick = last + 1 - turns
        while turns > 0 {
            let place = Int(tick % UInt64(self.alarms.count))
            let jobs = self.alarms[place]
            self.alarms[place] = []
            for job in jobs {
                // A job that was unfollowed, or woken earlier, is in another phase.
                guard case .resting(let until, let purpose)? = self.entries[job]?.phase, until <= last else { continue }
                self.entries[job]?.phase = .queued(purpose)
                if purpose == .repair { self.repairs.append(job) } else { self.checks.append(job) }
            }
            (tick, turns) = (tick + 1, turns - 1)
        }
        self.nextTick = last + 1
    }
}
