import Foundation
import Subprocess
import Testing

/// `Tests/second-look`, which repeats a failed command in CI.
@Suite struct SecondLookTests {
    /// - Returns: the exit status, and how often the command ran. It succeeds from its run number `success` on.
    private static func outcome(inCI: Bool, success: Int) async throws -> (status: TerminationStatus, runs: Int) {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-second-look-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        let command = #"echo >> "$0"; [ $(wc -l < "$0") -ge "$1" ] || exit 3"#
        let outcome = try await Subprocess.run(
            .name("bash"),
            arguments: [
                Project.root.appending(path: "Tests/second-look").path, "bash", "-c", command, file.path, "\(success)",
            ],
            environment: .custom(["PATH": "/usr/bin:/bin", "CI": inCI ? "1" : ""]), output: .string(limit: 1 << 16))
        return (outcome.terminationStatus, try Data(contentsOf: file).count)
    }

    @Test func `a command that fails in CI runs once more, and its second result counts`() async throws {
        for (success, status, runs) in [(1, 0, 1), (2, 0, 2), (3, 3, 2)] {
            let outcome = try await Self.outcome(inCI: true, success: success)
            #expect(outcome.status == .exited(TerminationStatus.Code(status)) && outcome.runs == runs, "\(success)")
        }
    }

    @Test func `a command that fails elsewhere does not run again`() async throws {
        let outcome = try await Self.outcome(inCI: false, success: 2)
        #expect(outcome.status == .exited(3) && outcome.runs == 1)
    }
}
