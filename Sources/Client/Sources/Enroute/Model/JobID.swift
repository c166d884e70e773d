// The id of a job. It is validated once, so that no request is malformed because of it.

/// The id of a delivery or a service visit: 1 to 64 letters, digits, `_` and `-`.
public struct JobID: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String

    /// Returns `nil` if the text is not a valid id.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// Returns `nil` if the text is not a valid id.
    public init?(_ text: String) { self.init(rawValue: text) }

    /// Whether the text has the form of the protocol's ids: of jobs, zones and epochs.
    static func isValid(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(Self.isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension JobID: ExpressibleByStringLiteral {
    /// - Precondition: the literal is a valid id.
    public init(stringLiteral value: String) {
        guard let id = JobID(rawValue: value) else { preconditionFailure("\(value) is not a valid job id") }
        self = id
    }
}

extension JobID: CustomStringConvertible {
    public var description: String { self.rawValue }
}
