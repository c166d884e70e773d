// Waiting for an answer no longer than so.

import Resilience
import Testing

@Suite struct AnswerInTimeTests {
    private struct Broken: Error {}

    private static let long = Duration.seconds(600)

    /// Ends when it is cancelled, and not before.
    private static func hang() async throws {
        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}
        withExtendedLifetime(continuation) {}
        try Task.checkCancellation()
    }

    @Test func `an answer in time is the answer, and a failure the failure`() async throws {
        let told = try await answer(within: Self.long) { 7 }
        #expect(told == 7)
        await #expect(throws: Broken.self) {
            _ = try await answer(within: Self.long) { throw Broken() } as Int?
        }
    }

    @Test func `a question that is not answered in time is given up, and ended`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let told: Int? = try await answer(within: .milliseconds(1)) {
            try? await Self.hang()
            end.yield(Task.isCancelled)
            throw Broken()
        }
        #expect(told == nil)
        var isEnded = ends.makeAsyncIterator()
        let wasCancelled = await isEnded.next()
        #expect(wasCancelled == true)
    }

    @Test func `whoever is cancelled waits no more`() async throws {
        let waiting = Task { () -> Bool in
            do {
                _ = try await answer(within: Self.long) { try await Self.hang() }
                return false
            } catch { return error is CancellationError }
        }
        waiting.cancel()
        let wasCancelled = await waiting.value
        #expect(wasCancelled)
    }
}
