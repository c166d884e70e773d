// Enroute as a target: its jobs, people and tokens. Its followers are reached by SPUBLISH to the feed, as publish_location.lua
// does, or by a rider's location through the gateway (CrowdPublisher.swift).

internal import Glibc

/// A running gateway and its credentials.
public struct EnrouteGateway {
    public var name: String
    public var dial: Dial
    public var mint: TokenMint
    /// Prefix of its Redis keys and channels.
    public var prefix: String

    /// Its live Redis.
    public var redis: Endpoint?

    public init(name: String, dial: Dial, mint: TokenMint, redis: Endpoint? = nil, prefix: String = "") {
        (self.name, self.dial, self.mint, self.redis, self.prefix) = (name, dial, mint, redis, prefix)
    }

    /// The gateway's settings for a run: all connections come from one address, thousands per second.
    public static let unlimited = [
        "SESSIONS_PER_PERSON", "SESSIONS_PER_ADDRESS", "CONNECTIONS_PER_ADDRESS", "MESSAGES_PER_ADDRESS_PER_SECOND",
        "MESSAGES_PER_ADDRESS_BURST", "MESSAGES_PER_PERSON_PER_SECOND", "MESSAGES_PER_PERSON_BURST",
        "NEW_CONNECTIONS_PER_SECOND", "NEW_CONNECTIONS_BURST",
    ].reduce(into: ["ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000"]) { $0["ENROUTE_LIMIT_\($1)"] = "1000000" }

    /// The bytes of a location, to which publish_location.lua has prepended an id.
    static let located = #"{"type":"location","id":""#

    private static let refused = #"{"type":"error""#

    public func target(_ numbering: Target.Numbering = .sequence) -> Target {
        var target = Target(
            name: self.name, path: "/v1", subprotocol: "enroute.v1", headers: ["Authorization: Bearer {token}"],
            greetings: [#"{"type":"subscribe","job":"{job}"}"#], subscribed: #""type":"subscribed""#,
            refusal: Self.refused, marker: Self.located, numbering: numbering)
        if case .captureTime = numbering {
            (target.marker, target.beginning) = (#","at":"#, #"{"type":"location""#)
        }
        return target
    }

    /// A rider's connection: it follows nothing.
    var riderTarget: Target {
        Target(
            name: self.name, path: "/v1", subprotocol: "enroute.v1", headers: ["Authorization: Bearer {token}"],
            subscribed: #""type":"welcome""#, refusal: Self.refused, marker: "\u{0}")
    }

    public var feed: String { "\(self.prefix)job:{{job}}:feed" }

    /// New names for each run, so that jobs of an earlier one do not interfere.
    public static func jobs(_ count: Int) -> [String] {
        let run = String(UInt64(Clock.wallMicroseconds), radix: 36)
        let width = String(count - 1).count
        return (0..<count).map { index in
            let digits = String(index)
            return "load-\(run)-" + String(repeating: "0", count: width - digits.count) + digits
        }
    }

    /// Creates the jobs, one for each rider, and sets them on the way.
    ///
    /// - Parameter underway: switch travel mode on, too.
    func create(_ jobs: [String], underway: Bool, loop: Loop) throws {
        try self.create(
            jobs.enumerated().map { NewJob(id: $1, customer: "customer-\($0)", rider: "rider-\($0)") },
            underway: underway, loop: loop)
    }

    func create(_ jobs: [NewJob], underway: Bool, loop: Loop) throws {
        let client = RESTClient(self.dial, loop: loop)
        try client.perform(
            jobs.map { RESTRequest("POST", "/api/v1/jobs", headers: self.service, body: $0.body) },
            accepting: [201], timeout: 300)
        try client.perform(
            jobs.map { job in
                RESTRequest(
                    "POST", "/api/v1/jobs/\(job.id)/status", headers: self.service, body: #"{"status":"on_the_way"}"#)
            }, accepting: [200], timeout: 300)
        guard underway else { return }
        try client.perform(
            jobs.map { RESTRequest("PUT", "/api/v1/jobs/\($0.id)/travel", headers: self.headers(rider: $0.rider)) },
            accepting: [200], timeout: 300)
    }

    /// The header lines of a service's request.
    var service: [String] {
        ["Authorization: Bearer \(self.mint.token("load", role: "service"))", "Content-Type: application/json"]
    }

    /// The header lines of a rider's request.
    func headers(rider: String) -> [String] {
        ["Authorization: Bearer \(self.mint.token(rider, role: "rider"))", "Content-Type: application/json"]
    }

    /// Follower `i` is the customer of job `i % jobs`.
    public func followers(_ count: Int, of jobs: [String], first: Int = 0) -> [Identity] {
        let tokens = (0..<min(count, jobs.count)).map { self.mint.token("customer-\($0)", role: "customer") }
        return (0..<count).map { index in
            let channel = index % jobs.count
            return Identity(index: first + index, channel: channel, job: jobs[channel], token: tokens[channel])
        }
    }

    /// Connections of the riders of these jobs.
    func riders(of jobs: [String], first: Int, loop: Loop) -> Crowd {
        let identities = jobs.enumerated().map { index, job in
            Identity(
                index: first + index, channel: index, job: job, token: self.mint.token("rider-\(index)", role: "rider"))
        }
        return Crowd(self.riderTarget, dial: self.dial, identities: identities, loop: loop)
    }
}

/// A job to be created.
struct NewJob {
    var id: String
    var customer: String
    var rider: String
    var zone: String?
    var hasDestination = true

    /// The body of `POST jobs`.
    var body: String {
        let place = self.hasDestination ? #","destination":{"lat":41.9,"lon":12.5}"# : ""
        let zone = self.zone.map { #","zone":"\#($0)""# } ?? ""
        return
            #"{"job":"\#(self.id)","kind":"service","customer":"\#(self.customer)","rider":"\#(self.rider)"\#(place)\#(zone)}"#
    }
}
