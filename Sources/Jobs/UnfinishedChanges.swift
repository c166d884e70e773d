// Finishes changes that the ledger has made but whose remaining steps failed, for example because the live instance did
// not answer. These steps close the feed, release the task and write the audit entry. The request is answered with the
// failure, but the client need not repeat it: the steps are repeated here. They are stored only in memory. If the
// gateway stops before, the next request for the same status finishes the change.

package import EnrouteWire
internal import LiveState
internal import Logging
package import NIOCore
internal import Synchronization
internal import Telemetry

/// Repeats the remaining steps of changes with growing pauses until they succeed. Thread-safe.
final class UnfinishedChanges: Sendable {
    /// The pauses before the attempts: together about half an hour. Each varies by half, so that a Redis that is
    /// available again does not get them all at once.
    static let pauses: [TimeAmount] = [1, 2, 5, 10, 30, 60, 60, 60, 120, 120, 300, 300, 600].map { .seconds($0) }
    /// The maximum number of changes that wait on an event loop. Those beyond it are left to the next request.
    static let maxWaiting = 1000

    private let waiting = Mutex(0)
    private let logger: Logger
    /// Called on the event loop of the change.
    private let count: @Sendable (Metric) -> Void

    init(logger: Logger, count: @escaping @Sendable (Metric) -> Void) {
        (self.logger, self.count) = (logger, count)
    }

    /// - Parameters:
    ///   - first: the first attempt, which has started.
    ///   - again: starts another attempt. Safe to repeat, and checks that the job has not moved on.
    /// - Returns: the result of the first attempt.
    func attempt(
        _ job: JobID, on loop: any EventLoop, _ first: EventLoopFuture<Void>,
        again: @escaping @Sendable () -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Void> {
        first.whenFailure { error in
            guard self.hasRoom() else { return self.abandon(job, error) }
            self.count(.changesDeferred)
            self.schedule(job, again, after: Self.pauses[...], on: loop, because: error)
        }
        return first
    }

    private func hasRoom() -> Bool {
        self.waiting.withLock { waiting in
            guard waiting < Self.maxWaiting else { return false }
            waiting += 1
            return true
        }
    }

    private func schedule(
        _ job: JobID, _ again: @escaping @Sendable () -> EventLoopFuture<Void>, after pauses: ArraySlice<TimeAmount>,
        on loop: any EventLoop, because error: any Error
    ) {
        guard let pause = pauses.first else {
            self.waiting.withLock { $0 -= 1 }
            return self.abandon(job, error)
        }
        let varied = Double(pause.nanoseconds) * Double.random(in: 0.5...1.5)
        loop.scheduleTask(in: .nanoseconds(Int64(varied))) {
            again().whenComplete { result in
                switch result {
                case .success:
                    self.waiting.withLock { $0 -= 1 }
                    self.count(.changesFinished)
                    self.logger.info("a change was finished after a failure", metadata: [LogKey.job: "\(job)"])
                case .failure(let error):
                    self.schedule(job, again, after: pauses.dropFirst(), on: loop, because: error)
                }
            }
        }
    }

    /// Gives up. The change is visible, but a feed or task that it should have ended may continue.
    private func abandon(_ job: JobID, _ error: any Error) {
        self.count(.changesAbandoned)
        self.logger.error(
            "a change could not be finished; repeat its request",
            metadata: [LogKey.job: "\(job)", LogKey.reason: "\(error)"])
    }
}

extension JobService {
    /// Like `finish`, for a change that the ledger has just made. Steps that fail are repeated in the background.
    func finishPersistently(_ job: JobID, by actor: PersonID) -> EventLoopFuture<Void> {
        self.unfinished.attempt(job, on: self.loop, self.finish(job, by: actor)) { self.finish(job, by: actor) }
    }

    /// Writes the audit entry of a change that the ledger has just made. If that fails, it is repeated in the background: a
    /// client that repeats its request finds the job changed already, so the repetition would not write the entry.
    ///
    /// - Parameter write: safe to repeat, so each attempt writes the same entry with the same number.
    package func auditPersistently(
        _ job: JobID, _ write: @escaping @Sendable () -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Void> {
        self.unfinished.attempt(job, on: self.loop, write(), again: write)
    }
}

extension EventLoopFuture where Value == Void {
    /// Starts `next` whether or not this future succeeds, and fails if either fails.
    func thenAlways(_ next: @escaping @Sendable () -> EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        self.map { _ -> (any Error)? in nil }.flatMapErrorThrowing { $0 }.flatMap { failure in
            next().flatMapThrowing { _ in
                guard let failure else { return }
                throw failure
            }
        }
    }
}
