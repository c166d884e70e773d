// The whole state of a job at one moment: the first message that a follower receives, the message after a reset, and the
// response of REST.

/// A job as its followers may see it.
public struct Snapshot: Hashable, Sendable {
    public var kind: JobKind
    public var status: JobStatus
    /// When the status began, ms since the epoch.
    public var statusAt: Int64
    /// All steps of the kind in order, with their states.
    public var steps: [ProgressStep]
    public var epoch: String
    /// The id of the last status event that the snapshot includes.
    public var id: StatusID
    /// Where the job ends; `nil` if the job has no destination.
    public var destination: Coordinate?
    /// The name of the vendor, if the job has one.
    public var vendor: String?
    /// The vendor's address as it was written.
    public var vendorAddress: String?
    /// Who is coming; `nil` without a rider, without a card, or in a status that does not show the rider.
    public var riderCard: RiderCard?
    /// Details for the people who follow the job.
    public var display: JobDisplay?
    /// Details that only services and operations staff receive.
    public var metadata: JobMetadata?
    /// The customer's note for the rider. The rider, services and operations staff receive it.
    public var customerNote: CustomerNote?
    /// The person to whom the rider delivers, or whom it visits. The rider, services and operations staff receive it.
    public var recipient: Recipient?
    /// The result of looking up the destination's address; `nil` if the destination was given as coordinates.
    public var geocoding: GeocodingState?
    public var tracking: TrackingState
    /// Why no position is shown; `nil` while positions may be shown.
    public var reason: EndReason?
    /// The text that explains why there is no new location, if the reason is known.
    public var unavailable: TrackingTextKey?
    /// When the rider's phone last reported a position, ms since the epoch, if travel mode is on and the position is too old to
    /// be stored.
    public var lastSeenAt: Int64?
    /// Until when travel mode may be on, ms since the epoch; `nil` before travel mode was first switched on.
    public var travelDeadline: Int64?
    /// The last known position as it was published, and its age when the snapshot was created.
    public var position: [UInt8]?
    public var positionAgeMilliseconds: Int64?
    /// The last arrival time that was published.
    public var eta: ArrivalEstimate?
    /// The status events that a resuming follower missed, oldest first.
    public var missed: [StatusEvent]

    public init(
        kind: JobKind, status: JobStatus, statusAt: Int64, steps: [ProgressStep]? = nil, epoch: String, id: StatusID,
        destination: Coordinate? = nil, geocoding: GeocodingState? = nil, tracking: TrackingState,
        reason: EndReason? = nil, travelDeadline: Int64? = nil, position: [UInt8]? = nil,
        positionAgeMilliseconds: Int64? = nil, eta: ArrivalEstimate? = nil, missed: [StatusEvent] = []
    ) {
        self.kind = kind
        self.status = status
        self.statusAt = statusAt
        self.steps = steps ?? kind.progress(at: status)
        self.epoch = epoch
        self.id = id
        self.destination = destination
        self.geocoding = geocoding
        self.tracking = tracking
        self.reason = reason
        self.travelDeadline = travelDeadline
        self.position = position
        self.positionAgeMilliseconds = positionAgeMilliseconds
        self.eta = eta
        self.missed = missed
    }

    /// The position, decoded.
    public var location: Location? {
        self.position.flatMap { bytes in
            bytes.withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                return try? Location(from: &reader)
            }
        }
    }
}

extension Snapshot: CustomReflectable {
    /// Everything except the position, which must not appear in logs.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "kind": self.kind, "status": self.status, "statusAt": self.statusAt, "epoch": self.epoch,
                "id": self.id, "tracking": self.tracking, "travelDeadline": self.travelDeadline as Any,
                "position": self.position == nil ? "none" : "<a place>",
                "positionAgeMs": self.positionAgeMilliseconds as Any, "eta": self.eta as Any, "missed": self.missed,
            ], displayStyle: .struct)
    }
}

