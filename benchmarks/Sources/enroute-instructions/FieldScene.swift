// Locations as the product receives them: every rider is online in a zone and drives towards the destination of its
// job, which one follower may follow, and reports at a fixed interval. The riders' reports are spread evenly over the
// interval.
//
// Everything that the gateway does in a minute counts, except for the work of an idle loop: locations, heartbeats,
// arrival times, resyncs, pings. Whatever has a period of a minute or less occurs as often as in production.

import EnrouteClient
import EnrouteWire

struct FieldScene: Scene {
    let kind: Stage.Kind
    private let interval: Interval
    private let hasFollowers: Bool

    enum Interval: String {
        case second = "every_second"
        case fiveSeconds = "every_five_seconds"

        /// A phone's timer is late rather than early. At exactly 5 s, chance would decide whether a limit of 5 s is reached.
        var duration: Duration { self == .second ? .seconds(1) : .seconds(5.2) }
        /// How many riders report. One more report than another is within the noise.
        var riders: Int { self == .second ? 16 : 40 }
    }

    init(_ interval: Interval, _ kind: Stage.Kind = .field, hasFollowers: Bool = true) {
        (self.kind, self.interval, self.hasFollowers) = (kind, interval, hasFollowers)
    }

    var figures: [String] {
        switch self.kind {
        case .countingRedis: ["redis_instructions_per_location_\(self.interval.rawValue)"]
        case _ where self.hasFollowers:
            ["location_\(self.interval.rawValue)"] + RedisUse.figures(self.interval.rawValue)
        default: ["location_\(self.interval.rawValue)_without_follower"]
        }
    }

