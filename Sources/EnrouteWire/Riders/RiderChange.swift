// A rider's availability as others may follow it: what it declared, whether it can be reached, what it carries, and one
// change of that. Each change has the zone's next version and names the one before, so that who follows a zone's pool
// sees that something is missing.

/// What a rider declared. It stays until the rider, operations or a long silence declare otherwise.
public enum Availability: String, Sendable, CaseIterable {
    case online, offline
}

/// Where an active task of a rider stands.
public enum TaskState: String, Sendable, CaseIterable {
    case accepted
    case arrivedAtStore = "arrived_at_store"
    case pickedUp = "picked_up"
    case inTransit = "in_transit"

    /// The states from which this one may follow; a task begins `accepted`.
    public var predecessors: [TaskState] {
        switch self {
        case .accepted: []
        case .arrivedAtStore: [.accepted]
        case .pickedUp: [.accepted, .arrivedAtStore]
        case .inTransit: [.pickedUp]
        }
    }
}

/// Why a task is a rider's no more.
public enum TaskOutcome: String, Sendable, CaseIterable {
    case completed, cancelled, reassigned
}

extension Named {
    public enum Device {}
}

/// One phone of a rider's, as the app names it.
public typealias DeviceID = Identifier<Named.Device>

/// One change of a rider: what happened, and the rider after it.
public struct RiderChange: Hashable, Sendable {
    /// What happened.
    public enum Kind: String, Sendable, CaseIterable {
        /// The service put it into the zone, changed what it may, or took it out.
        case created, described, approved, withdrawn, removed
        case online, offline
        /// Its heartbeats came no more, while it had a task or none; or they come again, or from another device.
        case unreachable, reachable, device
        case unreachableWithTask = "unreachable_with_task"
        case assigned, released
        /// A task is in this state now.
        case accepted
        case arrivedAtStore = "arrived_at_store"
        case pickedUp = "picked_up"
        case inTransit = "in_transit"
    }

    public var zone: ZoneID
    /// Grows with each change in the zone, by more than one; µs since the epoch or a little more.
    public var version: Int64
    /// Version of the change before this one in the zone, 0 for the first.
    public var previous: Int64
    public var rider: PersonID
    public var kind: Kind
    public var status: Availability
    public var isReachable: Bool
    public var isApproved: Bool
    /// Tasks it has, and may have at once.
    public var tasks: Int
    public var capacity: Int
    /// It is in the pool: online, approved, reachable and below its capacity.
    public var isAvailable: Bool
    /// The task that the change is about.
    public var job: JobID?
    /// ms since the epoch, by the clock of Redis.
    public var at: Int64

    /// It finishes what it has and gets nothing new.
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
    /// The message as the scripts of lua/ publish it.
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

    /// For one that stands within another message too.
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
