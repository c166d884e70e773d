// Locations of one rider in lockstep: each is sent when every follower has received the last one and the rider its response.
// So only one location is in flight at a time, and all runs read and write the same number of them at once. The rider is in
// no zone and its job has no destination.

import EnrouteClient
import EnrouteWire

struct LocationScene: Scene {
    let kind = Stage.Kind.lockstep
    let figures = ["location_without_follower", "location_with_one_follower", "delivered_message"]

    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure] {
        let service = try stage.restConnection("service", "orders")
        guard let job = JobID("measured-job") else { throw BenchFailure("invalid job id") }
        try service.perform(
            "POST", "jobs", #"{"job":"\#(job.text)","kind":"service","customer":"customer-1","rider":"rider-1"}"#)
        try service.perform("POST", "jobs/\(job.text)/status", #"{"status":"on_the_way"}"#)
        let (rider, customer) = (try stage.token("rider", "rider-1"), try stage.token("customer", "customer-1"))
        return try await Clients.with(stage) { clients in
            let connection = try await clients.connect(rider)
            try await clients.perform(.travel(job: job, active: true), on: connection)
            var trip = Trip(job: job, rider: connection)
            func cost(_ followers: Int) async throws -> Profile {
                for _ in trip.followers..<followers { try await clients.follow(job, token: customer) }
                trip.followers = followers
                return try await stage.callgrind.cost(of: scale.repetitions, warmUp: Scale.warmUp) { count in
                    for _ in 0..<count { try await trip.report(&clients) }
                }
            }
            let (none, one, all) = (try await cost(0), try await cost(1), try await cost(scale.followers))
            let delivered = (all - one) * (1 / Double(scale.followers - 1))
            return zip(self.figures, [none, one, delivered]).map { Figure($0, $1) }
        }
    }
}

/// A rider that reports locations, and its followers.
private struct Trip {
    let job: JobID
    let rider: GatewayConnection
    var followers = 0
    /// Starts where numbers are large enough to have the same number of digits throughout, so that messages have equal length.
    private var sequence: Int64 = 100_000
    private var lastAt: Int64 = 0

    init(job: JobID, rider: GatewayConnection) { (self.job, self.rider) = (job, rider) }

    /// Sends a location and waits until it has arrived everywhere.
    mutating func report(_ clients: inout Clients) async throws {
        self.sequence += 1
        self.lastAt = max(self.lastAt + 1, .now)
        // Equal in length and different in content, like a rider's; back and forth by 11 m, so that none is implausible.
        let step = self.sequence % 16
        let latitude = 41.9021 + 0.0001 * Double(min(step, 16 - step))
        guard let place = Coordinate(latitude: latitude, longitude: 12.4964) else { throw BenchFailure("no place") }
        let fix = Fix(at: self.lastAt, place: place, accuracyMeters: 5, speedMetersPerSecond: 8.2, headingDegrees: 47)
        try await self.rider.send(
            .location(LocationReport(job: self.job, sequence: self.sequence, fixes: [fix])))
        let (at, sequence) = (self.lastAt, self.sequence)
        try await clients.expect(self.followers + 1) {
            switch $0 {
            case .location(at), .accepted(sequence): true
            default: false
            }
        }
    }
}
