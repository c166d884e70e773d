// A time limit for requests over a network, for clients whose own timeout does not cover the whole response (HTTPClient's ends
// with the head). A request that exceeds the limit is cancelled.

/// Awaits a result for a limited time.
///
/// - Parameter question: cancelled when the time is over, and expected to end then.
/// - Returns: `nil` when there is no result in time.
/// - Throws: what `question` throws in time; `CancellationError` when the task is cancelled.
package func answer<Answer: Sendable>(
    within longestWait: Duration, to question: @escaping @Sendable () async throws -> Answer
) async throws -> Answer? {
    try await withThrowingTaskGroup(of: Answer?.self) { group in
        group.addTask { try await question() }
        group.addTask {
            try await Task.sleep(for: longestWait)
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
