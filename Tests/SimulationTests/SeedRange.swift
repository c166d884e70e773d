// Many seeds, on all cores, in low-priority threads, because the tests that run at the same time wait for real I/O.
// ENROUTE_SEEDS and ENROUTE_FIRST_SEED set their number and the first one.

import Foundation
import Synchronization

struct SeedRange {
    var first: UInt64
    var count: UInt64

    /// Number of seeds that a thread claims at a time.
    private static let chunk: UInt64 = 500

    static var ofThisRun: SeedRange {
        let environment = ProcessInfo.processInfo.environment
        return SeedRange(
            first: environment["ENROUTE_FIRST_SEED"].flatMap(UInt64.init) ?? 1_000_000,
            count: environment["ENROUTE_SEEDS"].flatMap(UInt64.init) ?? 50_000)
    }

    /// State shared by the threads.
    private final class Run: Sendable {
        struct State {
            var next: UInt64
            var threads: Int
            var failures: [UInt64] = []
        }

        let state: Mutex<State>

        init(from next: UInt64, threads: Int) { self.state = Mutex(State(next: next, threads: threads)) }
    }

    /// - Returns: the failing seeds, in order.
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
            // Applies to this thread on Linux; elsewhere it would apply to the process.
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
