// The messages a client sends. They are documented in protocol/messages.md.

/// A credential for signing in.
public enum Credential: Hashable, Sendable {
    /// A JWT.
    case token(String)
    /// The secret of a tracking link, which gives access to one job.
    case link(String)
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of credential, never its content.
    public var description: String {
        switch self {
        case .token: "<a token>"
        case .link: "<a link>"
        }
    }
    public var debugDescription: String { self.description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The last status a client saw before its connection ended.
public struct ResumePoint: Hashable, Sendable {
    public var epoch: String
    public var id: StatusID

    public init(epoch: String, id: StatusID) {
        self.epoch = epoch
        self.id = id
    }
}

/// One message from a client.
public enum ClientMessage: Hashable, Sendable {
    case auth(Credential)
    case subscribe(job: JobID, since: ResumePoint?)
    /// Follows several jobs, 1 to `Limits.subscribeJobs`. Each is answered separately.
    case subscribeAll([Subscription])
    case unsubscribe(job: JobID)
    case location(LocationReport)
    /// Switches travel mode on or off, on this device.
    ///
    /// - Parameter resumes: for the first message after a reconnect: continues only what this device started, or
    ///   switches only that off.
    case travel(job: JobID, active: Bool, device: DeviceID? = nil, resumes: Bool = false)
    /// Watches the rider pool of a zone, from the last version that was seen.
    case watch(zone: ZoneID, since: Int64?)
    case unwatch(zone: ZoneID)
    /// Watches the open jobs of a zone.
    case watchJobs(zone: ZoneID)
    case unwatchJobs(zone: ZoneID)
    /// Watches where the riders of a zone are and where its jobs end.
    case watchPlaces(zone: ZoneID)
    case unwatchPlaces(zone: ZoneID)
    /// Sets the rider online (available for tasks) or offline, on this device.
    case availability(Availability, device: DeviceID?)
    /// Reports that the rider is reachable, and optionally where.
    case presence(Coordinate?, device: DeviceID?)
    /// Reports why the rider's phone has no location, for one job or for all.
    case unavailable(job: JobID?, UnavailableReason)
    /// Renews the sign-in with a newer token before the current one expires.
    case refresh(token: String)
    case ping

    /// All values of `type`.
    public static let types = [
        "auth", "subscribe", "unsubscribe", "location", "travel", "availability", "presence", "unavailable", "watch",
        "unwatch", "refresh", "ping",
    ]

    /// The `type` of the message, which answers repeat as `replyTo`.
    public var type: String {
        switch self {
        case .auth: "auth"
        case .subscribe, .subscribeAll: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .location: "location"
        case .travel: "travel"
        case .watch, .watchJobs, .watchPlaces: "watch"
        case .unwatch, .unwatchJobs, .unwatchPlaces: "unwatch"
        case .availability: "availability"
        case .presence: "presence"
        case .unavailable: "unavailable"
        case .refresh: "refresh"
        case .ping: "ping"
        }
    }
}

extension ClientMessage {
    /// Reads one message: a JSON object with a `type`. Unknown members are ignored.
    ///
    /// - Parameter bytes: valid UTF-8, checked by the caller.
    public init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        try self.init(try MessageHead(bytes).type, bytes)
    }

    /// - Parameter type: the `type` in the same bytes.
    init(_ type: String, _ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        var reader = JSONReader(bytes)
        switch type {
        case "location": self = .location(try LocationReport(from: &reader))
        case "subscribe": self = try Self.subscribe(from: &reader)
        case "unsubscribe": self = .unsubscribe(job: try Fields(from: &reader, "unsubscribe").requiredJob())
        case "travel":
            let fields = try Fields(from: &reader, "travel")
            guard let active = fields.active else { throw BadMessage("travel needs active: true or false") }
            self = .travel(
                job: try fields.requiredJob(), active: active, device: fields.device, resumes: fields.resumes)
        case "watch": self = try Self.watch(from: &reader)
        case "unwatch": self = try Self.unwatch(from: &reader)
        case "availability", "presence", "unavailable": self = try Self.riderMessage(type, from: &reader)
        case "auth":
            let fields = try Fields(from: &reader, "auth")
            switch (fields.token, fields.link) {
            case (let token?, nil): self = .auth(.token(token))
            case (nil, let link?): self = .auth(.link(link))
            default: throw BadMessage("auth needs either token or link")
            }
        case "refresh":
            guard let token = try Fields(from: &reader, "refresh").token else {
                throw BadMessage("refresh needs token")
            }
            self = .refresh(token: token)
        case "ping":
            _ = try Fields(from: &reader, "ping")
            self = .ping
        default: throw BadMessage("type must be one of " + Self.types.joined(separator: ", "))
        }
        try reader.end()
    }

    /// The message as a client sends it.
    public var encoded: [UInt8] {
        switch self {
        case .location(let report): return report.encoded
        case .auth(.token(let token)): return JSONWriter.message("auth") { $0.field("token", token) }
        case .auth(.link(let link)): return JSONWriter.message("auth") { $0.field("link", link) }
        case .subscribe(let job, let since):
            return JSONWriter.message("subscribe") { writer in
                writer.field("job", job.text)
                guard let since else { return }
                writer.object("since") { since.write(into: &$0) }
            }
        case .subscribeAll(let subscriptions): return Self.encoded(subscriptions)
        case .unsubscribe(let job): return JSONWriter.message("unsubscribe") { $0.field("job", job.text) }
        case .travel(let job, let active, let device, let resumes):
            return JSONWriter.message("travel") { writer in
                writer.field("job", job.text)
                writer.field("active", active)
                writer.field("device", device?.text)
                if resumes { writer.field("resume", true) }
            }
        case .watch, .watchJobs, .watchPlaces, .unwatch, .unwatchJobs, .unwatchPlaces: return self.watching
        case .availability, .presence, .unavailable: return self.riderMessage
        case .refresh(let token): return JSONWriter.message("refresh") { $0.field("token", token) }
        case .ping: return JSONWriter.message("ping") { _ in }
        }
    }
}

/// The members of messages with few members.
private struct Fields {
    let message: StaticString
    var job: JobID?
    var active: Bool?
    var token: String?
    var link: String?
    var device: DeviceID?
    var resumes = false

