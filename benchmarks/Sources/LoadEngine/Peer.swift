// A measured server, Enroute or another: the data needed to give all of them the same load.

internal import Glibc

/// A running server.
public protocol Measurable {
    var name: String { get }
    var dial: Dial { get }
    /// Sends messages at a rate to `followers` connections that follow `delivery.channels` jobs.
    func deliver(
        _ delivery: Delivery, followers: Int, payload: Int, watched: Watched, loop: Loop
    ) throws -> Report
    /// Sends locations over riders' connections, one for each of `delivery.channels` jobs, which has one follower. The server
    /// keeps the last position of each job.
    func deliverFromRiders(_ delivery: Delivery, payload: Int, watched: Watched, loop: Loop) throws -> Report
}

/// A peer described by its protocol.
public struct Peer: Measurable {
    public var target: Target
    public var dial: Dial
    public var publishing: Publishing
    /// The path of a location, end to end; `nil` if the description does not contain it.
    public var road: Road?

    /// How riders send locations, and how their followers connect.
    public struct Road {
        public var rider: Target
        public var follower: Target
        /// A rider's message; `{payload}` is the location and `{size}` its length in bytes.
        public var message: String
    }

    public init(target: Target, dial: Dial, publishing: Publishing, road: Road?) {
        (self.target, self.dial, self.publishing, self.road) = (target, dial, publishing, road)
    }

    public var name: String { self.target.name }

    public func deliver(
        _ delivery: Delivery, followers: Int, payload: Int, watched: Watched, loop: Loop
    ) throws -> Report {
        let jobs = EnrouteGateway.jobs(delivery.channels)
        let identities = (0..<followers).map { index in
            Identity(index: index, channel: index % jobs.count, job: jobs[index % jobs.count])
        }
        let crowd = Crowd(self.target, dial: self.dial, identities: identities, loop: loop)
        defer { crowd.close() }
        let (memory, opening) = try crowd.openMeasured(watched, timeout: delivery.patience)
        let publisher = try self.publishing.publisher(jobs: jobs, loop: loop) {
            MessageTemplate.location(job: $0, bytes: payload)
        }
        defer { publisher.close() }
        var report = try delivery.run(crowd, publisher, watched, loop)
        (report.memory, report.opening) = (memory, opening)
        report.judge()
        return report
    }

    public func deliverFromRiders(
        _ delivery: Delivery, payload: Int, watched: Watched, loop: Loop
    ) throws -> Report {
        guard let road else { throw LoadError("the description of \(self.name) has no road") }
        let jobs = EnrouteGateway.jobs(delivery.channels)
        func crowd(_ target: Target, first: Int) -> Crowd {
            let identities = jobs.enumerated().map { Identity(index: first + $0, channel: $0, job: $1) }
            return Crowd(target, dial: self.dial, identities: identities, loop: loop)
        }
        let (followers, riders) = (crowd(road.follower, first: 0), crowd(road.rider, first: jobs.count))
        defer {
            followers.close()
            riders.close()
        }
        let (memory, opening) = try followers.openMeasured(watched, timeout: delivery.patience)
        try riders.open(timeout: delivery.patience)
        let reports = jobs.map { job in
            let location = MessageTemplate.location(job: job, bytes: payload)
            return Identity(index: 0, channel: 0, job: job).fill(
                road.message, also: [("{payload}", location), ("{size}", String(location.utf8.count))])
        }
        var report = try delivery.run(followers, CrowdPublisher(riders, reports: reports), watched, loop)
        (report.memory, report.opening) = (memory, opening)
        report.note(riders.tally)
        report.judge()
        return report
    }
}

/// A peer's description: the output of `peers/NAME describe`, see peers/README.md.
public struct PeerDescription: Codable, Sendable {
    public var name: String
    public var versions: [String: String]?
    public var path: String
    public var subprotocol: String?
    public var hello: [String]
    public var subscribed: String?
    public var publish: Publish
    public var road: Road?
    /// For a peer that is already running: `wss://host:port`, and its processes.
    public var url: String?
    public var pids: [Int32]?

