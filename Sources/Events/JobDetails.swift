// The data of an event: everything that any event type may say about a job, before the type decides what it needs.

internal import EnrouteWire
internal import FoundationEssentials

/// The members of the data. Absent members are `nil`, unknown ones are ignored.
struct JobDetails: Decodable, Sendable {
    struct Place: Decodable, Sendable {
        var lat: Double
        var lon: Double
    }

    var job: String?
    var kind: String?
    var status: String?
    var customer: String?
    var zone: String?
    var destination: Place?
    /// An alternative to `destination`.
    var address: String?
    var vendor: VendorDescription?
    var display: JobDisplayDescription?
    var metadata: [String: String]?
    var recipient: RecipientDescription?
    /// Whether there is a `vehicle`, which belongs in `display` and would be ignored silently here.
    var hasVehicle = false
    /// `.some(nil)` when the member is null: no rider.
    var rider: String??

    private enum CodingKeys: CodingKey {
        case job, kind, status, customer, zone, destination, address, vendor, display, metadata, recipient, rider,
            vehicle
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.job = try members.decodeIfPresent(String.self, forKey: .job)
        self.kind = try members.decodeIfPresent(String.self, forKey: .kind)
        self.status = try members.decodeIfPresent(String.self, forKey: .status)
        self.customer = try members.decodeIfPresent(String.self, forKey: .customer)
        self.zone = try members.decodeIfPresent(String.self, forKey: .zone)
        self.destination = try members.decodeIfPresent(Place.self, forKey: .destination)
        self.address = try members.decodeIfPresent(String.self, forKey: .address)
        self.vendor = try members.decodeIfPresent(VendorDescription.self, forKey: .vendor)
        self.display = try members.decodeIfPresent(JobDisplayDescription.self, forKey: .display)
        self.metadata = try members.decodeIfPresent([String: String].self, forKey: .metadata)
        self.recipient = try members.decodeIfPresent(RecipientDescription.self, forKey: .recipient)
        self.hasVehicle = try members.contains(.vehicle) && !members.decodeNil(forKey: .vehicle)
        self.rider =
            members.contains(.rider) ? .some(try members.decodeIfPresent(String.self, forKey: .rider)) : .none
    }

    static func decode(_ body: some Sequence<UInt8>) -> Result<JobDetails, EventFault> {
        let body = Data(body)
        do throws(StrictJSON.Fault) { try StrictJSON.check(body) } catch {
            return .failure(.unusable(error.reason("The data")))
        }
        do {
            return .success(try JSONDecoder().decode(JobDetails.self, from: body))
        } catch {
            return .failure(.unusable(Self.reason(error)))
        }
    }

    /// Describes why data cannot be decoded.
    static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.typeMismatch(_, let place), DecodingError.valueNotFound(_, let place):
            guard let member = Self.member(at: place.codingPath) else { break }
            return "\(member) in the data has the wrong type."
        case DecodingError.keyNotFound(let key, let place):
            guard let member = Self.member(at: place.codingPath + [key]) else { break }
            return "The data needs \(member)."
        // The text is JSON, because its syntax was checked before.
        case DecodingError.dataCorrupted: return "A number in the data is out of range, or must be an integer."
        default: break
        }
        return "The data must be a JSON object."
    }

    /// Returns the path of a member of the data; `nil` for the data itself.
    private static func member(at path: [any CodingKey]) -> String? {
        // In structured mode the path starts with `data`, and in a batch with the index of the event.
        let inEvent = path.drop { $0.indexInArray != nil }
        let inData = inEvent.first?.stringValue == "data" ? inEvent.dropFirst() : inEvent
        return inData.isEmpty ? nil : Array(inData).memberPath
    }
}
