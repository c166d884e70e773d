import EnrouteWire
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Telemetry
import Testing

@testable import Jobs

/// Changes whose remaining steps failed, with a clock that the test advances.
@Suite struct UnfinishedChangesTests {
    private static let job = JobID("job-1")!

    private struct Failure: Error {}

    /// An attempt that fails until it has been started this many times.
    private final class Rest: Sendable {
        let begun = Mutex(0)
        private let succeedsAt: Int

        init(succeedsAt: Int = .max) { self.succeedsAt = succeedsAt }

        func attempt(_ loop: EmbeddedEventLoop) -> @Sendable () -> EventLoopFuture<Void> {
            let bound = NIOLoopBound(loop, eventLoop: loop)
            return {
                let count = self.begun.withLock { count in
                    count += 1
                    return count
                }
                return count >= self.succeedsAt
                    ? bound.value.makeSucceededVoidFuture() : bound.value.makeFailedFuture(Failure())
            }
        }
    }

    /// The counters so far.
    private let counts = SharedCounts()

    private func changes() -> UnfinishedChanges {
        let counts = self.counts
        return UnfinishedChanges(logger: Logger(label: "test")) { counts.add($0) }
    }

    private var outcomes: [Int] {
        let values = self.counts.values
        return [values[.changesDeferred], values[.changesFinished], values[.changesAbandoned]]
    }

    /// Long enough for every pause, each of which varies by half.
    private static let longest = UnfinishedChanges.pauses.reduce(TimeAmount.zero) { $0 + $1 + $1 }

    private static func fail(_ changes: UnfinishedChanges, _ rest: Rest, on loop: EmbeddedEventLoop) {
        let first = changes.attempt(
            Self.job, on: loop, loop.makeFailedFuture(Failure()), again: rest.attempt(loop))
        #expect(throws: Failure.self) { try first.wait() }
    }

    @Test func `a change is repeated until it succeeds, and not after that`() {
        let (loop, rest) = (EmbeddedEventLoop(), Rest(succeedsAt: 3))
        Self.fail(self.changes(), rest, on: loop)
        #expect(rest.begun.withLock { $0 } == 0)
        loop.advanceTime(by: Self.longest)
        #expect(rest.begun.withLock { $0 } == 3)
        #expect(self.outcomes == [1, 1, 0])
    }

    @Test func `a change that never succeeds is abandoned after the last pause`() {
        let (loop, rest) = (EmbeddedEventLoop(), Rest())
        Self.fail(self.changes(), rest, on: loop)
        loop.advanceTime(by: Self.longest)
        loop.advanceTime(by: .hours(24))
        #expect(rest.begun.withLock { $0 } == UnfinishedChanges.pauses.count)
        #expect(self.outcomes == [1, 0, 1])
    }

    @Test func `no more than a thousand changes wait, and others may wait when they have succeeded`() {
        let loop = EmbeddedEventLoop()
        let changes = self.changes()
        let waiting = (0..<UnfinishedChanges.maxWaiting).map { _ in Rest(succeedsAt: 1) }
        for rest in waiting { Self.fail(changes, rest, on: loop) }
        let (over, later) = (Rest(succeedsAt: 1), Rest(succeedsAt: 1))
        Self.fail(changes, over, on: loop)
        loop.advanceTime(by: .seconds(2))
        #expect(waiting.allSatisfy { $0.begun.withLock { $0 } == 1 } && over.begun.withLock { $0 } == 0)
        Self.fail(changes, later, on: loop)
        loop.advanceTime(by: .seconds(2))
        #expect(later.begun.withLock { $0 } == 1)
        #expect(self.outcomes == [1001, 1001, 1])
    }
}
