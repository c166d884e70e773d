// Reads the messages that a gateway sends, for clients and tests.

extension ServerMessage {
    /// Reads one message. Throws for an unknown type. Clients should ignore such messages.
    public init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        let type = try MessageHead(bytes).type
        var reader = JSONReader(bytes)
        // These messages have decoders of their own.
        let own: Self? =
            switch type {
            case "location": .location(try Location(from: &reader))
            case "pool": .pool(try PoolView(from: &reader))
            case "rider": .rider(try RiderChange(from: &reader))
            case "jobs": .jobs(try ZoneJobsView(from: &reader))
            case "places": .places(try ZonePlacesView(from: &reader))
            default: nil
            }
        if let own {
            self = own
            return
        }
        if let guidance = try Self.guidance(type, from: bytes) {
            self = guidance
            return
        }
        let fields = try ServerFields(from: bytes)
        func job() throws(BadMessage) -> JobID { try fields.required(fields.job, "job") }
        switch type {
        case "welcome":
            self = .welcome(
                Welcome(
                    session: try fields.required(fields.session, "session"),
                    serverTime: try fields.required(fields.serverTime, "serverTime"),
                    pingIntervalSeconds: Int(try fields.required(fields.pingInterval, "pingIntervalSeconds")),
                    limits: fields.limits ?? Limits()))
        case "subscribed": self = .subscribed(job: try job(), try fields.required(fields.snapshot, "snapshot"))
        case "reset": self = .reset(job: try job(), try fields.required(fields.snapshot, "snapshot"))
        case "status": self = .status(job: try job(), try StatusEvent(from: &reader))
        case "tracking": self = .tracking(job: try job(), try fields.required(fields.state, "state"), fields.reason)
        case "eta": self = .eta(job: try job(), try ArrivalEstimate(from: &reader))
        case "ended": self = .ended(job: try job(), try fields.required(fields.reason, "reason"))
        case "degraded": self = .degraded
        case "restored": self = .restored
        case "ok":
            self = .ok(
                replyTo: try fields.required(fields.replyTo, "replyTo"), job: fields.job, sequence: fields.sequence,
                deadline: fields.deadline, ref: fields.ref)
        case "error":
            self = .error(
                Refusal(
                    replyTo: try fields.required(fields.replyTo, "replyTo"), job: fields.job, zone: fields.zone,
                    code: try fields.required(fields.code, "code"), message: fields.message ?? "",
                    retryInMilliseconds: fields.retryIn, tasks: fields.tasks, reason: fields.reasonText, ref: fields.ref
                ))
        case "pong": self = .pong(serverTime: try fields.required(fields.serverTime, "serverTime"))
        case "goaway": self = .goaway(retryInMilliseconds: try fields.required(fields.retryIn, "retryInMs"))
        default: throw BadMessage("unknown message type")
        }
    }
}

/// The members of the gateway's messages; `nil` for those that are missing.
private struct ServerFields {
    var (job, session, replyTo, message) = (JobID?.none, String?.none, String?.none, String?.none)
    var (serverTime, pingInterval, sequence) = (Int64?.none, Int64?.none, Int64?.none)
    var (deadline, retryIn) = (Int64?.none, Int64?.none)
    var zone: ZoneID?
    var (state, reason, code) = (TrackingState?.none, EndReason?.none, ErrorCode?.none)
    var (snapshot, limits) = (Snapshot?.none, Limits?.none)
    var tasks: [JobID] = []
    var reasonText: String?
    var ref: MessageRef?

    init(from bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        var reader = JSONReader(bytes)
        var fields = ServerFields()
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "job": fields.job = try reader.identifier("job")
            case "zone": fields.zone = try reader.identifier("zone")
            case "session": fields.session = try reader.string()
            case "replyTo": fields.replyTo = try reader.string()
            case "ref": fields.ref = MessageRef(try reader.string())
            case "message": fields.message = try reader.string()
            case "serverTime": fields.serverTime = try reader.integer()
            case "pingIntervalSeconds": fields.pingInterval = try reader.integer()
            case "seq": fields.sequence = try reader.integer()
            case "deadline": fields.deadline = try reader.integer()
            case "retryInMs": fields.retryIn = try reader.integer()
            case "state": fields.state = TrackingState(rawValue: try reader.string())
            case "reason":
                fields.reasonText = try reader.string()
                fields.reason = fields.reasonText.flatMap(EndReason.init)
            case "code": fields.code = ErrorCode(rawValue: try reader.string())
            case "snapshot": fields.snapshot = try Snapshot(from: &reader)
            case "tasks":
                var tasks: [JobID] = []
                try reader.array { (reader) throws(BadMessage) in tasks.append(try reader.identifier("tasks")) }
                fields.tasks = tasks
            case "limits": fields.limits = try Limits(from: &reader)
            default: try reader.value()
            }
        }
        self = fields
    }

    private init() {}

    func required<Value>(_ value: Value?, _ name: StaticString) throws(BadMessage) -> Value {
        guard let value else { throw BadMessage("the message needs \(name)") }
        return value
    }
}
