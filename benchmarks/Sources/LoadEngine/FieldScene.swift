// A fleet at work: riders report their locations every few seconds, and each job has followers. Everything goes over sockets:
// a location enters through its rider's connection and leaves through those of the followers.

internal import Glibc

/// The size of a fleet, and the activities of its riders.
public struct FieldScene: Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        /// Riders are online in zones, their jobs have destinations: heartbeats, places and arrival times.
        case field
        /// Neither: what a location costs on its way from rider to follower.
        case road
    }
    public var kind: Kind
    public var riders: Int
    /// A report names all of them.
    public var jobsPerRider: Int
    public var followersPerJob: Int
    /// Seconds between two reports of a rider. Riders report one after the other, spread over the interval.
    public var interval: Double
    public var warmup: Double
    public var seconds: Double

    /// Maximum number of riders of one zone, about those of a large city.
    static let ridersPerZone = 1000
    /// Time limit for connecting everybody, in s.
    static let patience = 300.0

    public init(
        kind: Kind, riders: Int, jobsPerRider: Int, followersPerJob: Int, interval: Double, warmup: Double,
        seconds: Double
    ) {
        (self.kind, self.riders, self.jobsPerRider, self.followersPerJob) = (
            kind, riders, jobsPerRider, followersPerJob
        )
        (self.interval, self.warmup, self.seconds) = (interval, warmup, seconds)
    }

    public var jobs: Int { self.riders * self.jobsPerRider }
    public var followers: Int { self.jobs * self.followersPerJob }
    /// Of riders and followers.
    public var connections: Int { self.riders + self.followers }
    public var perSecond: Double { Double(self.riders) / self.interval }
}

/// A scene in a report.
public struct SceneFigures: Codable, Sendable {
    public var scene: String
    public var riders: Int
    public var jobsPerRider: Int
    public var followersPerJob: Int
    public var interval: Double
    /// A report for several jobs counts once.
    public var reportsPerSecond: Double

    init(_ scene: FieldScene) {
        (self.scene, self.riders, self.jobsPerRider) = (scene.kind.rawValue, scene.riders, scene.jobsPerRider)
        (self.followersPerJob, self.interval) = (scene.followersPerJob, scene.interval)
        self.reportsPerSecond = scene.perSecond
    }

    var lines: [String] {
        [
            "  scene          \(self.riders) riders, a report every \(decimals(self.interval, 1)) s for \(self.jobsPerRider) "
                + "job(s), \(self.followersPerJob) follower(s) each; latency from report to receipt"
        ]
    }
}

/// The people and jobs of a scene, with names that no other run uses.
struct Fleet {
    let scene: FieldScene
    private let run = String(UInt64(Clock.wallMicroseconds), radix: 36)

    init(_ scene: FieldScene) { self.scene = scene }

    func rider(_ index: Int) -> String { "rider-\(self.run)-\(index)" }
    func zone(ofRider index: Int) -> String { "zone-\(self.run)-\(index / FieldScene.ridersPerZone)" }
    func job(_ index: Int) -> String { "job-\(self.run)-\(index)" }
    private func customer(_ job: Int) -> String { "customer-\(self.run)-\(job)" }
    private func jobs(ofRider index: Int) -> Range<Int> {
        index * self.scene.jobsPerRider..<(index + 1) * self.scene.jobsPerRider
    }

    var newJobs: [NewJob] {
        (0..<self.scene.riders).flatMap { rider in
            self.jobs(ofRider: rider).map { job in
                NewJob(
                    id: self.job(job), customer: self.customer(job), rider: self.rider(rider),
                    zone: self.scene.kind == .field ? self.zone(ofRider: rider) : nil,
                    hasDestination: self.scene.kind == .field)
            }
        }
    }

    /// The report that each rider sends.
    var reports: [String] {
        (0..<self.scene.riders).map { CrowdPublisher.report(of: self.jobs(ofRider: $0).map(self.job)) }
    }

    func riders(_ mint: TokenMint) -> [Identity] {
        (0..<self.scene.riders).map { index in
            Identity(
                index: index, channel: index, job: self.job(index), token: mint.token(self.rider(index), role: "rider"))
        }
    }

    /// A follower's channel is its job's rider.
    func followers(_ mint: TokenMint) -> [Identity] {
        (0..<self.scene.jobs).flatMap { job in
            let token = mint.token(self.customer(job), role: "customer")
            return (0..<self.scene.followersPerJob).map { place in
                Identity(
                    index: self.scene.riders + job * self.scene.followersPerJob + place,
                    channel: job / self.scene.jobsPerRider, job: self.job(job), token: token)
            }
        }
    }
}
