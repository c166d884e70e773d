// A rider's availability as watchers receive it: what the rider declared, whether they are reachable, their tasks, and
// one change of these. Each change has the zone's next version and contains the previous one, so a watcher notices
// missing changes.

/// The availability that a rider declared. It applies until the rider or operations staff change it, or until a long silence
/// sets the rider offline.
public enum Availability: String, Sendable, CaseIterable {
    case online, offline
}

/// The state of a rider's active task.
public enum TaskState: String, Sendable, CaseIterable {
    case accepted
    case arrivedAtStore = "arrived_at_store"
    case pickedUp = "picked_up"
    case inTransit = "in_transit"

    /// The states that this one may follow. The first state of a task is `accepted`.
    public var predecessors: [TaskState] {
        switch self {
        case .accepted: []
        case .arrivedAtStore: [.accepted]
        case .pickedUp: [.accepted, .arrivedAtStore]
        case .inTransit: [.pickedUp]
        }
    }
}

/// Why a task ended for a rider.
public enum TaskOutcome: String, Sendable, CaseIterable {
    case completed, cancelled, reassigned
}

extension Named {
    public enum Device {}
}

/// The id of one of a rider's phones, chosen by the app.
public typealias DeviceID = Identifier<Named.Device>

/// One change of a rider: what changed, and the rider's state after it.
public struct RiderChange: Hashable, Sendable {
    /// What changed.
    public enum Kind: String, Sendable, CaseIterable {
        /// The service added the rider to the zone, changed their approval or capacity, or removed them.
        case created, described, approved, withdrawn, removed
        case online, offline
        /// The rider's heartbeats stopped (with an active task or without), arrive again, or arrive from another
        /// device.
        case unreachable, reachable, device
        case unreachableWithTask = "unreachable_with_task"
        case assigned, released
        /// The state of a task changed to this one.
        case accepted
        case arrivedAtStore = "arrived_at_store"
        case pickedUp = "picked_up"
        case inTransit = "in_transit"
    }

    public var zone: ZoneID
    /// The version of the zone after the change. Versions increase by more than one; they are about µs since the epoch.
    public var version: Int64
    /// The version of the zone's previous change, 0 for the first.
    public var previous: Int64
    public var rider: PersonID
    public var kind: Kind
    public var status: Availability
    public var isReachable: Bool
    public var isApproved: Bool
    /// The number of active tasks, and its maximum.
    public var tasks: Int
    public var capacity: Int
    /// Whether the rider is in the pool: online, approved, reachable and below their capacity.
    public var isAvailable: Bool
    /// The job of the task that changed.
    public var job: JobID?
    /// ms since the epoch, by the clock of Redis.
    public var at: Int64

    /// Whether the rider finishes their tasks and gets no new ones.
    public var isDraining: Bool { !self.isApproved && self.tasks > 0 }

    public init(
        zone: ZoneID, version: Int64, previous: Int64, rider: PersonID, kind: Kind, status: Availability,
        isReachable: Bool, isApproved: Bool, tasks: Int, capacity: Int, isAvailable: Bool, job: JobID?, at: Int64
    ) {
        self.zone = zone
        self.version = version
        self.previous = previous
        self.rider = rider
        self.kind = kind
        self.status = status
        self.isReachable = isReachable
        self.isApproved = isApproved
        self.tasks = tasks
        self.capacity = capacity
        self.isAvailable = isAvailable
        self.job = job
        self.at = at
    }
}

extension RiderChange {
    /// The message as the Lua scripts publish it.
    public var encoded: [UInt8] {
        JSONWriter.message("rider") { writer in
            writer.field("zone", self.zone.text)
            writer.field("version", self.version)
            writer.field("prev", self.previous)
            writer.field("rider", self.rider.text)
            writer.field("change", self.kind.rawValue)
            writer.field("status", self.status.rawValue)
            writer.field("reachable", self.isReachable)
            writer.field("approved", self.isApproved)
            writer.field("draining", self.isDraining)
            writer.field("tasks", Int64(self.tasks))
            writer.field("capacity", Int64(self.capacity))
            writer.field("available", self.isAvailable)
            writer.field("job", self.job?.text)
            writer.field("at", self.at)
        }
    }

    public init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        var reader = JSONReader(bytes)
        try self.init(from: &reader)
        try reader.end()
    }

    /// Reads a change that is a message, or part of another message.
    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("rider")
        var (type, zone, rider, job) = (String?.none, ZoneID?.none, PersonID?.none, JobID?.none)
        var (version, previous, at) = (Int64?.none, Int64?.none, Int64?.none)
        var (tasks, capacity) = (Int64?.none, Int64?.none)
        var (kind, status) = (Kind?.none, Availability?.none)
        var (isReachable, isApproved, isAvailable) = (Bool?.none, Bool?.none, Bool?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "type": type = try reader.string()
            case "zone": zone = try reader.identifier("zone")
            case "version": version = try reader.integer()
            case "prev": previous = try reader.integer()
            case "rider": rider = try reader.identifier("rider")
            case "change": kind = Kind(rawValue: try reader.string())
            case "status": status = Availability(rawValue: try reader.string())
            case "reachable": isReachable = try reader.boolean()
            case "approved": isApproved = try reader.boolean()
            case "tasks": tasks = try reader.integer()
            case "capacity": capacity = try reader.integer()
            case "available": isAvailable = try reader.boolean()
            case "job": job = try reader.identifier("job")
            case "at": at = try reader.integer()
            default: try reader.value()
            }
        }
        guard type == "rider" else { throw BadMessage("the message is not a change of a rider") }
        self.init(
            zone: try members.required(zone, "zone"), version: try members.required(version, "version"),
            previous: try members.required(previous, "prev"), rider: try members.required(rider, "rider"),
            kind: try members.required(kind, "change"), status: try members.required(status, "status"),
            isReachable: try members.required(isReachable, "reachable"),
            isApproved: try members.required(isApproved, "approved"),
            tasks: Int(clamping: try members.required(tasks, "tasks")),
            capacity: Int(clamping: try members.required(capacity, "capacity")),
            isAvailable: try members.required(isAvailable, "available"), job: job,
            at: try members.required(at, "at"))
    }
}
