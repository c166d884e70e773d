// An answer, or the end of the time for it: for questions to others over a network, whose own time-outs do not cover all of
// an answer (HTTPClient's ends with its head). What is not waited for any more is cancelled, and nothing of it goes on.

/// Asks, and waits no longer than so.
///
/// - Parameter question: is cancelled when the time is over, and should end then.
/// - Returns: `nil` when there is no answer in time.
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