    public struct Publish: Codable, Sendable {
        /// redis, http or nats.
        public var kind: String
        public var channel: String?
        /// The published message, containing `{payload}`.
        public var envelope: String?
        public var url: String?
        public var subject: String?
        /// A number, or `{publishPort}`. For redis only if the peer is already running.
        public var port: String?
        /// Where to publish, for a peer that is already running; by default 127.0.0.1.
        public var host: String?
    }

    /// The path of a location, end to end. Missing members are those of the description itself.
    public struct Road: Codable, Sendable {
        /// Of the rider.
        public var path: String
        public var hello: [String]?
        public var subscribed: String?
        /// The rider's message, with `{payload}`, and `{size}` for its length.
        public var message: String
        /// Of the follower.
        public var followerPath: String?
        public var followerHello: [String]?
    }

    /// - Parameters:
    ///   - port: for followers.
    ///   - publishPort: for messages, if the peer accepts them itself.
    public func peer(port: UInt16, publishPort: UInt16, redis: Endpoint, tls: TLSClient) throws -> Peer {
        let isOther = self.url != nil
        let text = self.url.map { String($0.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" }) }
        let target = Target(
            name: self.name, path: self.path, subprotocol: self.subprotocol, greetings: self.hello,
            replies: [("2", "3")].filter { _ in self.path.contains("EIO=") } + [("PING\r\n", "PONG\r\n")],
            isBinary: self.publish.kind == "nats", subscribed: self.subscribed, marker: EnrouteGateway.located)
        let isPlain = self.url?.hasPrefix("ws://") ?? false
        let endpoint = try Endpoint(isOther ? text! : "127.0.0.1:\(port)")
        return Peer(
            target: target, dial: Dial(endpoint, tls: isPlain ? nil : tls),
            publishing: try self.publishing(String(publishPort), redis), road: self.road.map { $0.road(of: target) })
    }

    private func publishing(_ port: String, _ redis: Endpoint) throws -> Publishing {
        func missing(_ member: String) -> LoadError {
            LoadError("the description of \(self.name) lacks publish.\(member)")
        }
        func filled(_ text: String) -> String {
            guard let place = text.firstRange(of: "{publishPort}") else { return text }
            return text.replacingCharacters(in: place, with: port)
        }
        switch self.publish.kind {
        case "redis":
            guard let channel = self.publish.channel else { throw missing("channel") }
            // A peer that is already running uses its own Redis.
            if self.url != nil, self.publish.port == nil { throw missing("port, the one of its Redis") }
            let own = try self.publish.port.map { try Endpoint("\(self.publish.host ?? "127.0.0.1"):\($0)") }
            return .redis(own ?? redis, channel: channel, envelope: self.publish.envelope)
        case "http":
            guard let url = self.publish.url.map(filled) else { throw missing("url") }
            let rest = url.drop { $0 != "/" }.dropFirst(2)
            return .http(try Endpoint(String(rest.prefix { $0 != "/" })), path: String(rest.drop { $0 != "/" }))
        case "nats":
            guard let subject = self.publish.subject else { throw missing("subject") }
            let host = self.publish.host ?? "127.0.0.1"
            return .nats(try Endpoint("\(host):\(filled(self.publish.port ?? "{publishPort}"))"), subject: subject)
        default: throw missing("kind, which must be redis, http or nats")
        }
    }
}

extension PeerDescription.Road {
    fileprivate func road(of target: Target) -> Peer.Road {
        var (rider, follower) = (target, target)
        (rider.path, rider.greetings, rider.subscribed) = (self.path, self.hello ?? [], self.subscribed)
        // A rider receives no locations.
        rider.marker = "\u{0}"
        follower.path = self.followerPath ?? target.path
        follower.greetings = self.followerHello ?? target.greetings
        return Peer.Road(rider: rider, follower: follower, message: self.message)
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
