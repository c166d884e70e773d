// Enroute as a target: its jobs, people and tokens, and the two ways to reach its followers: SPUBLISH to the feed, as
// publish_location.lua does, or a rider's location through the gateway.

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
        if case .captureTime = numbering { target.marker = #","at":"# }
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

    /// Creates the jobs; with riders, their travel mode is on.
    public func create(_ jobs: [String], underway: Bool, loop: Loop) throws {
        let client = RESTClient(self.dial, loop: loop)
        let service = [
            "Authorization: Bearer \(self.mint.token("load", role: "service"))", "Content-Type: application/json",
        ]
        try client.perform(
            jobs.enumerated().map { index, job in
                let body =
                    #"{"job":"\#(job)","kind":"service","customer":"customer-\#(index)","rider":"rider-\#(index)","#
                    + #""destination":{"lat":41.9,"lon":12.5}}"#
                return RESTRequest("POST", "/api/v1/jobs", headers: service, body: body)
            }, accepting: [201], timeout: 300)
        try client.perform(
            jobs.map { job in
                RESTRequest(
                    "POST", "/api/v1/jobs/\(job)/status", headers: service, body: #"{"status":"on_the_way"}"#)
            }, accepting: [200], timeout: 300)
        guard underway else { return }
        try client.perform(
            jobs.enumerated().map { index, job in
                let rider = self.mint.token("rider-\(index)", role: "rider")
                return RESTRequest("PUT", "/api/v1/jobs/\(job)/travel", headers: ["Authorization: Bearer \(rider)"])
            }, accepting: [200], timeout: 300)
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

/// Publishes like riders: each job's location over its rider's connection.
final class RiderPublisher: Publisher {
    private let riders: Crowd
    private var templates: [MessageTemplate]

    /// - Parameter riders: connected, one for each job.
    init(_ riders: Crowd) {
        self.riders = riders
        self.templates = riders.identities.map { identity in
            MessageTemplate(
                #"{"type":"location","job":"\#(identity.job)","seq":\#(MessageTemplate.idMark),"fixes":[{"at":"#
                    + #"\#(MessageTemplate.atMark),"lat":41.9027835,"lon":12.4963655,"acc":5,"spd":8.25,"hdg":47.5}]}"#)
        }
    }

    let isReady = true
    let unconfirmed = 0
    /// Refusals arrive as messages on the riders' connections; a lost connection ends the run.
    var failure: String? {
        let lost = self.riders.count - self.riders.following
        return lost == 0 ? nil : "\(lost) riders lost their connection"
    }

    func publish(channel: Int, id: UInt64, at: Int64) {
        self.templates[channel].set(id: id, at: at)
        let frame = self.templates[channel].bytes.withUnsafeBytes { OutgoingFrame.make(IncomingFrame.text, $0) }
        self.riders.send(frame, from: channel)
    }

    func flush() {}
    func close() { self.riders.close() }
}
