// enroute size: estimates the cores, memory and Redis masters for a fleet.

import ArgumentParser
import Foundation

struct SizeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "size",
        abstract: "Estimates the cores, memory and Redis masters for a fleet.",
        discussion: wrappable(
            """
            Describe the busiest hour: how many riders report, how often, and how many followers each job has. The estimate
            adds up measured costs, and is printed with its assumptions and its error. It needs no configuration and no
            Redis. Exit codes: 0 estimated, 64 invalid command line.

            Examples:
              enroute size --riders 10000 --interval 5 --followers 1
              enroute size --riders 500 --jobs-per-rider 4 --followers 2 \\
                --utilisation 40 --json
            """))

    @Option(help: "Riders who report at the same time, 1 to 10000000.")
    var riders: Int

    @Option(help: "Seconds between two reports of a rider, 0.5 to 3600.")
    var interval = 5.0

    @Option(help: "Followers of each job, customers and operations staff: 0 to 10000000.")
    var followers = 1

    @Option(help: "Jobs of a rider at the same time, 1 to 10; a report is a location for each.")
    var jobsPerRider = 1

    @Option(help: "Share of a core, 1 to 100 %, above which it counts as full.")
    var utilisation = 50.0

    @Flag(help: "Print JSON.")
    var json = false

    /// More than any installation has. With it, no result exceeds the range of its type.
    private static let mostPeople = 10_000_000
    private static let intervals = 0.5...3600
    private static let jobsOfReport = 1...10

    func validate() throws {
        guard (1...Self.mostPeople).contains(self.riders) else {
            throw ValidationError("--riders must be 1 to \(Self.mostPeople).")
        }
        guard Self.intervals.contains(self.interval) else {
            throw ValidationError("--interval must be 0.5 to 3600 seconds.")
        }
        guard (0...Self.mostPeople).contains(self.followers) else {
            throw ValidationError("--followers must be 0 to \(Self.mostPeople).")
        }
        guard Self.jobsOfReport.contains(self.jobsPerRider) else {
            throw ValidationError("--jobs-per-rider must be 1 to 10, the jobs that a report may name.")
        }
        guard (1...100).contains(self.utilisation) else {
            throw ValidationError("--utilisation must be 1 to 100 %.")
        }
    }

    func run() async throws {
        try await exitingCleanly {
            let plan = SizingPlan(
                SizingDemand(
                    riders: self.riders, jobsPerRider: self.jobsPerRider, interval: self.interval,
                    followersPerJob: self.followers),
                utilisationPercent: self.utilisation)
            say(self.json ? try Self.json(plan) : plan.text)
        }
    }

    private static func json(_ plan: SizingPlan) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(plan), as: UTF8.self)
    }
}
