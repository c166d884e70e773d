// Other programs: those that run to completion (openssl, strip, callgrind_control), and those that run as long as this
// process (redis-server, the gateway under callgrind).
//
// The latter are started with `setpriv --pdeathsig KILL`, so that the kernel kills them however this process ends. It does so
// when the thread that started them ends, so that must be the main thread, which waits in `EnrouteInstructions.run`.

import Foundation
import Synchronization

/// Why a measurement is impossible, for the user.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

enum Program {
    /// Runs to completion and returns the standard output.
    ///
    /// - Parameters:
    ///   - words: program and arguments; the program is searched in PATH.
    ///   - seconds: time limit after which it is killed, and this throws.
    ///   - folder: for its output in the meantime.
    @discardableResult
    static func run(
        _ words: [String], in folder: String, environment: [String: String] = [:], input: String? = nil,
        seconds: Double = 60
    ) throws -> String {
        let name = words[0].split(separator: "/").last.map(String.init) ?? words[0]
        let base = "\(folder)/\(name)-\(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)"
        defer { for suffix in [".in", ".out", ".err"] { try? FileManager.default.removeItem(atPath: base + suffix) } }
        let process = try self.process(words, environment: environment)
        if let input {
            try Data(input.utf8).write(to: URL(fileURLWithPath: base + ".in"))
            process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: base + ".in"))
        }
        process.standardOutput = try Self.file(base + ".out")
        process.standardError = try Self.file(base + ".err")
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        try self.start(process, name)
        guard ended.wait(timeout: .now() + seconds) == .success else {
            kill(process.processIdentifier, SIGKILL)
            throw BenchFailure("\(name) did not exit within \(Int(seconds)) s.")
        }
        guard process.terminationStatus == 0 else {
            let words = try? String(contentsOfFile: base + ".err", encoding: .utf8)
            throw BenchFailure("\(name) failed (\(process.terminationStatus)): \(words?.suffix(600) ?? "")")
        }
        return try String(contentsOfFile: base + ".out", encoding: .utf8)
    }

    /// Starts a program that is killed with this process; its output goes to `log`. Call it on the main thread.
    static func keep(_ words: [String], log: String, environment: [String: String]) throws -> KeptProgram {
        precondition(Thread.isMainThread, "see the top of this file")
        let process = try self.process(["setpriv", "--pdeathsig", "KILL"] + words, environment: environment)
        process.standardOutput = try Self.file(log)
        process.standardError = process.standardOutput
        try self.start(process, words[0])
        return KeptProgram(name: words[0], process: process, log: log)
    }

    /// Counts runs, so that their files have different names.
    private static let count = Atomic<Int>(0)

    private static func process(_ words: [String], environment: [String: String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        // Gateway settings in our own environment are not meant for this one.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("ENROUTE_") }
            .merging(environment) { $1 }
        return process
    }

    private static func start(_ process: Process, _ name: String) throws {
        do { try process.run() } catch { throw BenchFailure("\(name) could not be started: \(error)") }
    }

    private static func file(_ path: String) throws -> FileHandle {
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw BenchFailure("\(path) cannot be written.")
        }
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }
}

/// Runs code that blocks its thread, without blocking the few threads of Swift's tasks.
enum Blocking {
    static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }

    /// Blocks the main thread, which must not end before the programs that it started.
    static func wait<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
        let done = DispatchSemaphore(value: 0)
        let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
        Task {
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        guard let result = outcome.withLock({ $0 }) else { throw BenchFailure("the measurement has no result") }
        return try result.get()
    }
}

/// A program that runs as long as this process.
struct KeptProgram: Sendable {
    let name: String
    fileprivate let process: Process
    fileprivate let log: String

    var processID: Int32 { self.process.processIdentifier }

    /// - Throws: its last output if it has exited.
    func requireRunning() throws {
        guard !self.process.isRunning else { return }
        let words = (try? String(contentsOfFile: self.log, encoding: .utf8)) ?? ""
        throw BenchFailure("\(self.name) has exited: \(words.suffix(1500))")
    }

    /// Waits until it has exited.
    ///
    /// - Returns: its output.
    /// - Throws: after the time limit, or unless it succeeded.
    func output(seconds: Double) throws -> String {
        let deadline = Date().addingTimeInterval(seconds)
        while self.process.isRunning {
            guard Date() < deadline else { throw BenchFailure("\(self.name) did not exit within \(Int(seconds)) s.") }
            Thread.sleep(forTimeInterval: 0.1)
        }
        let output = (try? String(contentsOfFile: self.log, encoding: .utf8)) ?? ""
        guard self.process.terminationStatus == 0 else { throw BenchFailure(String(output.suffix(1500))) }
        return output
    }

    func end() {
        guard self.process.isRunning else { return }
        kill(self.processID, SIGKILL)
        self.process.waitUntilExit()
    }
}
