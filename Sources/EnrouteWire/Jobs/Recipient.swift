// The person to whom a rider delivers or whom a technician visits, and how to find and call that person. The order system
// writes it with the job. The rider sees it until the job ends; services and operations staff see it, and nobody else.

/// The person at the destination. All members are optional.
public struct Recipient: Hashable, Sendable {
    /// At most `longestName` characters.
    public var name: String?
    /// As people write it, at most `longestAddress` characters. It is never geocoded.
    public var address: String?
    /// Floor, flat or entrance, at most `longestFloor` characters.
    public var floor: String?
    /// A `tel:` or `https:` URI, at most `RiderCard.longestURL` bytes. A relay keeps the person's own number private.
    public var contact: String?

    public static let longestName = 100
    public static let longestAddress = 200
    public static let longestFloor = 100

    public init(name: String? = nil, address: String? = nil, floor: String? = nil, contact: String? = nil) {
        (self.name, self.address, self.floor, self.contact) = (name, address, floor, contact)
    }

    public var isEmpty: Bool { self == Recipient() }

    /// `{"name": …, "address": …, "floor": …, "contact": …}`, each only if it is known.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { self.write(into: &$0) }
        return writer.bytes
    }

    func write(into writer: inout JSONWriter) {
        writer.field("name", self.name)
        writer.field("address", self.address)
        writer.field("floor", self.floor)
        writer.field("contact", self.contact)
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        self.init()
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "name": self.name = try reader.string()
            case "address": self.address = try reader.string()
            case "floor": self.floor = try reader.string()
            case "contact": self.contact = try reader.string()
            default: try reader.value()
            }
        }
    }

    /// - Returns: `nil` unless it is a valid description with at least one member.
    public init?(json: UnsafeRawBufferPointer) {
        var reader = JSONReader(json)
        guard let read = try? Recipient(from: &reader), (try? reader.end()) != nil else { return nil }
        let description = RecipientDescription(
            name: read.name, address: read.address, floor: read.floor, contact: read.contact)
        guard let recipient = try? description.recipient(), !recipient.isEmpty else { return nil }
        self = recipient
    }
}

extension Recipient: CustomReflectable {
    /// Shows no person and no place in logs.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

/// A recipient as the order system describes it.
public struct RecipientDescription: Decodable, Sendable {
    public var name: String?
    public var address: String?
    public var floor: String?
    public var contact: String?

    public init(name: String? = nil, address: String? = nil, floor: String? = nil, contact: String? = nil) {
        (self.name, self.address, self.floor, self.contact) = (name, address, floor, contact)
    }

    /// - Returns: the recipient; empty if no member is given.
    public func recipient() throws(InvalidDescription) -> Recipient {
        let lines = [
            ("name", self.name, Recipient.longestName), ("address", self.address, Recipient.longestAddress),
            ("floor", self.floor, Recipient.longestFloor),
        ]
        for case (let name, let text?, let longest) in lines where !ShownText.isLine(text, longest: longest) {
            throw InvalidDescription(
                reason: "recipient.\(name) must be 1 to \(longest) printable characters, not only spaces.")
        }
        if let contact, !ShownText.isContact(contact) {
            throw InvalidDescription(
                reason: "recipient.contact must be an https URL or tel: with a number, such as tel:+493012345,42.")
        }
        return Recipient(name: self.name, address: self.address, floor: self.floor, contact: self.contact)
    }
}
