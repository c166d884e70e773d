// Jobs that riders got before they were put into a zone. They are not tasks, because only a zone has tasks, and only riders
// who are online may have one. They become tasks when the rider goes online in the zone for the first time.
//
// An assignment that found the rider in no zone writes the job's record first and then looks for the zone again. The
// rider goes online first, and then the records are read. So at least one of the two finds the other.

package import EnrouteWire
internal import HTTPValues
internal import LiveState
package import NIOCore
internal import Redis

extension JobService {
    /// Maximum number of earlier jobs that become tasks: the newest open ones.
    private static let maxEarlierJobs = 100

    /// Makes the open jobs of a rider who has just entered their zone tasks of the rider, even if they exceed the
    /// capacity. Does nothing for a rider who is offline or whose earlier jobs are tasks already. Safe to repeat, also
    /// from several gateways at the same time.
    package func acquireEarlierJobs(of rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Void> {
        self.riders.isOnlineAndJoining(rider, in: zone).flatMap { isJoining in
            guard isJoining else { return self.loop.makeSucceededVoidFuture() }
            return self.openJobs(of: rider).flatMap { jobs in
                let acquired = jobs.map {
                    self.acquireEarlierJob($0, of: rider, by: Riders.Requester.gateway.actor)
                }
                return EventLoopFuture.whenAllSucceed(acquired, on: self.loop)
            }.flatMap { acquired in
                // Otherwise the rider is offline again, and gets these tasks the next time they go online.
                acquired.allSatisfy { $0 }
                    ? self.riders.finishJoining(rider, in: zone) : self.loop.makeSucceededVoidFuture()
            }
        }
    }

    private func openJobs(of rider: PersonID) -> EventLoopFuture<[JobID]> {
        self.ledger.page(
            of: .rider(rider), after: nil, limit: Self.maxEarlierJobs, now: WallClock.nowMilliseconds
        ) { $1.status.end == nil }.map { $0.jobs.map(\.job) }
    }

    /// Makes a job a task of the rider in its record, if that rider is in a zone by now and online. The record is
    /// compared afterwards: the job may have ended or been assigned to another rider meanwhile.
    ///
    /// - Returns: `false` if the rider is in a zone but cannot have a task there, because they are offline.
    func acquireEarlierJob(_ job: JobID, of rider: PersonID, by actor: PersonID) -> EventLoopFuture<Bool> {
        self.openStatus(of: job, for: rider).flatMap { status in
            guard let status else { return self.loop.makeSucceededFuture(true) }
            return self.riders.zone(of: rider).flatMap { zone in
                guard let zone else { return self.loop.makeSucceededFuture(true) }
                return self.acquireTask(
                    job, for: rider, in: zone, from: rider, as: TaskState(of: status), by: actor, isTheirs: true
                ).flatMap { task in
                    guard task != nil else { return self.loop.makeSucceededFuture(true) }
                    return self.settleTask(job, of: rider, because: .reassigned, by: actor).map { true }
                }.flatMapErrorThrowing { error in
                    guard let refused = error as? Refused, refused.isOfRider else { throw error }
                    // Otherwise another rider has the task: the caller that assigned it there compares it too.
                    return refused.code != .riderOffline
                }
            }
        }
    }
}
