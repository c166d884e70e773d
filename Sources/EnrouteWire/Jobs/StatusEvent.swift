// A change of a job's status, as followers receive it: in the message `status`, and in a snapshot if it was missed.

/// One change of a job's status.
public struct StatusEvent: Hashable, Sendable {
    /// Nonce of the job's record. Another epoch means another history.
    public var epoch: String
    /// The event before this one; `nil` for the first. If it is not the last one seen, events were missed.
    public var previous: StatusID?
    public var id: StatusID
    public var status: JobStatus
    /// When it happened, ms since the epoch.
    public var at: Int64

    public init(epoch: String, previous: StatusID?, id: StatusID, status: JobStatus, at: Int64) {
        self.epoch = epoch
        self.previous = previous
        self.id = id
        self.status = status
        self.at = at
    }
}

extension StatusEvent {
    func write(into writer: inout JSONWriter) {
        writer.field("epoch", self.epoch)
        writer.field("prev", self.previous?.description ?? "")
        writer.field("id", self.id.description)
        writer.field("status", self.status.rawValue)
        writer.field("at", self.at)
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("status")
        var (epoch, previous, id) = (String?.none, StatusID?.none, StatusID?.none)
        var (status, at) = (JobStatus?.none, Int64?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("epoch") {
                epoch = try reader.string()
            } else if name.equals("prev") {
                previous = StatusID(try reader.string())
            } else if name.equals("id") {
                id = try reader.statusID("id")
            } else if name.equals("status") {
                status = try reader.status()
            } else if name.equals("at") {
                at = try reader.integer()
            } else {
                try reader.value()
            }
        }
        self.init(
            epoch: try members.required(epoch, "epoch"), previous: previous, id: try members.required(id, "id"),
            status: try members.required(status, "status"), at: try members.required(at, "at"))
    }
}

extension JSONReader {
    mutating func status() throws(BadMessage) -> JobStatus {
        guard let status = JobStatus(rawValue: try self.string()) else { throw BadMessage("unknown status") }
        return status
    }
}
