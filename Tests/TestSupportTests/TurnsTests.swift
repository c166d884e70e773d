import TestSupport
import Testing

@Suite struct TurnsTests {
    @Test func `a task with a turn gets further ones, and releases them afterwards`() async throws {
        let turns = Turns(2, for: .shared)
        // Each would wait forever for the second turn of the other.
        let ended = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await turns.take {
                        await Task.yield()
                        return try await turns.take { 1 }
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(ended == 20)
    }
}
