// Finds riders whose heartbeats have stopped, on one loop of each gateway. A rider whose heartbeats time out leaves the pool.
// Later, if the rider has no task, it is set offline.
//
// Any number of gateways may sweep at the same time, because the script checks again before it decides. There is no leader, so
// a gateway that dies leaves no gap. If Redis fails, the sweep is only delayed.
//
// The live instance needs no sweep: each `place_riders` removes up to ten more expired places than it stores, and the places of
// an idle zone expire with their key.

internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Telemetry
internal import TrafficControl

/// Repeatedly sweeps the unresponsive riders of every zone. Confined to its event loop.
final class RiderSweep {
    private let eventLoop: any EventLoop
    private let riders: Riders
    private let jobs: JobService
    /// The average interval between two runs, ms.
    private let pace: Int64
    private let counts: LoopCounts
    private let logger: Logger
    /// The zones of this run that have not been swept yet.
    private var remainingZones: [ZoneID] = []
    private var next: Scheduled<Void>?
    private var isStopped = false
    /// When tasks are next compared with their jobs, and whether the current pass over all zones compares them.
    private var comparesAt = NIODeadline.now()
    private var isComparing = false

    /// The maximum number of zones per run, each with at most `Riders.sweepBatch` riders. The remaining zones follow after a
    /// short pause.
    static let zonesPerRound = 50
    /// The maximum number of tasks of a zone, and of riders with their tasks, that are compared with their jobs in one run.
    /// They are chosen at random.
    static let maxTasksCompared = 500
    /// Tasks are compared once in this many sweep intervals.
    static let roundsPerComparison: Int64 = 20
    /// The pause before the next run if one run could not do all the work, ms.
    static let shortPause: ClosedRange<Int64> = 50...150

    /// - Parameter pace: the average interval between two runs. Each interval is random between half and one and a half times
    ///   this value.
    init(eventLoop: any EventLoop, riders: Riders, jobs: JobService, pace: Duration, counts: LoopCounts, logger: Logger)
    {
        self.eventLoop = eventLoop
        self.riders = riders
        self.jobs = jobs
        self.pace = max(1, pace.milliseconds)
        self.counts = counts
        self.logger = logger
    }

    func start() { self.scheduleNext() }

    func stop() {
        self.isStopped = true
        self.next?.cancel()
    }

    private func scheduleNext(isMore: Bool = false) {
        guard !self.isStopped else { return }
        let delay: Int64 = .random(in: isMore ? Self.shortPause : self.pace / 2...self.pace * 3 / 2)
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.next = self.eventLoop.scheduleTask(in: .milliseconds(delay)) { bound.value.run() }
    }

    private func run() {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let isFirst = self.remainingZones.isEmpty
        if isFirst {
            self.isComparing = NIODeadline.now() >= self.comparesAt
            if self.isComparing { self.comparesAt = .now() + .milliseconds(self.pace * Self.roundsPerComparison) }
        }
        let zones = isFirst ? self.riders.zones() : self.eventLoop.makeSucceededFuture(self.remainingZones)
        zones.flatMap { zones in
            bound.value.remainingZones = Array(zones.dropFirst(Self.zonesPerRound))
            return bound.value.sweep(zones.prefix(Self.zonesPerRound), isFull: false)
        }.whenComplete { result in
            let sweep = bound.value
            switch result {
            case .success(let isFull): sweep.scheduleNext(isMore: isFull || !sweep.remainingZones.isEmpty)
            case .failure(let error):
                sweep.logger.debug("rider sweep failed", metadata: [LogKey.reason: "\(error)"])
                sweep.scheduleNext()
            }
        }
    }

