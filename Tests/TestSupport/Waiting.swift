// Waiting for conditions that send no signal, and the reasons of failures.

package import NIOCore
package import Redis

private import NIOPosix

/// Checks a condition repeatedly until it holds.
///
/// - Returns: whether it held within the time limit.
package func eventually(
    within bound: Duration = .seconds(30), _ isSo: () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + bound
    while try await !isSo() {
        guard ContinuousClock.now < end else { return false }
        await pause(.milliseconds(2))
    }
    return true
}

/// Yields the processor to the work that is awaited. This is the only place where time passes in a test. A cancelled task ends
/// at the next check.
package func pause(_ pace: Duration) async {
    try? await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: TimeAmount(pace)) {}.futureResult.get()
}

extension EventLoopFuture where Value: Sendable {
    /// The same, but fails with `NothingArrived` when the time limit is exceeded.
    package func within(_ bound: TimeAmount = .seconds(40)) -> EventLoopFuture<Value> {
        let promise = self.eventLoop.makePromise(of: Value.self)
        let limit = self.eventLoop.scheduleTask(in: bound) {
            promise.fail(NothingArrived(description: "no \(Value.self) arrived within \(bound)"))
        }
        self.whenComplete { result in
            limit.cancel()
            promise.completeWith(result)
        }
        return promise.futureResult
    }
}

/// Why a command failed; `nil` when it did not, or not with a Redis error.
package func failure<Value: Sendable>(of future: EventLoopFuture<Value>) async -> RedisError? {
    do {
        _ = try await future.within().get()
        return nil
    } catch {
        return error as? RedisError
    }
}

/// Checks a condition at intervals until it holds: for operations that take seconds, so that checking does not slow them
/// down.
///
/// - Parameter what: the condition, as in "within 60 s it was not so: …".
/// - Throws: `NothingArrived`, and what `isSo` throws.
package func becomes(
    _ what: String, within bound: Duration = longestSettling, every pace: Duration = .milliseconds(100),
    _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + bound
    while try await !isSo() {
        guard ContinuousClock.now < end else {
            throw NothingArrived(description: "within \(bound) it was not so: \(what)")
        }
        await pause(pace)
    }
}

/// Servers need a few seconds to agree, and many times as long on a machine that is busy with other tests.
package let longestSettling = Duration.seconds(180)
