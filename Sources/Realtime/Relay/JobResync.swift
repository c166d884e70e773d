// Recovers messages that followers may have missed. `ResyncScheduler` decides which job is read and when. This class
// reads it and updates its followers in one of two ways. A *repair* sends the whole state as a `reset`. A *check*
// compares the state every few seconds for every followed job, because nothing else reveals that pub/sub has lost a
// message.

internal import Access
internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Resilience
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// Resyncs the jobs followed on one loop. Confined to it.
final class JobResync {
    private let eventLoop: any EventLoop
    private let jobs: JobService
    private let counts: LoopCounts
    private let limits: TimeLimits
    private let logger: Logger
    /// Identifies jobs by numbers, which it looks up faster than names.
    private var scheduler: ResyncScheduler<Int>
    private var numbers: [JobID: Int] = [:]
    private var readers: [Int: JobCheckReader] = [:]
    private var lastNumber = 0
    /// `startDue` is running.
    private var isStarting = false
    /// Jobs that the ledger no longer knows, and since when.
    private var missingSince: [JobID: NIODeadline] = [:]
    /// Jobs whose feed was open at the last check although the ledger did not allow it.
    private var wronglyOpen: Set<JobID> = []

    /// Redis is or was unavailable, and missed messages have not been replaced yet. Mismatches are expected and not
    /// counted.
    var isOutage = false
    /// The followers of a job on this loop.
    var followers: (JobID) -> ContiguousArray<FollowedJob> = { _ in [] }
    /// The part of a view that may be shown now.
    var visiblePart: (JobView, JobID) -> JobView = { view, _ in view }
    /// Called with a position that was read, because its message may have been lost.
    var onPosition: (_ id: UInt64, _ frame: [UInt8], _ job: JobID) -> Void = { _, _, _ in }

    /// A job that the ledger has not had for this time has ended: its record expired or was lost. Until then the record
    /// may be written again, for example by the order system, and followers continue with a `reset`.
    static let missingTimeout = TimeAmount.seconds(60)

    init(
        eventLoop: any EventLoop, jobs: JobService, counts: LoopCounts, bounds: ResyncScheduler<Int>.Bounds,
        limits: TimeLimits, logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.jobs = jobs
        self.counts = counts
        self.limits = limits
        self.logger = logger
        self.scheduler = ResyncScheduler(bounds: bounds, seed: .random(in: .min ... .max), now: Self.now)
    }

    private static var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    func follow(_ job: JobID) {
        guard self.numbers[job] == nil else { return }
        self.lastNumber += 1
        self.numbers[job] = self.lastNumber
        self.readers[self.lastNumber] = self.jobs.checkReader(of: job)
        self.scheduler.follow(self.lastNumber, now: Self.now)
    }

    func unfollow(_ job: JobID) {
        if let number = self.numbers.removeValue(forKey: job) {
            self.scheduler.unfollow(number)
            self.readers[number] = nil
        }
        self.missingSince[job] = nil
        self.wronglyOpen.remove(job)
    }

    /// - Parameter spread: the time in ns within which the read starts, at random; 0 to start immediately.
    func schedule(_ job: JobID, within spread: UInt64) {
        guard let number = self.numbers[job], self.scheduler.repair(number, within: spread, now: Self.now) else {
            return
        }
        for follower in self.followers(job) { follower.invalidate() }
        if spread == 0 { self.startDue() }
    }

    /// No follower is waiting for a repair.
    var isSettled: Bool { self.scheduler.repairsOutstanding == 0 }

    /// Starts the reads that are due. While Redis is not connected, a read fails immediately, and its completion calls
    /// this method again. That call returns at once and the loop here continues; otherwise the stack would grow with
    /// every followed job.
    func startDue() {
        guard !self.isStarting else { return }
        self.isStarting = true
        defer { self.isStarting = false }
        // The time is read once, so that a read that fails now is not tried again in this call.
        let now = Self.now
        while case let reads = self.scheduler.due(now: now), !reads.isEmpty { self.start(reads) }
    }

