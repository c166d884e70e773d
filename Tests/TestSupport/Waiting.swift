// Waiting for what has no signal, and asking why something failed.

package import NIOCore
package import Redis

/// Asks again and again until the answer is yes.
///
/// - Returns: whether it became yes within the bound.
package func eventually(
    within bound: Duration = .seconds(10), _ isSo: () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + bound
    while try await !isSo() {
        guard ContinuousClock.now < end else { return false }
        await Task.yield()
    }
    return true
}

/// Why a command failed; `nil` when it did not, or not with an error of Redis.
package func failure<Value: Sendable>(of future: EventLoopFuture<Value>) async -> RedisError? {
    do {
        _ = try await future.get()
        return nil
    } catch {
        return error as? RedisError
    }
}
