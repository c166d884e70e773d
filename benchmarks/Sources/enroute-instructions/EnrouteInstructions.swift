// The cost of the gateway in instructions: a count that hardly varies, whereas CPU time varies by 12 % on the same
// machine. The release gateway runs under callgrind with real WSS sockets and a real Redis.
//
// It counts instructions in user space. It counts neither the kernel (`send` itself is more than half of the CPU time
// of a delivered message) nor the duration of an instruction.

import ArgumentParser
import Foundation

@main
struct EnrouteInstructions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroute-instructions",
        abstract: "Counts the instructions of the gateway and of Redis.",
        discussion: """
            Needs valgrind, redis-server, redis-cli, openssl, strip and clang. All figures take about two minutes; their \
            gateways run at the same time.

            Examples:
              enroute-instructions                       all figures
              enroute-instructions --only location_every_second --profile FILE
                                                         one, and where its instructions come from
              enroute-instructions --runs 3              how well they repeat
              enroute-instructions --check               fails when a figure is over its threshold
              enroute-instructions --write               makes these figures the thresholds
            """)

    @Option(help: "The gateway, a release build.") var enroute = "../.build/release/enroute"
    @Option(help: ArgumentHelp("Measure only the scene of this figure. Can be repeated.", valueName: "figure"))
    var only: [String] = []
    @Option(help: "Number of measurements, each with new gateways; the medians count.") var runs = 1
    @Option(help: "Number of followers for the slope.") var followers = 100
    @Option(help: "Number of repetitions in lockstep.") var repetitions = 300
    @Option(help: "Seconds for which a field scene is counted.") var seconds = 60
    @Option(help: "Maximum number of riders in a field scene.") var riders = 40
    @Option(help: "The file of thresholds.") var thresholds = "instructions.json"
    @Option(help: ArgumentHelp("Where to write the breakdown of every figure.", valueName: "file")) var profile: String?
    @Option(help: .hidden) var values: String?
    @Flag(help: "Compare with the thresholds.") var check = false
    @Flag(help: "Write the thresholds.") var write = false

    func validate() throws {
        guard (2...1000).contains(self.followers) else { throw ValidationError("--followers must be 2 to 1000.") }
        guard (50...10_000).contains(self.repetitions) else {
            throw ValidationError("--repetitions must be 50 to 10000.")
        }
        guard (1...20).contains(self.runs) else { throw ValidationError("--runs must be 1 to 20.") }
        guard (1...600).contains(self.seconds) else { throw ValidationError("--seconds must be 1 to 600.") }
        guard (1...100).contains(self.riders) else { throw ValidationError("--riders must be 1 to 100.") }
        for name in self.only where !Scenes.figures.contains(name) {
            throw ValidationError("--only \(name): the figures are \(Scenes.figures.joined(separator: ", ")).")
        }
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
        let parts = self.only.isEmpty ? Scenes.parts : Scenes.parts(yielding: self.only)
        let measured = parts.count == 1 ? try self.measure(parts[0]) : try Parts(parts, like: self).measure()
        if let profile = self.profile {
            try Data(measured.breakdown.utf8).write(to: URL(fileURLWithPath: profile))
        }
        if let values = self.values {
            try JSONEncoder().encode(measured).write(to: URL(fileURLWithPath: values))
        } else if self.check {
            let (lines, isGood) = try thresholds.compare(measured.values)
            lines.forEach { print($0) }
            if !isGood { throw ExitCode.failure }
        } else {
            for (name, value) in measured.values.sorted(by: { $0.key < $1.key }) {
                print("\(value.figure.rightAligned(12))  \(name)")
            }
            if self.runs > 1 { measured.spread.forEach { print($0) } }
            if self.write { try thresholds.update(measured.values) }
        }
    }

    /// Measures scenes that share a stage.
    private func measure(_ scenes: [any Scene]) throws -> Measured {
        let scale = Scale(
            followers: self.followers, repetitions: self.repetitions, window: .seconds(self.seconds),
            riders: self.riders)
        var runs: [Values] = []
        var breakdown = ""
        for run in 1...self.runs {
            let stage = try Stage(scenes[0].kind, gateway: self.enroute)
            defer { stage.end() }
            try stage.becomeReady()
            let figures = try Blocking.wait {
                var figures: [Figure] = []
                for scene in scenes { figures += try await scene.measure(on: stage, scale) }
                return figures
            }
            runs.append(Dictionary(uniqueKeysWithValues: figures.map { ($0.name, $0.value) }))
            if run == self.runs && self.profile != nil {
                breakdown = figures.map { Breakdown.report($0, in: stage.folder) }.joined(separator: "\n")
            }
        }
        return Measured(runs: runs, breakdown: breakdown)
    }
}

/// The measurements: all runs, and the breakdown of the last one.
struct Measured: Codable, Sendable {
    var runs: [Values]
    var breakdown: String

    var values: Values { Summary.medians(self.runs) }
    /// A line for each figure: how far its measurements are apart.
    var spread: [String] { Summary.spread(self.runs) }
}