    private func start(_ reads: [ResyncScheduler<Int>.Read]) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        for read in reads {
            // The start of a previous read may have caused the job to be unfollowed.
            guard let reader = self.readers[read.job] else {
                _ = self.scheduler.answered(read, .failed, now: Self.now)
                continue
            }
            let job = reader.job
            switch read.purpose {
            case .repair:
                self.counts.add(.jobRepairResyncs)
                for follower in self.followers(job) { follower.invalidate() }
                self.jobs.view(job).whenComplete { bound.value.resynced(read, job, $0) }
            case .check:
                self.counts.add(.jobCheckResyncs)
                self.check(read, reader)
            }
        }
    }

    /// Compares through the job's reader. The general path handles what the reader cannot, such as following
    /// redirections.
    private func check(_ read: ResyncScheduler<Int>.Read, _ reader: JobCheckReader) {
        let job = reader.job
        let isSent = reader.read(shown: self.newestPositionOfAll(job)) { [unowned self] result in
            if case .failure(let error as RedisError) = result, error.needsGeneralPath {
                return self.checkGenerally(read, job)
            }
            self.checked(read, job, result.map { $0.map { JobCheck($0) } })
        }
        if !isSent { self.checkGenerally(read, job) }
    }

    /// The newest position that every follower of a job has been sent; 0 if one of them has none.
    private func newestPositionOfAll(_ job: JobID) -> UInt64 {
        var newest = UInt64.max
        for follower in self.followers(job) { newest = min(newest, follower.newestPosition ?? 0) }
        return newest == .max ? 0 : newest
    }

    private func checkGenerally(_ read: ResyncScheduler<Int>.Read, _ job: JobID) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.jobs.check(job).whenComplete { bound.value.checked(read, job, $0) }
    }

    private func resynced(_ read: ResyncScheduler<Int>.Read, _ job: JobID, _ result: Result<JobView?, any Error>) {
        switch result {
        case .success(let view?):
            guard self.scheduler.answered(read, .matches, now: Self.now) else { break }
            self.missingSince[job] = nil
            self.limits.setLimit(job, to: view.deadline)
            let view = self.visiblePart(view, job)
            // Most followers are customers, who all receive the same frame.
            let frame = Frame.text(ServerMessage.reset(job: job, view.snapshot(for: .customer)).encoded)
            var isWhole = true
            // New followers are about to receive their own first view.
            for follower in self.followers(job) where follower.needsResync {
                let own = follower.role == .customer ? nil : view.snapshot(for: follower.role)
                var frame = own.map { Frame.text(ServerMessage.reset(job: job, $0).encoded) } ?? frame
                if !follower.hasSentSnapshot, !follower.resumes {
                    // A follower that has not received anything yet needs no `reset`.
                    let first = own ?? view.snapshot(for: .customer)
                    frame = Frame.text(ServerMessage.subscribed(job: job, first).encoded)
                }
                if !follower.sendSnapshot(view, frame) { isWhole = false }
            }
            if !isWhole { self.schedule(job, within: Self.rereadSpread) }
        case .success(nil):
            if self.scheduler.answered(read, .matches, now: Self.now) { self.recordMissing(job) }
        case .failure(let error): self.failed(read, job, error)
        }
        self.startDue()
    }

    /// The delay before a second read if a message between the view and the buffered messages is missing.
    private static let rereadSpread = UInt64.milliseconds(250)

    private func checked(_ read: ResyncScheduler<Int>.Read, _ job: JobID, _ result: Result<JobCheck?, any Error>) {
        switch result {
        case .success(let check?):
            let followers = self.followers(job).filter { $0.reauthorize(check.parties) }
            let agrees = followers.allSatisfy { $0.agrees(with: check) }
            guard self.scheduler.answered(read, agrees ? .matches : .mismatch, now: Self.now) else { break }
            if !agrees, read.isConfirmation, !self.isOutage { self.counts.add(.jobMismatches) }
            self.missingSince[job] = nil
            self.limits.setLimit(job, to: check.deadline)
            // Usually all of them have received it through the channel.
            if let position = check.position, followers.contains(where: { $0.wants(position: position.id) }) {
                self.onPosition(position.id, position.message.withUnsafeBytes { Frame.text($0) }, job)
            }
            self.closeWronglyOpenFeed(job, check)
        case .success(nil):
            if self.scheduler.answered(read, .matches, now: Self.now) { self.recordMissing(job) }
        case .failure(let error): self.failed(read, job, error)
        }
        self.startDue()
    }

    /// A failover can lose the message that closed a feed. If two checks in a row find the feed open, it is closed
    /// again, which also notifies the followers. After a single check, the message may still be on its way.
    private func closeWronglyOpenFeed(_ job: JobID, _ check: JobCheck) {
        guard check.isFeedOrphaned else {
            self.wronglyOpen.remove(job)
            return
        }
        guard !self.wronglyOpen.insert(job).inserted else { return }
        self.wronglyOpen.remove(job)
        _ = self.jobs.closeIfStopped(job)
    }

    private func failed(_ read: ResyncScheduler<Int>.Read, _ job: JobID, _ error: any Error) {
        self.logger.debug("job resync failed", metadata: [LogKey.job: "\(job)", LogKey.reason: "\(error)"])
        _ = self.scheduler.answered(read, .failed, now: Self.now)
    }

    private func recordMissing(_ job: JobID) {
        let since = self.missingSince[job] ?? .now()
        self.missingSince[job] = since
        guard NIODeadline.now() - since > Self.missingTimeout else { return }
        self.logger.warning("followed job missing from ledger", metadata: [LogKey.job: "\(job)"])
        for follower in self.followers(job) { follower.end(.revoked) }
    }
}