    /// Sweeps one zone after the other. A failure in one zone does not stop the others.
    ///
    /// - Returns: whether any zone had a full batch of riders to sweep.
    private func sweep(_ zones: ArraySlice<ZoneID>, isFull: Bool) -> EventLoopFuture<Bool> {
        guard let zone = zones.first, !self.isStopped else { return self.eventLoop.makeSucceededFuture(isFull) }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        return self.riders.sweep(zone).flatMapErrorThrowing { error in
            try bound.value.skip(zone, error)
            return []
        }.flatMap { swept in
            for (rider, expiry) in swept { bound.value.record(rider, in: zone, expiry) }
            let isFull = isFull || swept.count >= Riders.sweepBatch
            return bound.value.releaseFinishedTasks(in: zone).flatMapErrorThrowing { try bound.value.skip(zone, $0) }
                .flatMap { bound.value.sweep(zones.dropFirst(), isFull: isFull) }
        }
    }

    /// If Redis is unavailable, no zone can be swept. Any other error only concerns this zone.
    private func skip(_ zone: ZoneID, _ error: any Error) throws {
        guard (error as? RedisError)?.isOutage != true else { throw error }
        self.logger.warning(
            "rider sweep of a zone failed", metadata: [LogKey.zone: "\(zone)", LogKey.reason: "\(error)"])
    }

    /// A task of a zone's list.
    private struct ComparedTask: Sendable {
        var job: JobID
        /// The rider who has it.
        var owner: PersonID?
        /// The result of the release, if the task had to be released.
        var releases: [Riders.Release]
    }

    /// Releases tasks whose jobs have finished or belong to another rider. A gateway that stopped between two writes
    /// can leave such tasks behind. Both the zone's list and each rider's list are checked, because a rider may have
    /// tasks that are missing from the zone's list.
    private func releaseFinishedTasks(in zone: ZoneID) -> EventLoopFuture<Void> {
        guard self.isComparing else { return self.eventLoop.makeSucceededVoidFuture() }
        let (riders, jobs, loop) = (self.riders, self.jobs, self.eventLoop)
        let bound = NIOLoopBound(self, eventLoop: loop)
        return riders.tasks(in: zone).flatMap { tasks in
            let looks = tasks.shuffled().prefix(Self.maxTasksCompared).map { job in
                riders.owner(of: job, in: zone).flatMap { rider -> EventLoopFuture<ComparedTask> in
                    let releases = rider.map { jobs.releaseStaleTasks([job], of: $0, in: zone) }
                    return (releases ?? loop.makeSucceededFuture([])).map {
                        ComparedTask(job: job, owner: rider, releases: $0)
                    }
                }
            }
            return EventLoopFuture.whenAllSucceed(looks, on: loop)
        }.flatMap { compared in
            let owners = Dictionary(compared.map { ($0.job, $0.owner) }) { first, _ in first }
            return riders.onlineIDs(in: zone).flatMap { listed in
                let releases = listed.shuffled().prefix(Self.maxTasksCompared).map { rider in
                    riders.tasks(of: rider, in: zone).flatMap { tasks in
                        // Usually the zone's list has the same tasks, which have just been compared.
                        let others = tasks.filter { owners[$0] != rider }
                        return others.isEmpty
                            ? loop.makeSucceededFuture([]) : jobs.releaseStaleTasks(others, of: rider, in: zone)
                    }
                }
                return EventLoopFuture.whenAllSucceed(releases, on: loop).map {
                    compared.flatMap(\.releases) + $0.joined()
                }
            }
        }.map { releases in bound.value.counts.add(.tasksReleased, releases.count(where: \.isReleased)) }
    }

    private func record(_ rider: PersonID, in zone: ZoneID, _ expiry: Riders.Expiry) {
        switch expiry {
        case .unchanged: break
        case .unreachable: self.counts.add(.ridersUnreachable)
        case .offline: self.counts.add(.ridersExpired)
        case .unreachableWithTasks(let jobs, _):
            self.counts.add(.ridersUnreachableWithTask)
            // The script reports each expiry to one gateway only, so it is logged once.
            self.logger.notice(
                "rider with active task is unreachable",
                metadata: [LogKey.rider: "\(rider)", LogKey.zone: "\(zone)", LogKey.count: "\(jobs.count)"])
        }
    }
}