    /// After the connections are open, so that first calculations and first scripts do not count.
    private static let warmUp = Duration.seconds(12)
    /// A newer report replaces a waiting one. That happens while callgrind writes its counts.
    private static let mayBeReplaced = 0.02
    private static let zone = "rome"
    /// Riders drive north from here, 8.2 m/s, and are still 3 km from the destination at the end.
    private static let start = (latitude: 41.9021, longitude: 12.4964)
    private static let metersPerSecond = 8.2
    private static let metersPerDegree = 111_195.0
    private static let destination = (latitude: 41.9421, longitude: 12.4964)

    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure] {
        try await Task.sleep(for: Scale.startUp)
        let idle = try await FieldSecond.count(on: stage, for: scale.window * FieldSecond.idleShare)
        let service = try stage.restConnection("service", "orders")
        return try await Clients.with(stage) { clients in
            var trips: [Trip] = []
            // Names of equal length, so that messages have equal length.
            for number in 100..<100 + min(self.interval.riders, scale.riders) {
                trips.append(try await self.begin("\(number)", stage, service, &clients))
            }
            let everybody = trips
            let driving = Task { try await self.drive(everybody) }
            defer { driving.cancel() }
            try await Task.sleep(for: Self.warmUp)
            let begin = Int64.now
            let busy = try await FieldSecond.count(on: stage, for: scale.window)
            driving.cancel()
            try await self.verify(try await driving.value, trips, &clients)
            if scale.window >= Scale().window { try self.verifyHeartbeats(of: trips, on: stage, since: begin) }
            return self.figures(
                busy - idle, busy, locationsPerSecond: Double(trips.count) / (self.interval.duration / .seconds(1)))
        }
    }

    /// - Parameters:
    ///   - added: the cost that the scene adds to an idle loop.
    ///   - whole: the gateway including its idle loop.
    private func figures(
        _ added: FieldSecond, _ whole: FieldSecond, locationsPerSecond: Double
    ) -> [Figure] {
        var location = Figure(self.figures[0], added.profile * (1 / locationsPerSecond))
        location.detail = [
            "with its share of the idle loop: \((whole.profile.total / locationsPerSecond).grouped)", "",
        ]
        guard self.figures.count > 1 else { return [location] }
        return [location] + (added.redis * (1 / locationsPerSecond)).figures(self.interval.rawValue)
    }

    // MARK: people

    private struct Trip {
        let job: JobID
        let rider: String
        let connection: GatewayConnection
    }

    /// A rider goes online, gets a job and starts to travel; the customer follows.
    private func begin(
        _ number: String, _ stage: Stage, _ service: RESTConnection, _ clients: inout Clients
    ) async throws -> Trip {
        guard let job = JobID("job-\(number)") else { throw BenchFailure("invalid job id") }
        let (rider, customer) = ("rider-\(number)", "customer-\(number)")
        try service.perform("PUT", "riders/\(rider)", #"{"zone":"\#(Self.zone)","approved":true,"capacity":1}"#)
        let connection = try await clients.connect(stage.token("rider", rider))
        try await clients.perform(.availability(.online, device: nil), on: connection)
        let (latitude, longitude) = Self.destination
        try service.perform(
            "POST", "jobs",
            #"{"job":"\#(job.text)","kind":"service","customer":"\#(customer)","rider":"\#(rider)","#
                + #""zone":"\#(Self.zone)","destination":{"lat":\#(latitude),"lon":\#(longitude)}}"#)
        try service.perform("POST", "jobs/\(job.text)/status", #"{"status":"on_the_way"}"#)
        try await clients.perform(.travel(job: job, active: true), on: connection)
        if self.hasFollowers { try await clients.follow(job, token: stage.token("customer", customer)) }
        return Trip(job: job, rider: rider, connection: connection)
    }

    // MARK: driving

    /// The capture times of all reports sent, until cancelled.
    private func drive(_ trips: [Trip]) async throws -> [Int64] {
        let clock = ContinuousClock()
        let (begin, spacing) = (clock.now, self.interval.duration / trips.count)
        var sent: [Int64] = []
        while true {
            do { try await clock.sleep(until: begin + spacing * sent.count) } catch { return sent }
            let trip = trips[sent.count % trips.count]
            let meters = Self.metersPerSecond * ((clock.now - begin) / .seconds(1))
            let latitude = Self.start.latitude + meters / Self.metersPerDegree
            guard let place = Coordinate(latitude: latitude, longitude: Self.start.longitude) else { return sent }
            // Unique, so that the follower's copy can be recognised.
            let at = max(sent.last.map { $0 + 1 } ?? 0, .now)
            let fix = Fix(
                at: at, place: place, accuracyMeters: 5, speedMetersPerSecond: Self.metersPerSecond, headingDegrees: 0)
            let report = LocationReport(job: trip.job, sequence: 100_000 + Int64(sent.count), fixes: [fix])
            // In its own task, so that a report that has started is not cancelled.
            try await Task { try await trip.connection.send(.location(report)) }.value
            sent.append(at)
        }
    }

    // MARK: verification

    /// Every report was answered and reached its follower, and every follower knows when the rider arrives.
    private func verify(_ sent: [Int64], _ trips: [Trip], _ clients: inout Clients) async throws {
        var unanswered = sent.count
        var unseen = Set(self.hasFollowers ? sent : [])
        var unestimated = Set(self.hasFollowers ? trips.map(\.job) : [])
        let mayBeUnseen = Int(Double(sent.count) * Self.mayBeReplaced)
        while unanswered > 0 || unseen.count > mayBeUnseen {
            let received: Received
            do { received = try await clients.next() } catch {
                let missing = "\(unanswered) were not answered, and \(unseen.count) reached no follower."
                throw BenchFailure("\(error) Of \(sent.count) reports, \(missing)")
            }
            switch received {
            case .accepted: unanswered -= 1
            case .location(let at): unseen.remove(at)
            case .estimate(let job, let estimate) where estimate.state == .ok: unestimated.remove(job)
            default: continue
            }
        }
        guard unestimated.isEmpty else {
            throw BenchFailure("\(unestimated.count) of \(trips.count) followers received no arrival time.")
        }
    }

    /// Every rider sent heartbeats in the window.
    private func verifyHeartbeats(of trips: [Trip], on stage: Stage, since begin: Int64) throws {
        struct Rider: Decodable { let heartbeat: Int64? }
        let service = try stage.restConnection("service", "orders")
        for trip in trips {
            let rider = try service.perform("GET", "riders/\(trip.rider)").decoded(Rider.self)
            guard rider.heartbeat ?? 0 >= begin else { throw BenchFailure("\(trip.rider) sent no heartbeat.") }
        }
    }
}

/// A second of a stage on average.
private struct FieldSecond {
    let profile: Profile
    let redis: RedisUse

    /// Of the window, for which the idle loop is counted.
    static let idleShare = 0.25

    static func count(on stage: Stage, for window: Duration) async throws -> FieldSecond {
        let meter = RedisMeter(stage)
        var (redis, period) = (RedisUse(), Duration.zero)
        let (profile, seconds) = try await stage.callgrind.count {
            let (before, start) = (try await meter.read(), ContinuousClock.now)
            try await Task.sleep(for: window)
            (redis, period) = (try await meter.read() - before, .now - start)
        }
        return FieldSecond(profile: profile * (1 / seconds), redis: redis * (1 / (period / .seconds(1))))
    }

    static func - (one: FieldSecond, other: FieldSecond) -> FieldSecond {
        FieldSecond(profile: one.profile - other.profile, redis: one.redis - other.redis)
    }
}
