// Many seeds, on all cores: on threads of their own that stand back behind every other, because the tests that run at the
// same time await things of the real world. ENROUTE_SEEDS and ENROUTE_FIRST_SEED make it another number, or others.

import Foundation
import Synchronization

struct SeedRange {
    var first: UInt64
    var count: UInt64

    /// Seeds that a thread takes at a time.
    private static let chunk: UInt64 = 500

    static var ofThisRun: SeedRange {
        let environment = ProcessInfo.processInfo.environment
        return SeedRange(
            first: environment["ENROUTE_FIRST_SEED"].flatMap(UInt64.init) ?? 1_000_000,
            count: environment["ENROUTE_SEEDS"].flatMap(UInt64.init) ?? 200_000)
    }

    /// What the threads share.
    private final class Run: Sendable {
        struct State {
            var next: UInt64
            var threads: Int
            var failures: [UInt64] = []
        }

        let state: Mutex<State>

        init(from next: UInt64, threads: Int) { self.state = Mutex(State(next: next, threads: threads)) }
    }

    /// - Returns: the seeds that fail, in order.
    func failures() async -> [UInt64] {
        let threads = ProcessInfo.processInfo.activeProcessorCount
        let run = Run(from: self.first, threads: threads)
        let end = self.first + self.count
        return await withCheckedContinuation { continuation in
            for _ in 0..<threads {
                let thread = Thread {
                    Self.work(on: run, until: end)
                    let isLast = run.state.withLock { state in
                        state.threads -= 1
                        return state.threads == 0
                    }
                    if isLast { continuation.resume(returning: run.state.withLock { $0.failures.sorted() }) }
                }
                thread.stackSize = 8 << 20
                thread.start()
            }
        }
    }

    private static func work(on run: Run, until end: UInt64) {
        #if os(Linux)
            // Of this thread alone; elsewhere it would be the process.
            _ = nice(19)
        #endif
        while true {
            let start = run.state.withLock { state in
                defer { state.next += Self.chunk }
                return state.next
            }
            guard start < end else { return }
            let failed = (start..<min(start + Self.chunk, end)).filter { World(seed: $0).run().violation != nil }
            if !failed.isEmpty { run.state.withLock { $0.failures += failed } }
        }
    }
}
