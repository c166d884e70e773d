// Travel mode in the ledger: whether a rider may share their position for a job, until when, and on which device.

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    package enum Travel: Sendable, Hashable {
        /// Travel mode is on until `deadline`, ms since the epoch; `fence` opens the feed.
        case on(deadline: Int64, fence: Int64)
        case noSuchJob
        case otherRider
        case notInStatus(JobStatus)
        case timeLimit(deadline: Int64)
        /// Another device of this rider has started since, so this one cannot resume.
        case otherDevice
        /// Travel mode was switched off since, so no device can resume.
        case switchedOff
        /// Travel mode was never on, or the ledger has lost it.
        case neverOn
    }

    /// Switches travel mode on in the ledger, if the job's status and the time limit allow it.
    ///
    /// - Parameters:
    ///   - reporter: the device that reports from now on.
    ///   - resumes: whether to only continue what this device started, without taking over from another one.
    package func startTravel(
        for job: JobID, by rider: PersonID, on reporter: Reporter = .requests, resumes: Bool = false
    ) -> EventLoopFuture<Travel> {
        self.change(
            job, Scripts.startTravel,
            arguments: [
                .text(rider.text), .integer(self.settings.maxSharingDuration.milliseconds),
                .text(JobStatus.travelling.map(\.rawValue).joined(separator: ",")), self.retention,
                .text(reporter.text), resumes ? 1 : 0,
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            let detail = parts.dropFirst().first
            switch (parts.first?.integer, detail?.timestamp, detail?.text.flatMap(JobStatus.init)) {
            case (1, let deadline?, _):
                guard let fence = parts.last?.fence, parts.count == 3 else { break }
                return .on(deadline: deadline, fence: fence)
            case (0, _, _): return .noSuchJob
            case (-1, _, _): return .otherRider
            case (-2, _, let status?): return .notInStatus(status)
            case (-3, let deadline?, _): return .timeLimit(deadline: deadline)
            case (-4, _, _): return .otherDevice
            case (-5, _, _): return .switchedOff
            case (-6, _, _): return .neverOn
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.job(job), by: Scripts.startTravel.name)
        }
    }

    /// Switches travel mode off in the ledger. Safe to repeat.
    ///
    /// - Parameters:
    ///   - rider: `nil` when the service or operations staff stop it, or the time limit was reached.
    ///   - deadline: the time limit that was reached, ms since the epoch. Nothing changes if the job has another limit
    ///     by now.
    ///   - reporter: stops only what this device started; `nil` for any device.
    package func stopTravel(
        for job: JobID, by rider: PersonID?, atLimit deadline: Int64? = nil, startedOn reporter: Reporter? = nil
    ) -> EventLoopFuture<Stop> {
        self.change(
            job, Scripts.stopTravel,
            arguments: [
                .text(rider?.text ?? ""), self.retention, .text(deadline.map(String.init) ?? ""),
                .text(reporter?.text ?? ""),
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            switch (parts.first?.integer, parts.dropFirst().first?.fence) {
            case (1, let fence?): return .off(fence: fence)
            case (2, let fence?): return .wasOff(fence: fence)
            case (0, _), (-1, _): return .noSuchJob
            case (-2, _): return .otherDevice
            default: throw RedisError.unexpectedAnswer(command: Scripts.stopTravel.name)
            }
        }
    }

    package enum Stop: Sendable, Hashable {
        /// `fence` is the number of this decision.
        case off(fence: Int64)
        /// Travel mode was already off, or the job has another time limit by now; `fence` is the number of the last
        /// decision.
        case wasOff(fence: Int64)
        /// The job does not exist, or is not this rider's.
        case noSuchJob
        /// Another device of this rider has started since.
        case otherDevice
    }
}
