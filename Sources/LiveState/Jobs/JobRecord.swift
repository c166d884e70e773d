// A job's record in the ledger. The fields are in the order in which recover_job returns them.

package import EnrouteWire
internal import Redis

/// A job to be created.
package struct NewJob: Sendable {
    package var job: JobID
    package var kind: JobKind
    package var customer: PersonID
    package var rider: PersonID?
    package var zone: ZoneID?
    package var destination: Coordinate?
    /// The result of geocoding its address; `nil` when coordinates were given.
    package var geocoded: GeocodedAddress?
    package var vendor: PickupPlace?
    /// Shown to followers.
    package var display: JobDisplay?
    /// For services and operations staff only.
    package var metadata: JobMetadata?
    /// For the rider, services and operations staff.
    package var recipient: Recipient?
    /// When it was created, ms since the epoch, 13 digits; `nil` for now.
    package var occurredAt: Int64?
    /// Id of the request that creates it, at most 128 printable characters; empty for none.
    package var request: String
    /// Who creates the job.
    package var actor: PersonID

    package init(
        job: JobID, kind: JobKind, customer: PersonID, rider: PersonID? = nil, zone: ZoneID? = nil,
        destination: Coordinate? = nil, geocoded: GeocodedAddress? = nil, vendor: PickupPlace? = nil,
        display: JobDisplay? = nil, metadata: JobMetadata? = nil,
        recipient: Recipient? = nil, occurredAt: Int64? = nil, request: String = "", actor: PersonID
    ) {
        self.job = job
        self.kind = kind
        self.customer = customer
        self.rider = rider
        self.zone = zone
        self.destination = destination
        self.geocoded = geocoded
        self.vendor = vendor
        self.display = display
        self.metadata = metadata
        self.recipient = recipient
        self.occurredAt = occurredAt
        self.request = request
        self.actor = actor
    }
}

/// A job's record.
package struct JobRecord: Sendable, Hashable {
    package var kind: JobKind
    package var customer: PersonID
    package var rider: PersonID?
    package var zone: ZoneID?
    package var destination: Coordinate?
    package var geocoded: GeocodedAddress?
    package var vendor: PickupPlace?
    package var status: JobStatus
    /// ms since the epoch
    package var statusAt: Int64
    package var epoch: String
    package var head: StatusID
    package var isTravelling: Bool
    /// ms since the epoch; `nil` before travel mode was first started by this rider
    package var travelDeadline: Int64?
    /// Number of the last decision about who may share its position. A later decision has a greater fence.
    package var fence: Int64
    /// The device that last switched travel mode on for this rider; `nil` before, and in a record that was written before this
    /// field existed.
    package var reporter: Reporter?
    /// Since when this device reports, ms since the epoch; `nil` in a record that was written before this field
    /// existed.
    package var reporterSince: Int64?
    /// The last step of progress; `nil` in a record that was written before this field existed.
    package var reached: JobStatus?
    /// Grows with every change that makes followers read the job again: of its description, its rider or customer, or
    /// its rider's card.
    package var revision: Int64 = 0
    /// Shown to followers.
    package var display: JobDisplay?
    /// When the vendor accepted the delivery, ms since the epoch; `nil` before, and in a record that was written before this
    /// field existed.
    package var acceptedAt: Int64?
    /// For services and operations staff only.
    package var metadata: JobMetadata?
    /// For the rider, services and operations staff.
    package var customerNote: CustomerNote?
    /// For the rider, services and operations staff.
    package var recipient: Recipient?
}

extension JobRecord {
    /// The fields of a record in the order of recover_job.
    static let fields = [
        "kind", "customer", "rider", "zone", "destination", "vendor", "status", "status_at", "epoch", "head",
        "travel_active", "travel_deadline", "fence", "reached", "revision", "display",
        "accepted_at", "metadata", "customer_note", "reporter", "recipient", "reporter_since",
    ]

