// The rider's card: what followers of a job see of its rider, while the rider has the job and the status allows it. The
// service writes the card together with the rider. Every text is bounded and validated here, whatever its source.

/// A rider's vehicle; `foot` for a rider who walks.
public enum Vehicle: String, Hashable, Sendable, CaseIterable {
    case foot, bicycle
    case cargoBike = "cargo_bike"
    case moped, car, van, truck
}

/// A rider as followers see it. All members are optional.
public struct RiderCard: Hashable, Sendable {
    /// At most `longestName` characters.
    public var name: String?
    /// An https URL, at most `longestURL` bytes.
    public var photo: String?
    public var vehicle: Vehicle?
    /// The registration plate, at most `longestPlate` characters.
    public var plate: String?
    /// A `tel:` or `https:` URI of the service's relay, at most `longestURL` bytes. Never the rider's own number.
    public var contact: String?

    public static let longestName = 100
    public static let longestPlate = 20
    public static let longestURL = 500

    public init(
        name: String? = nil, photo: String? = nil, vehicle: Vehicle? = nil, plate: String? = nil, contact: String? = nil
    ) {
        (self.name, self.photo, self.vehicle, self.plate, self.contact) = (name, photo, vehicle, plate, contact)
    }

    public var isEmpty: Bool { self == RiderCard() }

    /// `{"name": …, "photo": …, "vehicle": …, "plate": …, "contact": …}`, each only if it is known.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { self.write(into: &$0) }
        return writer.bytes
    }

    func write(into writer: inout JSONWriter) {
        writer.field("name", self.name)
        writer.field("photo", self.photo)
        writer.field("vehicle", self.vehicle?.rawValue)
        writer.field("plate", self.plate)
        writer.field("contact", self.contact)
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        self.init()
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "name": self.name = try reader.string()
            case "photo": self.photo = try reader.string()
            // A newer gateway may know further vehicles.
            case "vehicle": self.vehicle = Vehicle(rawValue: try reader.string())
            case "plate": self.plate = try reader.string()
            case "contact": self.contact = try reader.string()
            default: try reader.value()
            }
        }
    }

    /// - Returns: `nil` unless it is a valid card with at least one member.
    public init?(json: UnsafeRawBufferPointer) {
        var reader = JSONReader(json)
        guard let read = try? RiderCard(from: &reader), (try? reader.end()) != nil else { return nil }
        let description = RiderCardDescription(
            name: read.name, photo: read.photo, vehicle: read.vehicle?.rawValue, plate: read.plate,
            contact: read.contact)
        guard let card = try? description.card(), !card.isEmpty else { return nil }
        self = card
    }
}

extension RiderCard: CustomReflectable {
    /// Names no person in logs.
    public var customMirror: Mirror {
        Mirror(self, children: ["vehicle": self.vehicle as Any], displayStyle: .struct)
    }
}

/// The reason why a description is invalid, as a sentence for the client's developer.
public struct InvalidDescription: Error, Hashable {
    public let reason: String
}

/// A rider's card as the service describes it.
public struct RiderCardDescription: Decodable, Sendable {
    public var name: String?
    public var photo: String?
    public var vehicle: String?
    public var plate: String?
    public var contact: String?

    public init(
        name: String? = nil, photo: String? = nil, vehicle: String? = nil, plate: String? = nil, contact: String? = nil
    ) {
        (self.name, self.photo, self.vehicle, self.plate, self.contact) = (name, photo, vehicle, plate, contact)
    }

    /// - Returns: the card; empty if no member is given.
    public func card() throws(InvalidDescription) -> RiderCard {
        if let name, !ShownText.isLine(name, longest: RiderCard.longestName) {
            throw InvalidDescription(
                reason: "card.name must be 1 to \(RiderCard.longestName) printable characters, not only spaces.")
        }
        if let plate, !ShownText.isLine(plate, longest: RiderCard.longestPlate) {
            throw InvalidDescription(
                reason: "card.plate must be 1 to \(RiderCard.longestPlate) printable characters, not only spaces.")
        }
        if let photo, !ShownText.isHTTPS(photo, longest: RiderCard.longestURL) {
            throw InvalidDescription(
                reason: "card.photo must be an https URL without a user, at most \(RiderCard.longestURL) bytes.")
        }
        if let contact, !ShownText.isContact(contact) {
            throw InvalidDescription(
                reason: "card.contact must be an https URL or tel: with a number, such as tel:+493012345,42.")
        }
        let known = try self.vehicle.map { (text) throws(InvalidDescription) in
            guard let vehicle = Vehicle(rawValue: text) else {
                let vehicles = Vehicle.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidDescription(reason: "card.vehicle must be one of \(vehicles).")
            }
            return vehicle
        }
        return RiderCard(name: self.name, photo: self.photo, vehicle: known, plate: self.plate, contact: self.contact)
    }
}
