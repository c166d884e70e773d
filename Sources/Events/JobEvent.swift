// What an event means for a job. An unknown type, or data without a member that the type needs, is rejected permanently:
// sending it again does not help.

internal import Crypto
package import EnrouteWire

/// A job as described by a created event, which matches the body of POST jobs.
package struct CreatedJob: Sendable, Hashable {
    package let job: JobID
    package let kind: JobKind
    package let customer: PersonID
    package let rider: PersonID?
    package let zone: ZoneID?
    package var destination: Coordinate?
    package var vendor: PickupPlace?
    package var display: JobDisplay?
    package var metadata: JobMetadata?
    package var recipient: Recipient?
    /// An alternative to a destination: an address to be geocoded.
    package var address: String?
    /// The result of geocoding the address.
    package var geocoded: GeocodedAddress?
}

/// Something that happened to a job in another system.
package enum JobEvent: Sendable, Hashable {
    case created(CreatedJob)
    case reached(JobID, JobStatus)
    /// - `rider`: `nil` leaves it unchanged, `.some(nil)` unassigns the rider; `customer`: `nil` leaves it unchanged.
    case assigned(JobID, rider: PersonID??, customer: PersonID?, at: Int64)

    /// Prefix of every event type.
    package static let namespace = "io.enroute.job."

    package var job: JobID {
        switch self {
        case .created(let created): created.job
        case .reached(let job, _), .assigned(let job, _, _, _): job
        }
    }

    package init(_ event: CloudEvent) throws(EventFault) {
        let types = ["created", "status", "assigned", "cancelled"].map { Self.namespace + $0 }
        guard types.contains(event.type) else {
            throw .unusable("type must be one of \(types.joined(separator: ", ")).")
        }
        let details = try event.details.get()
        let job: JobID = try Self.required(details.job, "job")
        switch event.type.dropFirst(Self.namespace.count) {
        case "created":
            guard let kind = details.kind.flatMap(JobKind.init) else {
                throw .unusable("kind must be one of \(JobKind.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            guard !details.hasVehicle else {
                throw .unusable("vehicle belongs in display: \"display\": {\"vehicle\": \"bicycle\"}.")
            }
            self = .created(
                CreatedJob(
                    job: job, kind: kind, customer: try Self.required(details.customer, "customer"),
                    rider: try Self.optional(details.rider ?? nil, "rider"),
                    zone: try Self.optional(details.zone, "zone"),
                    destination: try Self.place(details.destination, "destination"),
                    vendor: try Self.vendor(details.vendor), display: try Self.display(details.display),
                    metadata: try Self.metadata(details.metadata), recipient: try Self.recipient(details.recipient),
                    address: try Self.address(details.address)))
        case "status":
            guard let status = details.status.flatMap(JobStatus.init) else {
                let known = JobStatus.allCases.map(\.rawValue).joined(separator: ", ")
                throw .unusable("status must be one of \(known).")
            }
            self = .reached(job, status)
        case "cancelled": self = .reached(job, .cancelled)
        default:
            guard details.rider != nil || details.customer != nil else {
                throw .unusable("The data needs rider, customer or both. A null rider unassigns the job.")
            }
            // Of two assignments the later one wins, and only their times show which one that is.
            guard let occurredAt = event.occurredAt else {
                throw .unusable("An assigned event needs time, because the later of two assignments wins.")
            }
            var rider: PersonID?? = .none
            if let named = details.rider { rider = .some(try Self.optional(named, "rider")) }
            self = .assigned(
                job, rider: rider, customer: try Self.optional(details.customer, "customer"), at: occurredAt)
        }
    }

    private static func required<Kind>(_ text: String?, _ what: String) throws(EventFault) -> Identifier<Kind> {
        guard let text else { throw .unusable("The data needs \(what).") }
        guard let identifier = Identifier<Kind>(text) else {
            throw .unusable("\(what) must be 1 to \(Identifier<Kind>.longest) characters of [A-Za-z0-9_-].")
        }
        return identifier
    }

    private static func optional<Kind>(_ text: String?, _ what: String) throws(EventFault) -> Identifier<Kind>? {
        guard let text else { return nil }
        return try Self.required(text, what) as Identifier<Kind>
    }

    private static func address(_ text: String?) throws(EventFault) -> String? {
        guard let text else { return nil }
        guard GeocodedAddress.isAddress(text) else {
            throw .unusable("address must be 1 to \(GeocodedAddress.longest) characters.")
        }
        return text
    }

    private static func vendor(_ vendor: VendorDescription?) throws(EventFault) -> PickupPlace? {
        do throws(VendorDescription.Impossible) {
            return try vendor?.place()
        } catch {
            throw .unusable(error.reason)
        }
    }

    private static func display(_ display: JobDisplayDescription?) throws(EventFault) -> JobDisplay? {
        do throws(InvalidDescription) {
            return try display?.display()
        } catch {
            throw .unusable(error.reason)
        }
    }

    private static func metadata(_ values: [String: String]?) throws(EventFault) -> JobMetadata? {
        guard let values else { return nil }
        do throws(InvalidDescription) {
            return try JobMetadata(values)
        } catch {
            throw .unusable(error.reason)
        }
    }

    private static func recipient(_ recipient: RecipientDescription?) throws(EventFault) -> Recipient? {
        do throws(InvalidDescription) {
            return try recipient?.recipient()
        } catch {
            throw .unusable(error.reason)
        }
    }

    private static func place(_ place: JobDetails.Place?, _ what: String) throws(EventFault) -> Coordinate? {
        guard let place else { return nil }
        guard let coordinate = Coordinate(latitude: place.lat, longitude: place.lon) else {
            throw .unusable(
                "\(what) must have lat from -90 to 90 and lon from -180 to 180 degrees, and they must not both be 0.")
        }
        return coordinate
    }
}

extension CloudEvent {
    /// The id under which the ledger recognizes this event: at most 128 printable characters, and different for events that
    /// differ in source or id.
    package var requestID: String {
        let plain = "\(self.source)|\(self.id)"
        // The first bar separates source and id, so the source must not contain one.
        let isPlain = plain.utf8.count <= 128 && plain.utf8.allSatisfy { (33...126).contains($0) }
        if isPlain, !self.source.contains("|") { return plain }
        return "sha256:\(self.digest)"
    }

    /// The epoch of a job that this event creates: the same for each delivery of this event, and unique to it.
    package var epoch: String { String(self.digest.prefix(32)) }

    /// Hexadecimal, 64 digits.
    private var digest: String {
        let named = "\(self.source.utf8.count)|\(self.source)|\(self.id)"
        return SHA256.hash(data: Array(named.utf8)).hexadecimal
    }
}
