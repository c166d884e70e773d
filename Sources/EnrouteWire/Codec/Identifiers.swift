// Ids from outside are parsed once, here, and trusted afterwards. An identifier contains no brace, colon, space or
// control character. It can therefore not act as Redis syntax, change a hash tag or end a JSON string.

/// An id: 1 to 64 characters of `[A-Za-z0-9_-]`.
///
/// `Kind` makes the id of a job and the id of a rider different types.
public struct Identifier<Kind>: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
    public static var longest: Int { NameBytes.longest }

    public let text: String

    /// - Returns: `nil` unless `text` is 1 to 64 characters of `[A-Za-z0-9_-]`.
    public init?(_ text: String) {
        var text = text
        guard text.withUTF8({ NameBytes.isName(UnsafeRawBufferPointer($0)) }) else { return nil }
        self.text = text
    }

    /// Parses bytes. Creates no String for an invalid id.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard NameBytes.isName(bytes) else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    public var description: String { self.text }
}

/// The rule for identifiers. Not in the generic type, because every relayed message is checked.
enum NameBytes {
    static let longest = 64

    static func isName(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 1, bytes.count <= self.longest else { return false }
        for byte in bytes where !byte.isNameCharacter { return false }
        return true
    }
}

extension UInt8 {
    /// `[A-Za-z0-9_-]`
    var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// The kinds of identifiers.
public enum Named {
    public enum Job {}
    public enum Person {}
    public enum Zone {}
}

/// The id of an order or a service visit.
public typealias JobID = Identifier<Named.Job>
/// The id of a customer, a rider, a member of operations staff or a service: the `sub` of a token.
public typealias PersonID = Identifier<Named.Person>
/// The id of an area whose riders form one pool, such as a city.
public typealias ZoneID = Identifier<Named.Zone>

/// The id of a status event, which orders the events of a job: a Redis stream id, `<ms>-<sequence>`, whose sequence is
/// a digest of the earlier events (lua/publish_status.lua).
public struct StatusID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let milliseconds: UInt64
    public let sequence: UInt64

    public init?(_ text: some StringProtocol) {
        // As a buffer, because code for a generic sequence is not specialized for callers in other modules.
        var text = String(text)
        guard let id = text.withUTF8({ Self(bytes: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = id
    }

    package init?(bytes: UnsafeRawBufferPointer) {
        var (milliseconds, number) = (UInt64?.none, UInt64?.none)
        for byte in bytes {
            if byte == UInt8(ascii: "-"), milliseconds == nil, number != nil {
                (milliseconds, number) = (number, nil)
                continue
            }
            guard case let digit = byte &- 48, digit < 10 else { return nil }
            let (shifted, isTooLong) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, isTooBig) = shifted.addingReportingOverflow(UInt64(digit))
            guard !isTooLong, !isTooBig else { return nil }
            number = sum
        }
        guard let milliseconds, let number else { return nil }
        self.milliseconds = milliseconds
        self.sequence = number
    }

    public static func < (a: Self, b: Self) -> Bool {
        (a.milliseconds, a.sequence) < (b.milliseconds, b.sequence)
    }

    public var description: String { "\(self.milliseconds)-\(self.sequence)" }
}
