// Stops a command in an orderly way on a signal: it stops its servers and removes its files.

import UnixSignals

/// Runs `body` until it throws, or until SIGTERM or SIGINT. Then `body` is cancelled, and this function returns when it
/// has ended.
func untilSignal(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask { for await _ in signals { return } }
        defer { group.cancelAll() }
        try await group.next()
    }
}