    /// The fields that lists of jobs and explanations need: all but the last five.
    static let listedFields = Self.fields.prefix(17)

    /// Reads fields of a record without a script: `Self.fields` or `Self.listedFields`.
    static func query<Names: Sequence<String>>(_ fields: Names, of key: String) -> RedisCommand {
        RedisCommand([.text("HMGET"), .text(key)] + fields.map { .text($0) })
    }

    /// - Parameter answer: the reply to `query`.
    init?(answer: RESPValue) {
        self.init((answer.array ?? []).map { $0 == .null ? .string([]) : $0 })
    }

    /// Whether the reply to `query` belongs to a job that does not exist. An erased job keeps its fence for 14 days
    /// (erase_job).
    static func isMissing(_ answer: RESPValue) -> Bool {
        guard let values = answer.array else { return false }
        return zip(Self.fields, values).allSatisfy { name, value in name == "fence" || value == .null }
    }

    /// - Parameter fields: the twenty-two fields of `state` in the reply of recover_job, or the first seventeen.
    init?(_ fields: [RESPValue]) {
        let texts = fields.compactMap(\.text)
        guard texts.count == fields.count, [17, 22].contains(texts.count), let kind = JobKind(rawValue: texts[0]),
            let customer = PersonID(texts[1]),
            let rider = optional(texts[2], { PersonID($0) }), let zone = optional(texts[3], { ZoneID($0) }),
            let status = JobStatus(rawValue: texts[6]), let statusAt = texts[7].timestamp, texts[8].isNonce,
            let head = StatusID(texts[9]), ["", "0", "1"].contains(texts[10]),
            let deadline = optional(texts[11], \.timestamp), let fence = optional(texts[12], \.fence),
            let reached = optional(texts[13], JobStatus.init),
            let vendor = optionalJSON(texts[5], { PickupPlace(json: $0) })
        else { return nil }
        self.kind = kind
        self.customer = customer
        self.rider = rider
        self.zone = zone
        self.destination = Self.place(texts[4])
        self.geocoded = optionalJSON(texts[4]) { GeocodedAddress(json: $0) } ?? nil
        self.vendor = vendor
        self.status = status
        self.statusAt = statusAt
        self.epoch = texts[8]
        self.head = head
        self.isTravelling = texts[10] == "1"
        self.travelDeadline = deadline
        self.fence = fence ?? 0
        self.reached = reached
        // A member that cannot be parsed makes the whole record malformed.
        guard texts[4].isEmpty || self.destination != nil || self.geocoded != nil else { return nil }
        guard let revision = optional(texts[14], \.fence),
            let display = optionalJSON(texts[15], { JobDisplay(json: $0) }),
            let acceptedAt = optional(texts[16], \.timestamp)
        else { return nil }
        self.revision = revision ?? 0
        self.display = display
        self.acceptedAt = acceptedAt
        guard texts.count == 22 else { return }
        // `<rider> <device>`. If the job had another rider before, its device does not count.
        let parts = texts[19].split(separator: " ", omittingEmptySubsequences: false)
        guard texts[19].isEmpty || parts.count == 2,
            let reporter = optional(parts.last.map(String.init) ?? "", { Reporter(stored: $0) }),
            let since = optional(texts[21], \.timestamp),
            let metadata = optionalJSON(texts[17], { JobMetadata(json: $0) }),
            let customerNote = optional(texts[18], { CustomerNote($0) }),
            let recipient = optionalJSON(texts[20], { Recipient(json: $0) })
        else { return nil }
        (self.metadata, self.customerNote, self.recipient) = (metadata, customerNote, recipient)
        let isOfRider = parts.first.map(String.init) == self.rider?.text
        (self.reporter, self.reporterSince) = isOfRider ? (reporter, since) : (nil, nil)
    }

    /// The coordinates of a stored destination.
    static func place(_ text: String) -> Coordinate? {
        (optionalJSON(text) { try? Coordinate(json: $0) }) ?? nil
    }
}
