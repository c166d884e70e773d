// One event of the stream of all events, with the attributes of a CloudEvents 1.0 envelope. It never contains a
// location.

package import EnrouteWire
internal import FoundationEssentials
internal import Redis

/// An event about a job or a rider, for other systems.
package struct LedgerEvent: Sendable, Hashable {
    /// What happened: the `type` of CloudEvents.
    package enum Kind: String, Sendable, CaseIterable {
        case created = "enroute.job.created"
        case described = "enroute.job.described"
        case statusChanged = "enroute.job.status.changed"
        case corrected = "enroute.job.corrected"
        case assigned = "enroute.job.assigned"
        case travelStarted = "enroute.job.travel.started"
        case travelEnded = "enroute.job.travel.ended"
        case trackingChanged = "enroute.job.tracking.changed"
        case proximityChanged = "enroute.job.proximity.changed"
        case etaChanged = "enroute.job.eta.changed"
        case closed = "enroute.job.closed"
        case erased = "enroute.job.erased"
        case riderAvailabilityChanged = "enroute.rider.availability.changed"
        case riderUnreachableWithTask = "enroute.rider.unreachable_with_task"
        /// Sent only by a test of an endpoint; not in the stream.
        case test = "enroute.webhook.test"

        /// Prefix of the types of events about riders.
        static let ofRiders = "enroute.rider."

        /// Whether the subject is a job.
        package var isAboutJob: Bool {
            switch self {
            case .created, .described, .statusChanged, .corrected, .assigned, .travelStarted, .travelEnded,
                .trackingChanged, .proximityChanged, .etaChanged, .closed, .erased:
                true
            case .riderAvailabilityChanged, .riderUnreachableWithTask, .test: false
            }
        }
    }

    /// Unique and stable: a repeat of the same event has the same id.
    package var id: String
    package var kind: Kind
    /// When it happened, ms since the epoch.
    package var time: Int64
    /// The job or the rider.
    package var subject: String
    /// Nonce of the job's record; empty for an event about a rider.
    package var epoch: String
    /// The event's number among those of the job's record, or the version of the zone's riders; 0 for an event with
    /// neither.
    package var version: Int64
    package var zone: ZoneID?
    /// A JSON object.
    package var data: String

    /// Maximum size of `data` in bytes. Everything that Enroute writes is shorter.
    static let longestData = 8_192
    private static let longestID = 160

    package init(
        id: String, kind: Kind, time: Int64, subject: String, epoch: String = "", version: Int64 = 0,
        zone: ZoneID? = nil, data: String
    ) {
        (self.id, self.kind, self.time, self.subject) = (id, kind, time, subject)
        (self.epoch, self.version, self.zone, self.data) = (epoch, version, zone, data)
    }

    /// The fields of an entry of the stream.
    var fields: [RedisCommand.Word] {
        [
            "id", .text(self.id), "type", .text(self.kind.rawValue), "time", .integer(self.time), "subject",
            .text(self.subject), "epoch", .text(self.epoch), "version", .integer(self.version), "zone",
            .text(self.zone?.text ?? ""), "data", .text(self.data),
        ]
    }

    /// - Parameter fields: names and values of an entry in turn.
    /// - Returns: `nil` if it is not an event that Enroute writes.
    package init?(fields: [String: String]) {
        guard let id = fields["id"], (1...Self.longestID).contains(id.utf8.count), id.utf8.allSatisfy(Self.isInID),
            let kind = fields["type"].flatMap(Kind.init), let time = fields["time"]?.timestamp,
            let subject = fields["subject"], subject.isNonce, let epoch = fields["epoch"],
            epoch.isEmpty || epoch.isNonce, let version = fields["version"]?.version,
            let zone = optional(fields["zone"] ?? "", { ZoneID($0) }), let data = fields["data"],
            data.utf8.count <= Self.longestData, data.hasPrefix("{"), AnyJSON.isValid(data)
        else { return nil }
        self.init(
            id: id, kind: kind, time: time, subject: subject, epoch: epoch, version: version, zone: zone, data: data)
    }

    private static func isInID(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || ".-_".utf8.contains(byte)
    }

    /// The event as JSON: the structured mode of CloudEvents.
    package var body: String {
        // No member but `data`, which is JSON, contains a character that JSON escapes.
        //
        // Adds half a millisecond, because the style truncates and a floating-point number of seconds may be a little too
        // small.
        let date = Date(timeIntervalSince1970: (Double(self.time) + 0.5) / 1000)
        var body =
            "{\"specversion\":\"1.0\",\"id\":\"\(self.id)\",\"source\":\"/enroute\",\"type\":\"\(self.kind.rawValue)\""
        body += ",\"subject\":\"\(self.subject)\",\"time\":\"\(Self.style.format(date))\""
        if !self.epoch.isEmpty { body += ",\"epoch\":\"\(self.epoch)\"" }
        if self.version > 0 { body += ",\"version\":\"\(self.version)\"" }
        if let zone { body += ",\"zone\":\"\(zone.text)\"" }
        return body + ",\"datacontenttype\":\"application/json\",\"data\":\(self.data)}"
    }

    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}

/// Accepts any JSON.
private struct AnyJSON: Decodable {
    init(from decoder: any Decoder) throws {}

    static func isValid(_ text: String) -> Bool {
        (try? JSONDecoder().decode(AnyJSON.self, from: Data(text.utf8))) != nil
    }
}
