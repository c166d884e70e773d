// The status log of a job, as REST returns it: what happened and when, and for operations and services also who caused
// it.

/// An assignment that is recorded in a job's log, because it arrived after a later one or after the end of the job.
public struct LateAssignment: Hashable, Sendable {
    /// `nil` if it left the rider unchanged, `.some(nil)` if it removed the rider.
    public var rider: PersonID??
    /// `nil` if it left the customer unchanged.
    public var customer: PersonID?

    public init(rider: PersonID??, customer: PersonID?) { (self.rider, self.customer) = (rider, customer) }
}

/// One entry of a job's status log.
public struct StatusLogEntry: Hashable, Sendable {
    public var id: StatusID
    /// The previous entry, `nil` for the first of the job. The log may no longer contain it.
    public var previous: StatusID?
    public var status: JobStatus
    /// When it happened, ms since the epoch.
    public var at: Int64
    /// When it was stored, ms since the epoch, by the clock of Redis.
    public var recordedAt: Int64
    /// Who caused it; `nil` for readers who may not know.
    public var actor: String?
    /// The source of the change: `create`, `rest`, `socket` or `event`.
    public var source: String
    /// The id of the request; `nil` if there was none, or for readers who may not know.
    public var request: String?
    /// Whether the event was overtaken by later ones. It is recorded in the log but never was the job's status.
    public var isLate = false
    /// An assignment that was overtaken; `status` is then the job's status when it arrived.
    public var assignment: LateAssignment?
    /// The wrong status that this entry corrects.
    public var corrected: JobStatus?
    /// Why it was corrected; `nil` for readers who may not know.
    public var reason: String?

    public init(
        id: StatusID, previous: StatusID?, status: JobStatus, at: Int64, recordedAt: Int64, actor: String?,
        source: String, request: String?
    ) {
        self.id = id
        self.previous = previous
        self.status = status
        self.at = at
        self.recordedAt = recordedAt
        self.actor = actor
        self.source = source
        self.request = request
    }

    /// The entry for readers who may not know who caused it.
    public var withoutActor: StatusLogEntry {
        var entry = self
        (entry.actor, entry.request, entry.reason) = (nil, nil, nil)
        return entry
    }
}

/// The newest entries of a job's status log, at most 64, oldest first.
public struct StatusLog: Hashable, Sendable {
    public var job: JobID
    /// The epoch of the job's record.
    public var epoch: String
    public var entries: [StatusLogEntry]

    public init(job: JobID, epoch: String, entries: [StatusLogEntry]) {
        self.job = job
        self.epoch = epoch
        self.entries = entries
    }

    /// The log for readers who may not know who caused the changes, and whom the job was assigned to.
    public var withoutActors: StatusLog {
        var log = self
        log.entries = self.entries.filter { $0.assignment == nil }.map(\.withoutActor)
        return log
    }

    /// `{"job": …, "epoch": …, "events": […]}`
    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 64 + 192 * self.entries.count)
        writer.object { writer in
            writer.field("job", self.job.text)
            writer.field("epoch", self.epoch)
            writer.array("events", self.entries) { writer, entry in writer.object { entry.write(into: &$0) } }
        }
        return writer.bytes
    }
}

extension StatusLogEntry {
    func write(into writer: inout JSONWriter) {
        writer.field("id", self.id.description)
        writer.field("prev", self.previous?.description ?? "")
        writer.field("status", self.status.rawValue)
        writer.field("at", self.at)
        writer.field("recorded", self.recordedAt)
        writer.field("actor", self.actor)
        writer.field("source", self.source)
        writer.field("request", self.request)
        if self.isLate { writer.field("late", true) }
        if let assignment {
            writer.object("assigned") { writer in
                switch assignment.rider {
                case .none: break
                case .some(nil): writer.raw("rider", nil)
                case .some(let rider?): writer.field("rider", rider.text)
                }
                writer.field("customer", assignment.customer?.text)
            }
        }
        writer.field("corrected", self.corrected?.rawValue)
        writer.field("reason", self.reason)
    }
}
