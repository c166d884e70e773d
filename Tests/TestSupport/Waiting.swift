// Waiting for what has no signal, and asking why something failed.

package import NIOCore
package import Redis

private import NIOPosix

/// Asks again and again until the answer is yes.
///
/// - Returns: whether it became yes within the bound.
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

/// Leaves the processor to what is waited for: the one place where time passes in a test. A canceled task gets no further
/// than the next question.
package func pause(_ pace: Duration) async {
    try? await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: TimeAmount(pace)) {}.futureResult.get()
}

extension EventLoopFuture where Value: Sendable {
    /// The same, but it fails with `NothingCame` when it is not done in time.
    package func within(_ bound: TimeAmount = .seconds(40)) -> EventLoopFuture<Value> {
        let promise = self.eventLoop.makePromise(of: Value.self)
        let limit = self.eventLoop.scheduleTask(in: bound) {
            promise.fail(NothingCame(description: "no \(Value.self) came within \(bound)"))
        }
        self.whenComplete { result in
            limit.cancel()
            promise.completeWith(result)
        }
        return promise.futureResult
    }
}

/// Why a command failed; `nil` when it did not, or not with an error of Redis.
package func failure<Value: Sendable>(of future: EventLoopFuture<Value>) async -> RedisError? {
    do {
        _ = try await future.within().get()
        return nil
    } catch {
        return error as? RedisError
    }
}

/// Asks at a pace until the answer is yes: for what takes seconds, so that asking does not keep from happening what it
/// waits for.
///
/// - Parameter what: what is waited for, as in "within 60 s it was not so: …".
/// - Throws: `NothingCame`, and what `isSo` throws.
package func becomes(
    _ what: String, within bound: Duration = longestSettling, every pace: Duration = .milliseconds(100),
    _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + bound
    while try await !isSo() {
        guard ContinuousClock.now < end else {
            throw NothingCame(description: "within \(bound) it was not so: \(what)")
        }
        await pause(pace)
    }
}

/// What servers need to agree takes a second or three; on a machine that is busy with other tests, many times that.
package let longestSettling = Duration.seconds(60)
