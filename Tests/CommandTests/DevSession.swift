import Foundation
import Subprocess
import TestSupport
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A running `enroute dev`, in a folder of its own.
struct DevSession {
    /// The folder it was started in; the command lines of its processes contain it.
    let folder: String
    /// Its output until it was ready.
    let lines: [String]

    var url: String { self.value("URL") }

    /// The value of a variable that it printed.
    func value(_ name: String) -> String {
        let text = self.lines.joined(separator: "\n").replacing("\\\n", with: "")
        return text.firstMatch(of: try! Regex<(Substring, Substring)>("export \(name)=\"([^\"]*)\"")).map {
            String($0.output.1)
        } ?? ""
    }

    /// Runs it for as long as `body` takes, then stops it with a signal.
    ///
    /// - Returns: its whole output, and the processes that it left behind.
    static func run(
        _ words: [String] = [], ending signal: Signal = .interrupt, _ body: (DevSession) async throws -> Void = { _ in }
    ) async throws -> (lines: [String], left: [String]) {
        try await Turns.servers.take {
            // Short, because the path of a unix socket has at most 103 bytes.
            let folder = FileManager.default.temporaryDirectory.appending(path: "dev \(UUID().uuidString.prefix(8))")
                .path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var platform = PlatformOptions()
            platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
            var lines: [String] = []
            var hasStarted = false
            _ = try await Subprocess.run(
                .path(.init(CommandTests.binary)), arguments: Arguments(["dev", "--port", "0"] + words),
                environment: .inherit.updating(["TMPDIR": folder]), workingDirectory: FilePath(folder),
                platformOptions: platform, input: .none, output: .sequence, error: .combinedWithOutput
            ) { execution in
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    // Its last line, or the only one.
                    guard !hasStarted, line.hasPrefix("#   enroute job show") || line.hasPrefix("{") else { continue }
                    hasStarted = true
                    try await body(DevSession(folder: folder, lines: lines))
                    try execution.send(signal: signal)
                }
            }
            #expect(hasStarted, "it did not start: \(lines)")
            var left: [String] = []
            _ = try await eventually {
                left = try DemoTests.processes(naming: folder)
                return left.isEmpty
            }
            return (lines, left)
        }
    }

    /// Runs `enroute` in the folder.
    func enroute(_ words: [String], environment: [String: String] = [:]) async throws -> CommandTests.Outcome {
        try await CommandTests.run(
            ["-c", "cd \"$0\" && shift 0 && exec \"$@\"", self.folder, CommandTests.binary] + words,
            environment: environment, binary: "/bin/bash")
    }

    /// Runs a shell script in the folder until a line of its output contains a text, or until it ends.
    ///
    /// - Returns: the output up to that line.
    func shell(_ script: String, until text: String? = nil) async throws -> String {
        var platform = PlatformOptions()
        platform.processGroupID = 0
        return try await Subprocess.run(
            .name("bash"), arguments: ["-c", script], workingDirectory: FilePath(self.folder),
            platformOptions: platform,
            input: .none, output: .sequence, error: .combinedWithOutput
        ) { execution in
            var output = ""
            for try await line in execution.standardOutput.strings() {
                output += line + "\n"
                if let text, line.contains(text) { break }
            }
            // Commands that follow a job do not end by themselves.
            try? execution.send(signal: .kill, toProcessGroup: true)
            return output
        }.closureResult
    }
}
