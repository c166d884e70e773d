// A time limit for network requests, for clients whose own timeout does not cover the whole response: HTTPClient's
// covers only the head. A request that exceeds the limit is cancelled.

/// Awaits a result for a limited time.
///
/// - Parameter operation: cancelled when the time is over. It should then end soon.
/// - Returns: `nil` when there is no result in time.
/// - Throws: what `operation` throws in time; `CancellationError` when the task is cancelled.
package func withTimeout<Result: Sendable>(
    _ timeout: Duration, _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            try await Task.sleep(for: timeout)
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
