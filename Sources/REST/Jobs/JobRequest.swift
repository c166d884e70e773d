// What an order system sends to create or update a job: the body of POST and PUT, and the values in it after validation.

internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState

/// A job as an order system describes it. Its values are valid, but not yet checked together with the stored ones.
struct JobRequest {
    /// The body of the request.
    struct Body: Decodable {
        struct Place: Decodable {
            var lat: Double
            var lon: Double
        }
        /// Required by POST. With PUT the job is in the path.
        var job: String?
        var kind: String
        var customer: String?
        var rider: String?
        var zone: String?
        var destination: Place?
        /// Instead of `destination`, if its coordinates are unknown.
        var address: String?
        var vendor: VendorDescription?
        /// Shown to followers. An empty object removes it.
        var display: JobDisplayDescription?
        /// For services and operations staff. An empty object removes it.
        var metadata: [String: String]?
        /// For the rider, services and operations staff. An empty object removes it.
        var recipient: RecipientDescription?
        /// Belongs in `display`. It is refused here because it would otherwise be ignored silently.
        var vehicle: String?
    }

    let job: JobID
    let kind: JobKind
    let customer: PersonID?
    let rider: PersonID?
    let zone: ZoneID?
    var destination: Coordinate?
    let address: String?
    /// The result of geocoding `address`.
    var geocoded: GeocodedAddress?
    var vendor: PickupPlace?
    let display: JobDisplay?
    let metadata: JobMetadata?
    let recipient: Recipient?

    init(_ job: JobID, _ body: Body) throws {
        guard let kind = JobKind(rawValue: body.kind) else {
            let kinds = JobKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Routes.unprocessable("kind must be one of \(kinds).")
        }
        guard body.vehicle == nil else {
            throw Routes.unprocessable("vehicle belongs in display: \"display\": {\"vehicle\": \"bicycle\"}.")
        }
        self.job = job
        self.kind = kind
        self.customer = try body.customer.map { try Routes.name($0, "customer") }
        self.rider = try body.rider.map { try Routes.name($0, "rider") }
        self.zone = try body.zone.map { try Routes.name($0, "zone") }
        self.destination = try body.destination.map { try Routes.place($0.lat, $0.lon) }
        self.address = try body.address.map { try Self.address($0) }
        do throws(VendorDescription.Impossible) {
            self.vendor = try body.vendor?.place()
        } catch {
            throw Routes.unprocessable(error.reason)
        }
        do throws(InvalidDescription) {
            self.display = try body.display?.display()
            self.metadata = try body.metadata.map { (values) throws(InvalidDescription) in try JobMetadata(values) }
            self.recipient = try body.recipient?.recipient()
        } catch {
            throw Routes.unprocessable(error.reason)
        }
    }

    /// Whether the request must be checked against the job's record: its rider against the stored one, or a place or the
    /// zone against those that are stored.
    var isCheckedWithRecord: Bool {
        guard self.rider == nil else { return true }
        let given = [self.vendor != nil, self.destination != nil, self.zone != nil]
        return given.contains(true) && given.contains(false)
    }

    private static func address(_ text: String) throws -> String {
        guard GeocodedAddress.isAddress(text) else {
            throw Routes.unprocessable("address must be 1 to \(GeocodedAddress.longest) characters.")
        }
        return text
    }
}
