import TestSupport
import Testing

@Suite struct TurnsTests {
    @Test func `who has a turn is let on within it, and what it holds is free again afterwards`() async throws {
        let turns = Turns(2)
        // Each would wait for the second turn of the other, for ever.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await turns.take {
                        await Task.yield()
                        try await turns.take { await Task.yield() }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
