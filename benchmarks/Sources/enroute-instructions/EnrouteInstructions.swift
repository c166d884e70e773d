// The cost of a delivered message in instructions of the gateway: a count that hardly varies, whereas CPU time varies by 12 %
// on the same machine. The release gateway runs under callgrind with real WSS sockets and a real Redis; a rider sends locations
// through the hot path, to one follower and to a hundred.
//
// It counts the instructions of the gateway in user space. It does not count the kernel (`send` itself is more than half of the
// CPU time of a delivered message), Redis, and the duration of an instruction.

import ArgumentParser
import Foundation
import Synchronization

@main
struct EnrouteInstructions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroute-instructions",
        abstract: "Counts the instructions of a location and of a delivered message.",
        discussion: """
            Needs valgrind, redis-server, openssl, curl, strip and clang. One run takes about half a minute.

            Examples:
              enroute-instructions                       the counts, and where they come from
              enroute-instructions --runs 3              how well they repeat
              enroute-instructions --check               fails when a count is over its threshold
              enroute-instructions --write               makes these counts the thresholds
            """)

    @Option(help: "The gateway, a release build.") var enroute = "../.build/release/enroute"
    @Option(help: "Number of followers for the slope.") var followers = 100
    @Option(help: "Number of locations for the slope.") var locations = 300
    @Option(help: "Number of measurements, each with a new gateway; the median counts.") var runs = 1
    @Option(help: "The file of thresholds.") var thresholds = "instructions.json"
    @Option(help: ArgumentHelp("Where to write the complete breakdown.", valueName: "file")) var profile: String?
    @Flag(help: "Only compare with the thresholds.") var check = false
    @Flag(help: "Write the thresholds.") var write = false

    func validate() throws {
        guard (2...1000).contains(self.followers) else { throw ValidationError("--followers must be 2 to 1000.") }
        guard (50...10_000).contains(self.locations) else { throw ValidationError("--locations must be 50 to 10000.") }
        guard (1...20).contains(self.runs) else { throw ValidationError("--runs must be 1 to 20.") }
    }

    func run() throws {
        let interruption = Stage.tidyWhenInterrupted()
        defer { interruption.cancel() }
        do {
            try self.measure()
        } catch let failure as BenchFailure {
            FileHandle.standardError.write(Data("\(failure)\n".utf8))
            throw ExitCode.failure
        }
    }

    private func measure() throws {
        let thresholds = Thresholds(path: self.thresholds)
        if self.check { _ = try thresholds.read() }
        var measurements: [Measurement] = []
        var names: [Function: String] = [:]
        for run in 1...self.runs {
            let stage = try Stage(gateway: self.enroute)
            defer { stage.end() }
            try stage.createJob()
            let rider = try stage.token("rider", Stage.rider)
            let customer = try stage.token("customer", Stage.customer)
            let (followers, locations) = (self.followers, self.locations)
            let measurement = try Self.wait {
                try await Measurement.make(on: stage, rider, customer, followers: followers, locations: locations)
            }
            measurements.append(measurement)
            if run == self.runs && !self.check { names = Breakdown.names(of: measurement.relayed, in: stage.folder) }
            if self.runs > 1 { print("run \(run): \(Self.line(measurement.figures))") }
        }
        let figures = Self.medians(measurements.map(\.figures))
        if self.runs > 1 { print("spread: \(Self.spread(measurements.map(\.figures)))") }
        if self.write {
            try thresholds.write(figures)
            print("\(self.thresholds): \(Self.line(figures))")
        } else if self.check {
            let (lines, isGood) = try thresholds.compare(figures)
            lines.forEach { print($0) }
            if !isGood { throw ExitCode.failure }
        } else if let last = measurements.last {
            try self.report(last, figures, names)
        }
    }

    private func report(_ last: Measurement, _ figures: [String: Double], _ names: [Function: String]) throws {
        func section(_ title: String, _ profile: Profile, _ count: Int) -> [String] {
            let breakdown = Breakdown(profile, names)
            return ["", "\(title): \(profile.total.grouped)", "", "  by kind of code"] + breakdown.kinds()
                + ["", "  by step, including callees"] + breakdown.steps().map { "  " + $0 }
                + ["", "  by function"] + breakdown.top(count)
        }
        let delivered = "one delivered message (one additional follower, of \(last.followers))"
        let taken = "one location with one follower"
        print("instructions in user space: \(Self.line(figures))")
        print("one idle second with \(last.followers) followers: \(last.idleSecond.total.grouped)")
        (section(delivered, last.delivered, 25) + section(taken, last.taken, 25)).forEach { print($0) }
        guard let path = self.profile else { return }
        var lines = section(delivered, last.delivered, 100) + ["", "  by function, including callees"]
        lines += Breakdown(last.delivered, names).top(100, inclusive: true) + section(taken, last.taken, 150)
        lines += ["", "  by function, including callees"] + Breakdown(last.taken, names).top(200, inclusive: true)
        let idle = Breakdown(last.idleSecond, names)
        lines += section("one idle second with \(last.followers) followers", last.idleSecond, 50)
        lines += ["", "  by function, including callees"] + idle.top(100, inclusive: true)
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
    }

    private static func line(_ figures: [String: Double]) -> String {
        figures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.grouped)" }.joined(separator: ", ")
    }

    private static func medians(_ runs: [[String: Double]]) -> [String: Double] {
        runs.reduce(into: [String: [Double]]()) { all, figures in
            for (name, count) in figures { all[name, default: []].append(count) }
        }.mapValues { $0.sorted()[$0.count / 2] }
    }

    /// The difference between minimum and maximum, relative to the minimum.
    private static func spread(_ runs: [[String: Double]]) -> String {
        let names = runs.first?.keys.sorted() ?? []
        return names.map { name in
            let counts = runs.compactMap { $0[name] }
            return "\(name) \(((counts.max() ?? 0) / (counts.min() ?? 1) - 1).percent)"
        }.joined(separator: ", ")
    }

    /// Blocks the main thread, which must not end before the programs that it started.
    private static func wait<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
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
