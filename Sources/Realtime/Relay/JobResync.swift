// Making good what followers may have missed. Which job is read again, and when, is decided by `ResyncScheduler`; here it is read,
// and the followers are shown it. Two ways: a repair shows the whole state as a `reset`; a check, every few seconds for
// every followed job, compares, since a message that pub/sub lost leaves nothing behind that would reveal it.

internal import Access
internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Resilience
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// Reads the jobs followed on one loop again. Confined to it.
final class JobResync {
    private let eventLoop: any EventLoop
    private let jobs: JobService
    private let counts: LoopCounts
    private let limits: TimeLimits
    private let logger: Logger
    private var scheduler: ResyncScheduler<JobID>
    /// Jobs that the ledger knows no more, and since when.
    private var missingSince: [JobID: NIODeadline] = [:]
    /// Jobs whose positions the live instance let through, at the last look, although the ledger did not allow it.
    private var wronglyOpen: Set<JobID> = []

    /// Who follows a job here.
    package var followers: (JobID) -> ContiguousArray<FollowedJob> = { _ in [] }
    /// What of a view may be shown now.
    var showable: (JobView, JobID) -> JobView = { view, _ in view }
    /// A position was read that a message may have been lost of.
    var onPosition: (_ id: UInt64, _ frame: [UInt8], _ job: JobID) -> Void = { _, _, _ in }

    /// A job that the ledger does not know for so long is over: its record has expired, or was lost for good. Until then
    /// it may be written again, by the order system for instance, and goes on with a `reset`.
    static let missingTimeout = TimeAmount.seconds(60)

    init(
        eventLoop: any EventLoop, jobs: JobService, counts: LoopCounts, bounds: ResyncScheduler<JobID>.Bounds,
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

    func follow(_ job: JobID) { self.scheduler.follow(job, now: Self.now) }

    func unfollow(_ job: JobID) {
        self.scheduler.leave(job)
        self.missingSince[job] = nil
        self.wronglyOpen.remove(job)
    }

    /// - Parameter spread: within how many ns to begin, at random; 0 for at once.
    func schedule(_ job: JobID, within spread: UInt64) {
        guard self.scheduler.repair(job, within: spread, now: Self.now) else { return }
        for follower in self.followers(job) { follower.invalidate() }
        if spread == 0 { self.startDue() }
    }

    /// No follower waits for a repair.
    var isSettled: Bool { self.scheduler.repairsOutstanding == 0 }

    /// Sends the reads whose time has come.
    func startDue() {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        for read in self.scheduler.due(now: Self.now) {
            switch read.purpose {
            case .repair:
                self.counts.add(.jobRepairResyncs)
                for follower in self.followers(read.job) { follower.invalidate() }
                self.jobs.view(read.job).whenComplete { bound.value.resynced(read, $0) }
            case .check:
                self.counts.add(.jobCheckResyncs)
                self.jobs.check(read.job).whenComplete { bound.value.checked(read, $0) }
            }
        }
    }

    private func resynced(_ read: ResyncScheduler<JobID>.Read, _ result: Result<JobView?, any Error>) {
        let job = read.job
        switch result {
        case .success(let view?):
            guard self.scheduler.answered(read, .matches, now: Self.now) else { break }
            self.missingSince[job] = nil
            self.limits.setLimit(job, to: view.deadline)
            let view = self.showable(view, job)
            // Most are customers, who are shown the same.
            let frame = Frame.text(ServerMessage.reset(job: job, view.snapshot(for: .customer)).encoded)
            var isWhole = true
            // Who has just come is about to be shown a view of its own.
            for follower in self.followers(job) where follower.needsResync {
                let own = follower.role == .customer ? nil : view.snapshot(for: follower.role)
                var frame = own.map { Frame.text(ServerMessage.reset(job: job, $0).encoded) } ?? frame
                if !follower.hasSentSnapshot, !follower.resumes {
                    // Nothing is taken back from who has been shown nothing.
                    let first = own ?? view.snapshot(for: .customer)
                    frame = Frame.text(ServerMessage.subscribed(job: job, first).encoded)
                }
                if !follower.sendSnapshot(view, frame) { isWhole = false }
            }
            if !isWhole { self.schedule(job, within: Self.rereadSpread) }
        case .success(nil):
            if self.scheduler.answered(read, .matches, now: Self.now) { self.recordMissing(job) }
        case .failure(let error): self.failed(read, error)
        }
        self.startDue()
    }

    /// After a read that something came in between of.
    private static let rereadSpread = UInt64.milliseconds(250)

    private func checked(_ read: ResyncScheduler<JobID>.Read, _ result: Result<JobCheck?, any Error>) {
        let job = read.job
        switch result {
        case .success(let check?):
            let followers = self.followers(job).filter { $0.reauthorize(check.parties) }
            let agrees = followers.allSatisfy { $0.agrees(with: check) }
            guard self.scheduler.answered(read, agrees ? .matches : .mismatch, now: Self.now) else { break }
            if !agrees { self.counts.add(.jobMismatches) }
            self.missingSince[job] = nil
            self.limits.setLimit(job, to: check.deadline)
            if let position = check.position {
                self.onPosition(position.id, position.message.withUnsafeBytes { Frame.text($0) }, job)
            }
            self.closeWronglyOpenFeed(job, check)
        case .success(nil):
            if self.scheduler.answered(read, .matches, now: Self.now) { self.recordMissing(job) }
        case .failure(let error): self.failed(read, error)
        }
        self.startDue()
    }

    /// A failover can lose the word that closed a feed. Seen twice, it is said again, and who follows is told with it; seen
    /// once, it may be on its way.
    private func closeWronglyOpenFeed(_ job: JobID, _ check: JobCheck) {
        guard check.isOpenInVain else {
            self.wronglyOpen.remove(job)
            return
        }
        guard !self.wronglyOpen.insert(job).inserted else { return }
        self.wronglyOpen.remove(job)
        _ = self.jobs.close(job, because: .deactivated)
    }

    private func failed(_ read: ResyncScheduler<JobID>.Read, _ error: any Error) {
        self.logger.debug("job resync failed", metadata: [LogKey.job: "\(read.job)", LogKey.reason: "\(error)"])
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
