// What an event means for a job. A type that is not ours, or data that lacks what its type needs, is refused for good: the
// sender may repeat it as often as it likes.

internal import Crypto
package import EnrouteWire

/// A job as a created event has it: the body of POST jobs.
package struct CreatedJob: Sendable, Hashable {
    package let job: JobID
    package let kind: JobKind
    package let customer: PersonID
    package let rider: PersonID?
    package let zone: ZoneID?
    package var destination: Coordinate?
    package var vendor: PickupPlace?
    /// In the place of a destination: it has to be looked up.
    package var address: String?
    /// What that came to.
    package var geocoded: GeocodedAddress?
}

/// Something that happened to a job, elsewhere.
package enum JobEvent: Sendable, Hashable {
    case created(CreatedJob)
    case reached(JobID, JobStatus)
    /// - `rider`: `nil` leaves it as it is, `.some(nil)` takes the job from its rider; `customer`: `nil` leaves it as it is.
    case assigned(JobID, rider: PersonID??, customer: PersonID?, at: Int64)

    /// Every type begins so.
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
            self = .created(
                CreatedJob(
                    job: job, kind: kind, customer: try Self.required(details.customer, "customer"),
                    rider: try Self.optional(details.rider ?? nil, "rider"),
                    zone: try Self.optional(details.zone, "zone"),
                    destination: try Self.place(details.destination, "destination"),
                    vendor: try Self.vendor(details.vendor), address: try Self.address(details.address)))
        case "status":
            guard let status = details.status.flatMap(JobStatus.init) else {
                let known = JobStatus.allCases.map(\.rawValue).joined(separator: ", ")
                throw .unusable("status must be one of \(known).")
            }
            self = .reached(job, status)
        case "cancelled": self = .reached(job, .cancelled)
        default:
            guard details.rider != nil || details.customer != nil else {
                throw .unusable("The data needs rider, customer or both. A rider of null takes the job from its rider.")
            }
            // Of two the later one holds; nothing else tells which that is.
            guard let occurredAt = event.occurredAt else {
                throw .unusable("An assigned event needs time: it says which of two came later.")
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
            throw .unusable("\(what) must be 1 to \(Identifier<Kind>.longest) of [A-Za-z0-9_-].")
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

    private static func place(_ place: JobDetails.Place?, _ what: String) throws(EventFault) -> Coordinate? {
        guard let place else { return nil }
        guard let coordinate = Coordinate(latitude: place.lat, longitude: place.lon) else {
            throw .unusable("\(what) must have lat from -90 to 90 and lon from -180 to 180 degrees, and not both 0.")
        }
        return coordinate
    }
}

extension CloudEvent {
    /// Under which the ledger knows the event again: at most 128 printable characters, and never the same for two events
    /// that differ in source or id.
    package var requestID: String {
        let plain = "\(self.source)|\(self.id)"
        // The first bar ends the source, so it may hold none itself.
        let isPlain = plain.utf8.count <= 128 && plain.utf8.allSatisfy { (33...126).contains($0) }
        if isPlain, !self.source.contains("|") { return plain }
        return "sha256:\(self.digest)"
    }

    /// The epoch of a job that this event creates: the same when it comes again, and no other event's.
    package var epoch: String { String(self.digest.prefix(32)) }

    /// Hexadecimal, 64 digits.
    private var digest: String {
        let named = "\(self.source.utf8.count)|\(self.source)|\(self.id)"
        return SHA256.hash(data: Array(named.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
