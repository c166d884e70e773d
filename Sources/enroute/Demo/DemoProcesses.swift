// The servers of the demonstration, each a process that can be killed and is then started again: two redis-servers (what is
// live on no disk, the ledger in a folder that goes with us) and two gateways.

import Embedded
import Foundation
import Subprocess
import Synchronization

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A process that is started again whenever it was ended. May be used from any thread.
final class DemoProcess: Sendable {
    private struct State {
        var ends = 0
        /// Of the process that runs.
        var kill: AsyncStream<Void>.Continuation?
        /// It was ready once, so that another start is worth a try.
        var wasReady = false
        /// Starts that failed, one after the other.
        var failures = 0
    }

    /// Starts that may fail one after the other, once it was ready.
    static let mostFailures = 10
    /// After a start that failed.
    private static let failurePause = Duration.seconds(1)

    private let state = Mutex(State())

    /// How often it ended.
    var ends: Int { self.state.withLock { $0.ends } }

    /// Ends it by SIGKILL.
    func end() { _ = self.state.withLock { $0.kill }?.yield() }

    /// Starts it, and starts it again, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: between an end and the next start.
    ///   - start: runs it until the closure that it is given returns, then kills it. What it throws is thrown when the
    ///     process was never ready, or was not ready in any of many starts; otherwise it is said, and it is started again.
    func run(
        pause: Duration, _ start: @Sendable (_ untilEnd: @escaping @Sendable () async -> Void) async throws -> Void
    ) async throws {
        while !Task.isCancelled {
            // One for each start: whoever waits for it is cancelled where the process ends by itself, and that ends it.
            let (kills, kill) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            self.state.withLock { $0.kill = kill }
            do {
                try await start {
                    self.state.withLock { ($0.wasReady, $0.failures) = (true, 0) }
                    for await _ in kills { return }
                }
                self.state.withLock { $0.ends += 1 }
                try await Task.sleep(for: pause)
            } catch  where !Task.isCancelled && self.mayFail() {
                say("enroute demo: \(error) It is started again.")
                try await Task.sleep(for: max(pause, Self.failurePause))
            }
        }
    }

    /// Counts a start that failed, and says whether there may be another.
    private func mayFail() -> Bool {
        self.state.withLock { state in
            state.failures += 1
            return state.wasReady && state.failures <= Self.mostFailures
        }
    }
}

/// A gateway of the demonstration as a process of its own.
struct DemoGateway: Sendable {
    /// Arguments of `enroute demo-gateway`.
    let words: [String]
    let secret: String

    static let secretVariable = "ENROUTE_TOKEN_SECRET"

    /// - Parameters:
    ///   - onListening: told the port.
    ///   - untilEnd: when it returns, the process is killed.
    func run(onListening: (Int) async -> Void, untilEnd: @escaping @Sendable () async -> Void) async throws {
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let variables = Environment.inherit.updating([
            Environment.Key(rawValue: Self.secretVariable)!: self.secret
        ])
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(2))]
        platform.processGroupID = 0
        // setpriv has the kernel end the gateway when we are gone, even when we are killed.
        _ = try await Subprocess.run(
            .name("setpriv"), arguments: Arguments(["--pdeathsig", "KILL", binary, "demo-gateway"] + self.words),
            environment: variables, platformOptions: platform, input: .none, output: .sequence,
            error: .discarded
        ) { execution in
            let (ports, port) = AsyncStream.makeStream(of: Int.self)
            let output = execution.standardOutput.strings()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Before the group waits for the end of the output.
                defer { try? execution.send(signal: .kill) }
                // It says its port, then nothing until it ends.
                group.addTask {
                    defer { port.finish() }
                    for try await line in output {
                        if let said = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) { port.yield(said) }
                    }
                }
                guard let said = await ports.first(where: { _ in true }) else {
                    throw Unavailable(description: "A gateway of the demonstration ended before it listened.")
                }
                await onListening(said)
                group.addTask { await untilEnd() }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}
