// The modes of a run against a gateway: one-to-one, fan-out, idle, slow. The fifth is in Handshakes.swift.

internal import Glibc

extension EnrouteGateway: Measurable {
    public enum Way {
        /// SPUBLISH to the feeds.
        case redis(Endpoint)
        /// Locations over the riders' own connections.
        case riders
    }

    /// Sends messages to `followers` connections that follow `jobs` jobs.
    ///
    /// - Parameter slow: additional connections that follow the same jobs and do not read.
    public func deliver(
        _ delivery: Delivery, followers: Int, slow: Int = 0, payload: Int, way: Way, watched: Watched, loop: Loop
    ) throws -> Report {
        let jobs = Self.jobs(delivery.channels)
        var numbering = Target.Numbering.sequence
        if case .riders = way {
            numbering = .captureTime
            guard delivery.perSecond / Double(jobs.count) <= Self.maxPerRider else {
                throw LoadError(
                    "a rider may report \(Int(Self.maxPerRider)) times a second: \(delivery.perSecond) a second need "
                        + "\(Int((delivery.perSecond / Self.maxPerRider).rounded(.up))) jobs")
            }
        }
        if case .captureTime = numbering, delivery.burst > 1, delivery.burst > jobs.count / 2 {
            throw LoadError("with riders, a burst is limited to half the number of jobs")
        }
        // Positions are shown only while travel mode is on, however they are published.
        try self.create(jobs, underway: true, loop: loop)
        let crowd = Crowd(
            self.target(numbering), dial: self.dial, identities: self.followers(followers, of: jobs), loop: loop)
        defer { crowd.close() }
        let (memory, opening) = try crowd.openMeasured(watched, timeout: delivery.patience)
        let sluggish = try self.slowCrowd(slow, jobs, first: followers, numbering, delivery, loop)
        defer { sluggish?.close() }

        let publisher: any Publisher
        switch way {
        case .redis(let redis):
            publisher = try Publishing.redis(redis, channel: self.feed, isSharded: true).publisher(
                jobs: jobs, loop: loop
            ) {
                MessageTemplate.location(job: $0, bytes: payload)
            }
        case .riders:
            let riders = self.riders(of: jobs, first: followers + slow, loop: loop)
            try riders.open(timeout: delivery.patience)
            publisher = CrowdPublisher(
                riders, reports: jobs.map { CrowdPublisher.report(of: [$0], latitude: "9027835") })
        }
        defer { publisher.close() }
        var report = try delivery.run(crowd, publisher, watched, loop, slow: sluggish)
        (report.memory, report.opening) = (memory, opening)
        if let sluggish { report.slow = SlowFigures(of: sluggish, watched.server, before: memory?.after, loop) }
        report.judge()
        return report
    }

    /// Measured like every other peer.
    public func deliver(
        _ delivery: Delivery, followers: Int, payload: Int, watched: Watched, loop: Loop
    ) throws -> Report {
        guard let redis else { throw LoadError("\(self.name): --redis is required to publish") }
        return try self.deliver(
            delivery, followers: followers, payload: payload, way: .redis(redis), watched: watched, loop: loop)
    }

    public func deliverFromRiders(
        _ delivery: Delivery, payload: Int, watched: Watched, loop: Loop
    ) throws -> Report {
        try self.deliver(
            delivery, followers: delivery.channels, payload: payload, way: .riders, watched: watched, loop: loop)
    }

    /// Positions per second that a rider may publish before the gateway conflates them.
    static let maxPerRider = 2.0

    private func slowCrowd(
        _ count: Int, _ jobs: [String], first: Int, _ numbering: Target.Numbering, _ delivery: Delivery, _ loop: Loop
    ) throws -> Crowd? {
        guard count > 0 else { return nil }
        var dial = self.dial
        dial.receiveBuffer = 4096
        let crowd = Crowd(
            self.target(numbering), dial: dial, identities: self.followers(count, of: jobs, first: first), loop: loop)
        try crowd.open(timeout: delivery.patience)
        return crowd
    }

    /// Connections that follow one job each and receive nothing.
    public func idle(_ connections: Int, settle seconds: Double, watched: Watched, loop: Loop) throws -> Report {
        let jobs = Self.jobs(connections)
        try self.create(jobs, underway: false, loop: loop)
        let crowd = Crowd(
            self.target(), dial: self.dial, identities: self.followers(connections, of: jobs), loop: loop)
        return try crowd.idle(settle: seconds, watched: watched)
    }
}

extension Crowd {
    /// Opens all, waits, and reports their cost while nothing is sent.
    public func idle(settle seconds: Double, watched: Watched) throws -> Report {
        defer { self.close() }
        let (memory, opening) = try self.openMeasured(watched, timeout: 300)
        let (times, begin) = (watched.times, Clock.now)
        self.loop.run(seconds: seconds)
        var report = Report(self.target.name, "idle", connections: self.count, seconds: seconds)
        (report.memory, report.opening) = (memory, opening)
        // Per connection and second, because there are no messages.
        let elapsed = Double(Clock.now - begin) / 1e9
        report.cpu = watched.figures(since: times, per: Int(Double(self.count) * elapsed), seconds: elapsed)
        report.note(self.tally)
        report.judge()
        return report
    }
}

/// The outcome for the connections that did not read.
public struct SlowFigures: Codable, Sendable {
    public var connections: Int
    /// By close code, after they resumed reading.
    public var closeCodes: [String: Int]
    public var losses: [String: Int]
    public var stillFollowing: Int
    /// Memory of the server for each at the end, in KB.
    public var residentKBPerConnection: Double?

    init(of crowd: Crowd, _ server: ProcessGroup?, before: Memory?, _ loop: Loop) {
        if let server, let before {
            self.residentKBPerConnection = Double(server.memory.residentKB - before.residentKB) / Double(crowd.count)
        }
        crowd.setReading(true)
        loop.run(seconds: 3) { crowd.following > 0 }
        self.connections = crowd.count
        self.closeCodes = Dictionary(uniqueKeysWithValues: crowd.tally.closeCodes.map { (String($0), $1) })
        self.losses = crowd.tally.losses
        self.stillFollowing = crowd.following
    }
}
