// Time limits for asynchronous operations.

import Resilience
import Testing

@Suite struct AnswerInTimeTests {
    private struct Broken: Error {}

    private static let long = Duration.seconds(600)

    /// Ends only when it is cancelled.
    private static func hang() async throws {
        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}
        withExtendedLifetime(continuation) {}
        try Task.checkCancellation()
    }

    @Test func `a result or an error in time is passed on`() async throws {
        let told = try await withTimeout(Self.long) { 7 }
        #expect(told == 7)
        await #expect(throws: Broken.self) {
            _ = try await withTimeout(Self.long) { throw Broken() } as Int?
        }
    }

    @Test func `an operation that exceeds the time limit is cancelled`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let told: Int? = try await withTimeout(.milliseconds(1)) {
            try? await Self.hang()
            end.yield(Task.isCancelled)
            throw Broken()
        }
        #expect(told == nil)
        var isEnded = ends.makeAsyncIterator()
        let wasCancelled = await isEnded.next()
        #expect(wasCancelled == true)
    }

    @Test func `a cancelled caller stops waiting`() async throws {
        let waiting = Task { () -> Bool in
            do {
                _ = try await withTimeout(Self.long) { try await Self.hang() }
                return false
            } catch { return error is CancellationError }
        }
        waiting.cancel()
        let wasCancelled = await waiting.value
        #expect(wasCancelled)
    }
}
