// The options of enroute-load that describe a fleet at work.

import ArgumentParser
import LoadEngine

extension FieldScene.Kind: ExpressibleByArgument {}

struct SceneOptions: ParsableArguments {
    @Option(
        help: """
            field: riders are online in zones and report for jobs with destinations, which are followed. road: the same without \
            zones and destinations.
            """)
    var scene: FieldScene.Kind?
    @Option(help: "Number of riders, each with a connection of its own.")
    var riders = 1000
    @Option(help: "Jobs of a rider; each report names all of them.")
    var jobsPerRider = 1
    @Option(help: "Followers of a job, each with a connection of its own.")
    var followersPerJob = 1
    @Option(help: "Seconds between two reports of a rider.")
    var interval = 5.0

    /// Jobs of one report, by the protocol.
    private static let mostJobs = 10

    func validate() throws {
        guard self.riders > 0, self.followersPerJob >= 0, self.interval > 0 else {
            throw ValidationError("--riders and --interval must be more than 0, --followers-per-job at least 0.")
        }
        guard (1...Self.mostJobs).contains(self.jobsPerRider) else {
            throw ValidationError("--jobs-per-rider must be 1 to \(Self.mostJobs), the jobs that a report may name.")
        }
        guard Double(self.jobsPerRider) / self.interval <= 2 else {
            throw ValidationError(
                "--jobs-per-rider divided by --interval must be at most 2, the positions of a rider a second.")
        }
    }

    func value(warmup: Double, seconds: Double) -> FieldScene? {
        self.scene.map {
            FieldScene(
                kind: $0, riders: self.riders, jobsPerRider: self.jobsPerRider, followersPerJob: self.followersPerJob,
                interval: self.interval, warmup: warmup, seconds: seconds)
        }
    }
}
