// Looks for riders that are silent, on one loop of each gateway: who was not heard from in time leaves the pool, and
// later, if it has no task, is set offline. Any number of gateways may do so at once, since the script looks again
// before it decides; so nobody is in charge, and a gateway that dies takes nothing with it. A failure of Redis only
// puts it off.
//
// Nothing has to be swept at the live instance: `place_rider` removes ten old places for each that comes, and all of
// a zone's go by their lifetime once none comes.

internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Telemetry
internal import TrafficControl

/// Sweeps every zone's silent riders, again and again. Confined to its event loop.
final class RiderSweep {
    private let eventLoop: any EventLoop
    private let riders: Riders
    private let jobs: JobService
    /// ms between two rounds, on average.
    private let pace: Int64
    private let counts: LoopCounts
    private let logger: Logger
    /// Zones of this round that were not swept yet.
    private var remainingZones: [ZoneID] = []
    private var next: Scheduled<Void>?
    private var isStopped = false
    /// When tasks are next compared with their jobs, and whether they are in this round of all zones.
    private var comparesAt = NIODeadline.now()
    private var isComparing = false

    /// Zones that one round sweeps, each for at most `Riders.sweepBatch` riders; the rest follow soon.
    static let zonesPerRound = 50
    /// Tasks of a zone, and riders with theirs, that are compared with their jobs at a time, those that come to hand.
    static let maxTasksCompared = 500
    /// Rounds of sweeping to one of comparing.
    static let roundsPerComparison: Int64 = 20
    /// Until the next round when there is more to do than one round does, ms.
    static let shortPause: ClosedRange<Int64> = 50...150

    /// - Parameter pace: between two rounds, on average; each waits for half of it to one and a half.
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

    /// One zone after the other; what is wrong with one holds up no other.
    ///
    /// - Returns: whether one of them had as many riders due as are looked at at once.
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

    /// Without Redis nothing can be done for any zone; what else is wrong concerns this one.
    private func skip(_ zone: ZoneID, _ error: any Error) throws {
        guard (error as? RedisError)?.isOutage != true else { throw error }
        self.logger.warning(
            "rider sweep of a zone failed", metadata: [LogKey.zone: "\(zone)", LogKey.reason: "\(error)"])
    }

    /// Now and then: releases tasks whose jobs are done or another's, which a gateway that ended in between left behind: as
    /// the zone has them, and as each rider has them, which may be more.
    private func releaseFinishedTasks(in zone: ZoneID) -> EventLoopFuture<Void> {
        guard self.isComparing else { return self.eventLoop.makeSucceededVoidFuture() }
        let (riders, jobs, loop) = (self.riders, self.jobs, self.eventLoop)
        let bound = NIOLoopBound(self, eventLoop: loop)
        let ofZone = riders.tasks(in: zone).flatMap { tasks in
            let looks = tasks.shuffled().prefix(Self.maxTasksCompared).map { job in
                riders.owner(of: job, in: zone).flatMap { rider in
                    rider.map { jobs.releaseDone([job], of: $0, in: zone) } ?? loop.makeSucceededFuture(0)
                }
            }
            return EventLoopFuture.whenAllSucceed(looks, on: loop)
        }
        return ofZone.and(
            riders.listed(in: zone).flatMap { listed in
                let looks = listed.shuffled().prefix(Self.maxTasksCompared).map { rider in
                    riders.tasks(of: rider, in: zone).flatMap { tasks in
                        tasks.isEmpty ? loop.makeSucceededFuture(0) : jobs.releaseDone(tasks, of: rider, in: zone)
                    }
                }
                return EventLoopFuture.whenAllSucceed(looks, on: loop)
            }
        ).map { bound.value.counts.add(.tasksReleased, ($0 + $1).reduce(0, +)) }
    }

    private func record(_ rider: PersonID, in zone: ZoneID, _ expiry: Riders.Expiry) {
        switch expiry {
        case .nothing: break
        case .unreachable: self.counts.add(.ridersUnreachable)
        case .offline: self.counts.add(.ridersExpired)
        case .unreachableWithTasks(let jobs, _):
            self.counts.add(.ridersUnreachableWithTask)
            // Once, by the gateway that found it.
            self.logger.notice(
                "rider with active task is unreachable",
                metadata: [LogKey.rider: "\(rider)", LogKey.zone: "\(zone)", LogKey.count: "\(jobs.count)"])
        }
    }
}