    init(from reader: inout JSONReader, _ message: StaticString) throws(BadMessage) {
        self.message = message
        var members = Members(message)
        let isTravel = message.description == "travel"
        var (job, active, token, link) = (JobID?.none, Bool?.none, String?.none, String?.none)
        var (device, resumes) = (DeviceID?.none, false)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("job") {
                try members.once(0)
                job = try reader.identifier("job")
            } else if name.equals("active") {
                try members.once(1)
                active = try reader.boolean()
            } else if name.equals("token") {
                try members.once(2)
                token = try reader.string()
            } else if name.equals("link") {
                try members.once(3)
                link = try reader.string()
            } else if isTravel, name.equals("device") {
                try members.once(4)
                device = try reader.identifier("device")
            } else if isTravel, name.equals("resume") {
                try members.once(5)
                resumes = try reader.boolean()
            } else {
                try reader.value()
            }
        }
        (self.device, self.resumes) = (device, resumes)
        (self.job, self.active, self.token, self.link) = (job, active, token, link)
    }

    func requiredJob() throws(BadMessage) -> JobID {
        guard let job else { throw BadMessage("\(self.message) needs job") }
        return job
    }
}

extension ResumePoint {
    init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("since")
        var epoch: String?
        var id: StatusID?
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("epoch") {
                try members.once(0)
                let text = try reader.string()
                guard Identifier<Void>(text) != nil else { throw BadMessage("epoch must be the epoch of a snapshot") }
                epoch = text
            } else if name.equals("id") {
                try members.once(1)
                id = try reader.statusID("id")
            } else {
                try reader.value()
            }
        }
        self.init(epoch: try members.required(epoch, "epoch"), id: try members.required(id, "id"))
    }
}
