// The demo's servers: two redis-servers and two gateways. Each is a process that is restarted after it was killed. The
// live Redis writes nothing to disk. When the demo ends, it removes the ledger's folder.

import Embedded
import Foundation
import Subprocess
import Synchronization

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A process that is restarted each time it was killed. Thread-safe.
final class DemoProcess: Sendable {
    private struct State {
        var ends = 0
        /// Kills the running process.
        var kill: AsyncStream<Void>.Continuation?
        /// Whether it was ever ready. If so, a failed start is retried.
        var wasReady = false
        /// Number of consecutive failed starts.
        var failures = 0
    }

    /// Maximum number of consecutive failed starts of a process that was ready before.
    static let maxFailures = 10
    /// The pause after a failed start.
    private static let failurePause = Duration.seconds(1)

    private let state = Mutex(State())

    /// The number of times it was killed.
    var ends: Int { self.state.withLock { $0.ends } }

    /// Kills it with SIGKILL.
    func end() { _ = self.state.withLock { $0.kill }?.yield() }

    /// Starts and restarts it until the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: between a kill and the next start.
    ///   - start: runs the process until the closure it receives returns, then kills it. If the process was never
    ///     ready, or after `maxFailures` failed starts, an error is rethrown. Otherwise it is printed and the process
    ///     is restarted.
    func run(
        pause: Duration, _ start: @Sendable (_ untilEnd: @escaping @Sendable () async -> Void) async throws -> Void
    ) async throws {
        while !Task.isCancelled {
            // A new stream for each start: when the process exits unexpectedly, its waiter is cancelled, which ends the
            // stream.
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
                say("enroute demo: \(error) Restarting it.")
                try await Task.sleep(for: max(pause, Self.failurePause))
            }
        }
    }

    /// Counts a failed start and returns whether to retry.
    private func mayFail() -> Bool {
        self.state.withLock { state in
            state.failures += 1
            return state.wasReady && state.failures <= Self.maxFailures
        }
    }
}

/// A gateway of the demo, in a process of its own.
struct DemoGateway: Sendable {
    /// Arguments of `enroute demo-gateway` that all gateways share.
    let arguments: [String]
    let secret: String

    static let secretVariable = "ENROUTE_TOKEN_SECRET"

    /// - Parameters:
    ///   - name: the name of this gateway.
    ///   - onListening: called with the port.
    ///   - untilEnd: the process is killed when this returns.
    func run(
        named name: String, onListening: (Int) async -> Void, untilEnd: @escaping @Sendable () async -> Void
    ) async throws {
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let variables = Environment.inherit.updating([
            Environment.Key(rawValue: Self.secretVariable)!: self.secret
        ])
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(2))]
        platform.processGroupID = 0
        // setpriv makes the kernel kill the gateway when this process exits, even after SIGKILL.
        _ = try await Subprocess.run(
            .name("setpriv"),
            arguments: Arguments(["--pdeathsig", "KILL", binary, "demo-gateway", "--name", name] + self.arguments),
            environment: variables, platformOptions: platform, input: .none, output: .sequence,
            error: .discarded
        ) { execution in
            let (ports, port) = AsyncStream.makeStream(of: Int.self)
            let output = execution.standardOutput.strings()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Runs before the group waits for the output to end.
                defer { try? execution.send(signal: .kill) }
                // The gateway prints only its port.
                group.addTask {
                    defer { port.finish() }
                    for try await line in output {
                        if let number = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) { port.yield(number) }
                    }
                }
                guard let number = await ports.first(where: { _ in true }) else {
                    throw Unavailable(description: "A gateway of the demo exited before it listened.")
                }
                await onListening(number)
                group.addTask { await untilEnd() }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}
