// Names that come from outside are parsed once, here, and trusted afterwards. Because no identifier can hold a brace, a
// colon, a space or a control character, none can become Redis syntax, move a hash tag or break a JSON string.

/// A name of one kind of thing: 1 to 64 of `[A-Za-z0-9_-]`.
///
/// `Kind` keeps a job's name from being used where a rider's is meant.
public struct Identifier<Kind>: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
    public static var longest: Int { 64 }

    public let text: String

    /// - Returns: `nil` unless `text` is 1 to 64 of `[A-Za-z0-9_-]`.
    public init?(_ text: String) {
        guard Self.isValid(text.utf8) else { return nil }
        self.text = text
    }

    /// The same from bytes, without a String where the name is refused.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard Self.isValid(bytes) else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    public var description: String { self.text }

    private static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        (1...self.longest).contains(bytes.count) && bytes.allSatisfy(\.isNameCharacter)
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

/// Namespaces that tell identifiers apart.
public enum Named {
    public enum Job {}
    public enum Person {}
    public enum Zone {}
}

/// An order or a service visit.
public typealias JobID = Identifier<Named.Job>
/// A customer, a rider, someone of operations or a service: the `sub` of a token.
public typealias PersonID = Identifier<Named.Person>
/// The area whose riders form one pool (a city, say).
public typealias ZoneID = Identifier<Named.Zone>

/// Order of a job's status events: a Redis stream id, `<ms>-<sequence>`, whose sequence is a digest of what came before
/// (lua/publish_status.lua).
public struct StatusID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let milliseconds: UInt64
    public let sequence: UInt64

    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
            let milliseconds = UInt64(parts[0]), let sequence = UInt64(parts[1])
        else { return nil }
        self.milliseconds = milliseconds
        self.sequence = sequence
    }

    public static func < (a: Self, b: Self) -> Bool {
        (a.milliseconds, a.sequence) < (b.milliseconds, b.sequence)
    }

    public var description: String { "\(self.milliseconds)-\(self.sequence)" }
}
