import Embedded
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

@testable import enroute

/// A gateway that crashes exits immediately and reveals nothing.
@Suite struct CrashTests {
    @Test(arguments: [SIGSEGV, SIGILL, SIGTRAP])
    func `B51: a crash does not start Swift's backtracer, which would print registers and memory`(crash: Int32)
        async throws
    {
        try await withServer { redis in
            let environment: [Environment.Key: String] = [
                "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_TLS": "off",
                "ENROUTE_MODE": "development",
                "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_MANAGEMENT": "off",
                "ENROUTE_EVENT_LOOPS": "1",
            ]
            var platform = PlatformOptions()
            platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
            let outcome = try await Subprocess.run(
                .path(.init(CommandTests.binary)), arguments: ["serve", "--host", "127.0.0.1", "--port", "0"],
                environment: .custom(environment), platformOptions: platform, input: .none, output: .sequence,
                error: .combinedWithOutput
            ) { execution in
                var output = ""
                for try await line in execution.standardOutput.strings() {
                    if line.contains("enroute: listening") {
                        let limits = "/proc/\(execution.processIdentifier.value)/limits"
                        let text = try String(contentsOfFile: limits, encoding: .utf8)
                        #expect(text.contains(/Max core file size +0 +0\s/))
                        try execution.send(signal: Signal(rawValue: crash))
                    }
                    output += line + "\n"
                }
                return output
            }
            #expect(outcome.terminationStatus == .signaled(crash))
            // "*** Signal 11: Backtracing from 0x…", "Registers:", "rax 0x…".
            let output = outcome.closureResult
            for word in ["Backtrac", "Registers", "rax ", "Crash"] {
                #expect(!output.contains(word), "\(output.prefix(2000))")
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `the message of a crash does not wait for a reader of standard error`() async {
        await #expect(processExitsWith: .failure) {
            prepareForCrash()
            fillStandardError()
            fatalError("nobody reads this")
        }
    }

    @Test func `the message of a crash is on standard error`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            prepareForCrash()
            fatalError("the reason of the crash")
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("Fatal error: the reason of the crash"), "\(text)")
    }
}

/// Makes standard error a pipe that nobody reads and that accepts no more.
private func fillStandardError() {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0, dup2(ends[1], STDERR_FILENO) >= 0 else { exit(EXIT_SUCCESS) }
    let flags = fcntl(STDERR_FILENO, F_GETFL)
    _ = fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK)
    while write(STDERR_FILENO, "x", 1) == 1 {}
    _ = fcntl(STDERR_FILENO, F_SETFL, flags)
}
