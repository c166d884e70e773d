// A job in a list: what a person may see without following it.

/// One job of a list.
public struct JobSummary: Hashable, Sendable {
    public var job: JobID
    public var kind: JobKind
    public var status: JobStatus
    /// ms since the epoch
    public var statusAt: Int64
    /// Epoch and id of the newest status, from which a client can follow the job.
    public var epoch: String
    public var id: StatusID
    /// The name of the vendor, if the job has one.
    public var vendor: String?
    public var display: JobDisplay?
    /// For services and operations staff: the people, the zone and the metadata.
    public var customer: PersonID?
    public var rider: PersonID?
    public var zone: ZoneID?
    public var metadata: JobMetadata?

    public init(
        job: JobID, kind: JobKind, status: JobStatus, statusAt: Int64, epoch: String, id: StatusID,
        vendor: String? = nil, display: JobDisplay? = nil
    ) {
        (self.job, self.kind, self.status, self.statusAt) = (job, kind, status, statusAt)
        (self.epoch, self.id, self.vendor, self.display) = (epoch, id, vendor, display)
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("job", self.job.text)
            writer.field("kind", self.kind.rawValue)
            writer.field("status", self.status.rawValue)
            writer.field("statusAt", self.statusAt)
            writer.field("epoch", self.epoch)
            writer.field("id", self.id.description)
            writer.field("vendor", self.vendor)
            if let display { writer.object("display") { display.write(into: &$0) } }
            writer.field("customer", self.customer?.text)
            writer.field("rider", self.rider?.text)
            writer.field("zone", self.zone?.text)
            if let metadata { writer.object("metadata") { metadata.write(into: &$0) } }
        }
    }
}

/// A page of a list of jobs.
public struct JobSummaries: Hashable, Sendable {
    public var jobs: [JobSummary]
    /// The value of `cursor` for the next page; `nil` on the last one.
    public var next: String?

    public init(jobs: [JobSummary], next: String?) { (self.jobs, self.next) = (jobs, next) }

    /// `{"jobs": […], "next": …}`
    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 256 + 256 * self.jobs.count)
        writer.object { writer in
            writer.array("jobs", self.jobs) { $1.write(to: &$0) }
            writer.field("next", self.next)
        }
        return writer.bytes
    }
}
