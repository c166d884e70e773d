// Enforces the limit on how long a rider may share their position (BR-002). At the limit, the gateway of the rider and
// every gateway with a follower of the job close the feed. The first one succeeds, and the message that it publishes
// notifies all others. Redis refuses later positions in any case; this class ensures that followers are notified.

internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import TrafficControl

/// Closes the feeds of jobs when their time limit is reached. Confined to its loop.
final class TimeLimits {
    private let deadlines: Deadlines
    private let jobs: JobService
    private let eventLoop: any EventLoop
    private var scheduled: [JobID: ScheduledClose] = [:]

    private struct ScheduledClose {
        let limit: Int64
        let deadline: Deadline
    }

    /// The delay before another attempt if Redis did not answer.
    private static let retryDelay = TimeAmount.seconds(1)

    init(deadlines: Deadlines, jobs: JobService, eventLoop: any EventLoop) {
        self.deadlines = deadlines
        self.jobs = jobs
        self.eventLoop = eventLoop
    }

    /// - Parameter limit: ms since the epoch; `nil` if sharing is off.
    func setLimit(_ job: JobID, to limit: Int64?) {
        guard limit != self.scheduled[job]?.limit else { return }
        self.forget(job)
        if let limit { self.scheduleClose(job, limit, after: .until(limit)) }
    }

    /// Redis reported that the time limit has been reached.
    func closeNow(_ job: JobID, _ limit: Int64) {
        self.forget(job)
        self.scheduleClose(job, limit, after: .zero)
    }

    func forget(_ job: JobID) { self.scheduled.removeValue(forKey: job)?.deadline.cancel() }

    private func scheduleClose(_ job: JobID, _ limit: Int64, after wait: TimeAmount) {
        let deadline = self.deadlines.after(wait) { [weak self] in self?.close(job, limit) }
        self.scheduled[job] = ScheduledClose(limit: limit, deadline: deadline)
    }

    private func close(_ job: JobID, _ limit: Int64) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.jobs.close(job, atLimit: limit).whenComplete { result in
            let limits = bound.value
            guard limits.scheduled[job]?.limit == limit else { return }
            switch result {
            // The clock of Redis is behind this machine's clock, or this machine's clock has jumped.
            case .success(.early(let milliseconds)):
                limits.scheduleClose(job, limit, after: .milliseconds(milliseconds))
            case .success: limits.forget(job)
            case .failure: limits.scheduleClose(job, limit, after: Self.retryDelay)
            }
        }
    }
}
