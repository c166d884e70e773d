// A child process: on one core, with its output in a file, and killed when the runner ends for any reason.

import Foundation
import Glibc
import LoadEngine

final class Child {
    let name: String
    let pid: pid_t
    private let log: String
    private var isOver = false

    /// The signal that the kernel sends it when the runner ends.
    enum LastWord: String {
        case kill = "KILL"
        /// For those with workers, which they stop themselves.
        case terminate = "TERM"
    }

    /// - Parameter core: the only one it may use.
    init(
        _ name: String, _ command: [String], environment: [String: String] = [:], core: Int, folder: String,
        lastWord: LastWord = .kill
    ) throws {
        self.name = name
        self.log = "\(folder)/\(name).log"
        let line = ["setpriv", "--pdeathsig", lastWord.rawValue, "taskset", "-c", String(core)] + command
        var variables = ProcessInfo.processInfo.environment
        variables.merge(environment) { $1 }
        self.pid = try Self.spawn(line, variables.map { "\($0)=\($1)" }, output: self.log)
    }

    deinit { self.stop() }

    private static func spawn(_ line: [String], _ variables: [String], output: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The runner ignores SIGPIPE; its children must not.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var arguments = line.map { strdup($0) } + [nil]
        var environment = variables.map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var pid = pid_t()
        let result = posix_spawnp(&pid, line[0], &actions, &attributes, &arguments, &environment)
        guard result == 0 else { throw LoadError("\(line[0]): \(String(cString: strerror(result)))") }
        return pid
    }

    var output: String { (try? String(contentsOfFile: self.log, encoding: .utf8)) ?? "" }

    /// Waits until it accepts connections on the port and, if required, has printed a text.
    func waitUntilReady(port: UInt16, word: String? = nil, seconds: Double = 20) throws {
        let deadline = Clock.now + UInt64(seconds * 1e9)
        while Clock.now < deadline {
            var status: Int32 = 0
            if waitpid(self.pid, &status, WNOHANG) == self.pid {
                self.isOver = true
                throw LoadError("\(self.name) exited immediately: \(self.output.suffix(600))")
            }
            let hasSaid = word.map { self.output.contains($0) } ?? true
            if hasSaid, Ports.isListening(port) { return }
            usleep(50_000)
        }
        throw LoadError("\(self.name) was not ready within \(Int(seconds)) s: \(self.output.suffix(600))")
    }

    /// Sends SIGTERM, and SIGKILL after three seconds.
    func stop() {
        guard !self.isOver else { return }
        self.isOver = true
        var status: Int32 = 0
        kill(self.pid, SIGTERM)
        for _ in 0..<60 {
            if waitpid(self.pid, &status, WNOHANG) == self.pid { return }
            usleep(50_000)
        }
        kill(self.pid, SIGKILL)
        waitpid(self.pid, &status, 0)
    }

    /// Runs a command to completion.
    ///
    /// - Returns: its output, and whether it succeeded.
    static func run(_ command: [String], folder: String? = nil) -> (output: String, succeeded: Bool) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return ("", false) }
        let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (
            String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines),
            process.terminationStatus == 0
        )
    }
}

enum Ports {
    /// A free port whose successor is free as well: peers that accept messages themselves use both.
    static func freePair() throws -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: 20_000..<32_000)
            if !Self.isListening(port), !Self.isListening(port + 1) { return port }
        }
        throw LoadError("no two free ports in a row")
    }

    static func isListening(_ port: UInt16) -> Bool {
        // Some peers log a connection as an error, so the kernel's table is used instead.
        let mark = String(format: ":%04X 00000000:0000 0A", Int(port))
        let six = String(format: ":%04X 00000000000000000000000000000000:0000 0A", Int(port))
        return Proc.text("/proc/net/tcp")?.contains(mark) == true || Proc.text("/proc/net/tcp6")?.contains(six) == true
    }
}
