// The messages that a gateway sends. protocol/messages.md documents them; ServerMessageDecoding.swift reads them.

/// The answer to signing in.
public struct Welcome: Hashable, Sendable {
    public var session: String
    /// ms since the epoch. Together with the client's clock it gives the age of a position.
    public var serverTime: Int64
    public var pingIntervalSeconds: Int
    public var limits: Limits

    public init(session: String, serverTime: Int64, pingIntervalSeconds: Int, limits: Limits) {
        self.session = session
        self.serverTime = serverTime
        self.pingIntervalSeconds = pingIntervalSeconds
        self.limits = limits
    }
}

/// A refusal: what failed, why, and whether to try again.
public struct Refusal: Hashable, Sendable {
    /// The `type` of the message that is answered.
    public var replyTo: String
    public var job: JobID?
    /// The zone of a refused `watch`.
    public var zone: ZoneID?
    public var code: ErrorCode
    /// A sentence for developers.
    public var message: String
    public var retryInMilliseconds: Int64?
    /// With `active_task`: the jobs of the rider's active tasks.
    public var tasks: [JobID]
    /// For `location`: the verdict, which is more specific than the code.
    public var reason: String?
    /// The `ref` of the message that is answered.
    public var ref: MessageRef?

    public init(
        replyTo: String, job: JobID? = nil, zone: ZoneID? = nil, code: ErrorCode, message: String,
        retryInMilliseconds: Int64? = nil, tasks: [JobID] = [], reason: String? = nil, ref: MessageRef? = nil
    ) {
        self.reason = reason
        self.ref = ref
        self.replyTo = replyTo
        self.job = job
        self.zone = zone
        self.code = code
        self.message = message
        self.retryInMilliseconds = retryInMilliseconds
        self.tasks = tasks
    }
}

/// One message from a gateway.
public enum ServerMessage: Hashable, Sendable {
    case welcome(Welcome)
    case subscribed(job: JobID, Snapshot)
    case reset(job: JobID, Snapshot)
    case status(job: JobID, StatusEvent)
    case location(Location)
    case tracking(job: JobID, TrackingState, EndReason?)
    case eta(job: JobID, ArrivalEstimate)
    case ended(job: JobID, EndReason)
    /// How often a rider's phone should report: seconds from one location to the next.
    case rate(seconds: Double)
    /// How close the rider is to the destination. For riders, operations and services.
    case proximity(job: JobID, ProximityState)
    /// Why there is no new location: the key of a text, and for operations and services also the reason.
    case unavailable(job: JobID, TrackingTextKey, UnavailableReason?)
    /// The rider pool of a zone, or the changes that were missed.
    case pool(PoolView)
    case rider(RiderChange)
    /// The open jobs of a zone, or their changes.
    case jobs(ZoneJobsView)
    /// Where the riders of a zone are and where its jobs start and end, or their changes.
    case places(ZonePlacesView)
    case degraded
    case restored
    /// - Parameter ref: repeats the `ref` of the message that is answered.
    case ok(replyTo: String, job: JobID?, sequence: Int64?, deadline: Int64?, ref: MessageRef? = nil)
    case error(Refusal)
    case pong(serverTime: Int64)
    case goaway(retryInMilliseconds: Int64)
}

extension ServerMessage {
    /// The message as a gateway sends it. A gateway encodes a location once for all followers with `PublishedLocation`,
    /// which writes the same bytes.
    public var encoded: [UInt8] {
        switch self {
        case .welcome(let welcome):
            return JSONWriter.message("welcome") { writer in
                writer.field("session", welcome.session)
                writer.field("serverTime", welcome.serverTime)
                writer.field("pingIntervalSeconds", Int64(welcome.pingIntervalSeconds))
                writer.object("limits") { welcome.limits.write(into: &$0) }
            }
        case .subscribed(let job, let snapshot): return Self.state("subscribed", job, snapshot)
        case .reset(let job, let snapshot): return Self.state("reset", job, snapshot)
        case .status(let job, let event):
            return JSONWriter.message("status") { writer in
                writer.field("job", job.text)
                event.write(into: &writer)
            }
        case .location(let location): return location.encoded
        case .tracking(let job, let state, let reason):
            return JSONWriter.message("tracking") { writer in
                writer.field("job", job.text)
                writer.field("state", state.rawValue)
                writer.field("reason", reason?.rawValue)
                writer.field("text", state.text(reason).rawValue)
            }
        case .eta(let job, let estimate):
            return JSONWriter.message("eta") { writer in
                writer.field("job", job.text)
                estimate.write(into: &writer)
            }
        case .ended(let job, let reason):
            return JSONWriter.message("ended") { writer in
                writer.field("job", job.text)
                writer.field("reason", reason.rawValue)
            }
        case .rate, .proximity, .unavailable: return self.guidance
        case .pool(let view): return view.encoded
        case .rider(let change): return change.encoded
        case .jobs(let view): return view.encoded
        case .places(let view): return view.encoded
        case .degraded: return JSONWriter.message("degraded") { _ in }
        case .restored: return JSONWriter.message("restored") { _ in }
        case .ok(let replyTo, let job, let sequence, let deadline, let ref):
            return JSONWriter.message("ok") { writer in
                writer.field("replyTo", replyTo)
                writer.field("ref", ref?.text)
                writer.field("job", job?.text)
                writer.field("seq", sequence)
                writer.field("deadline", deadline)
            }
        case .error(let refusal):
            return JSONWriter.message("error") { writer in
                writer.field("replyTo", refusal.replyTo)
                writer.field("ref", refusal.ref?.text)
                writer.field("job", refusal.job?.text)
                writer.field("zone", refusal.zone?.text)
                writer.field("code", refusal.code.rawValue)
                writer.field("message", refusal.message)
                writer.field("retry", refusal.code.isRetryable)
                writer.field("retryInMs", refusal.retryInMilliseconds)
                writer.field("reason", refusal.reason)
                if !refusal.tasks.isEmpty { writer.texts("tasks", refusal.tasks.map(\.text)) }
            }
        case .pong(let serverTime): return JSONWriter.message("pong") { $0.field("serverTime", serverTime) }
        case .goaway(let retryIn): return JSONWriter.message("goaway") { $0.field("retryInMs", retryIn) }
        }
    }

    private static func state(_ type: StaticString, _ job: JobID, _ snapshot: Snapshot) -> [UInt8] {
        JSONWriter.message(type) { writer in
            writer.field("job", job.text)
            writer.object("snapshot") { snapshot.write(into: &$0) }
        }
    }
}