extension Snapshot {
    func write(into writer: inout JSONWriter) {
        writer.field("kind", self.kind.rawValue)
        writer.field("status", self.status.rawValue)
        writer.field("statusAt", self.statusAt)
        writer.array("steps", self.steps) { writer, step in
            writer.object { writer in
                writer.field("status", step.status.rawValue)
                writer.field("state", step.state.rawValue)
            }
        }
        writer.field("epoch", self.epoch)
        writer.field("id", self.id.description)
        if let destination {
            writer.object("destination") { writer in
                writer.field("lat", destination.latitude, decimals: 7)
                writer.field("lon", destination.longitude, decimals: 7)
            }
        }
        writer.field("vendor", self.vendor)
        writer.field("vendorAddress", self.vendorAddress)
        if let riderCard { writer.object("riderCard") { riderCard.write(into: &$0) } }
        if let display { writer.object("display") { display.write(into: &$0) } }
        if let metadata { writer.object("metadata") { metadata.write(into: &$0) } }
        writer.field("customerNote", self.customerNote?.text)
        if let recipient { writer.object("recipient") { recipient.write(into: &$0) } }
        writer.field("geocoding", self.geocoding?.rawValue)
        writer.field("tracking", self.tracking.rawValue)
        writer.field("reason", self.reason?.rawValue)
        writer.field("text", self.tracking.text(self.reason).rawValue)
        writer.field("unavailable", self.unavailable?.rawValue)
        writer.field("lastSeenAt", self.lastSeenAt)
        writer.field("travelDeadline", self.travelDeadline)
        writer.raw("position", self.position)
        writer.field("positionAgeMs", self.positionAgeMilliseconds)
        if let eta = self.eta { writer.object("eta") { eta.write(into: &$0) } }
        writer.array("missed", self.missed) { writer, event in
            writer.object { event.write(into: &$0) }
        }
    }

    /// The snapshot as REST returns it.
    public func json(job: JobID) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("job", job.text)
            self.write(into: &writer)
        }
        return writer.bytes
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("snapshot")
        var (kind, status, statusAt) = (JobKind?.none, JobStatus?.none, Int64?.none)
        var (epoch, id, tracking) = (String?.none, StatusID?.none, TrackingState?.none)
        var (destination, deadline) = (Coordinate?.none, Int64?.none)
        var steps: [ProgressStep]?
        var (reason, unavailable) = (EndReason?.none, TrackingTextKey?.none)
        var (position, age, missed) = ([UInt8]?.none, Int64?.none, [StatusEvent]())
        var eta: ArrivalEstimate?
        var (riderCard, display, metadata) = (RiderCard?.none, JobDisplay?.none, JobMetadata?.none)
        var lastSeenAt: Int64?
        var (customerNote, recipient) = (CustomerNote?.none, Recipient?.none)
        var (geocoding, vendor, vendorAddress) = (GeocodingState?.none, String?.none, String?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "kind": kind = JobKind(rawValue: try reader.string())
            case "status": status = try reader.status()
            case "statusAt": statusAt = try reader.integer()
            case "steps":
                var read: [ProgressStep] = []
                try reader.array { (reader) throws(BadMessage) in read.append(try ProgressStep(from: &reader)) }
                steps = read
            case "epoch": epoch = try reader.string()
            case "id": id = try reader.statusID("id")
            case "destination": destination = try Coordinate(from: &reader)
            case "vendor": vendor = try reader.string()
            case "vendorAddress": vendorAddress = try reader.string()
            case "riderCard": riderCard = try RiderCard(from: &reader)
            case "display": display = try JobDisplay(from: &reader)
            case "metadata": metadata = try JobMetadata(from: &reader)
            case "customerNote": customerNote = CustomerNote(try reader.string())
            case "recipient": recipient = try Recipient(from: &reader)
            case "geocoding": geocoding = GeocodingState(rawValue: try reader.string())
            case "tracking": tracking = TrackingState(rawValue: try reader.string())
            case "reason": reason = EndReason(rawValue: try reader.string())
            case "unavailable": unavailable = TrackingTextKey(rawValue: try reader.string())
            case "lastSeenAt": lastSeenAt = try reader.integer()
            case "travelDeadline": deadline = try reader.integer()
            case "position": position = reader.null() ? nil : Array(try reader.value())
            case "positionAgeMs": age = try reader.integer()
            case "eta": eta = try ArrivalEstimate(from: &reader)
            case "missed":
                try reader.array { (reader) throws(BadMessage) in missed.append(try StatusEvent(from: &reader)) }
            default: try reader.value()
            }
        }
        self.init(
            kind: try members.required(kind, "kind"), status: try members.required(status, "status"),
            statusAt: try members.required(statusAt, "statusAt"), steps: steps,
            epoch: try members.required(epoch, "epoch"),
            id: try members.required(id, "id"), destination: destination, geocoding: geocoding,
            tracking: try members.required(tracking, "tracking"), reason: reason, travelDeadline: deadline,
            position: position, positionAgeMilliseconds: age, eta: eta, missed: missed)
        (self.unavailable, self.lastSeenAt) = (unavailable, lastSeenAt)
        (self.vendor, self.vendorAddress) = (vendor, vendorAddress)
        (self.riderCard, self.display, self.metadata) = (riderCard, display, metadata)
        (self.customerNote, self.recipient) = (customerNote, recipient)
    }
}
