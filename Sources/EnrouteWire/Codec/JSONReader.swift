// Reads JSON (RFC 8259) in place: a cursor over the bytes of one message, without a tree, and without allocation except
// for strings that the caller stores. It is stricter than the RFC: the nesting depth and the length of numbers are
// limited, and member names must not contain escape sequences, so duplicates are always noticed.

/// Why a message could not be read. `reason` is a clause for the sender and never repeats the sender's bytes.
public struct BadMessage: Error, Equatable, CustomStringConvertible {
    public let reason: String
    public init(_ reason: String) { self.reason = reason }
    public var description: String { self.reason }
}

/// A cursor over one JSON text. The bytes must outlive the cursor.
package struct JSONReader {
    /// The maximum nesting depth of objects and arrays.
    static let deepest = 8
    /// The maximum length of a number in bytes. The exact value of a coordinate as a Double,
    /// which Java's `BigDecimal` writes, has up to 80.
    package static let longestNumber = 128

    let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private var depth = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    // MARK: objects and arrays

    /// Calls `member` for each member of the object at the cursor. `member` must consume the value.
    package mutating func object(
        _ member: (_ name: UnsafeRawBufferPointer, _ reader: inout JSONReader) throws(BadMessage) -> Void
    ) throws(BadMessage) {
        try self.enter(UInt8(ascii: "{"), "an object")
        if self.take(UInt8(ascii: "}")) { return self.depth -= 1 }
        repeat {
            let name = try self.rawString()
            guard !name.contains(UInt8(ascii: "\\")) else {
                throw BadMessage("a member name must not contain escape sequences")
            }
            try self.expect(UInt8(ascii: ":"))
            try member(name, &self)
        } while self.take(UInt8(ascii: ","))
        try self.expect(UInt8(ascii: "}"))
        self.depth -= 1
    }

    /// Calls `element` for each element of the array at the cursor. `element` must consume the element.
    package mutating func array(_ element: (_ reader: inout JSONReader) throws(BadMessage) -> Void) throws(BadMessage) {
        try self.enter(UInt8(ascii: "["), "an array")
        if self.take(UInt8(ascii: "]")) { return self.depth -= 1 }
        repeat { try element(&self) } while self.take(UInt8(ascii: ","))
        try self.expect(UInt8(ascii: "]"))
        self.depth -= 1
    }

    /// Whether the next value is an array. Does not move the cursor.
    package var isAtArray: Bool { self.nextByte == UInt8(ascii: "[") }

    /// Whether the next value is a string. Does not move the cursor.
    package var isAtString: Bool { self.nextByte == UInt8(ascii: "\"") }

    /// Whether the next value is an object. Does not move the cursor.
    var isAtObject: Bool { self.nextByte == UInt8(ascii: "{") }

    /// Throws unless only white space follows.
    package mutating func end() throws(BadMessage) {
        self.skipSpace()
        guard self.position == self.bytes.count else { throw BadMessage("there is data after the message") }
    }

    // MARK: values

    package mutating func string() throws(BadMessage) -> String {
        let raw = try self.rawString()
        return raw.contains(UInt8(ascii: "\\")) ? try Self.unescaped(raw) : String(decoding: raw, as: UTF8.self)
    }

    /// Skips and checks a string without creating a String.
    private mutating func skipString() throws(BadMessage) {
        let raw = try self.rawString()
        if raw.contains(UInt8(ascii: "\\")) { _ = try Self.unescaped(raw) }
    }

    /// Reads a string. Returns whether it is `text`, written without escape sequences.
    mutating func isString(_ text: String) throws(BadMessage) -> Bool {
        let raw = try self.rawString()
        return raw.elementsEqual(text.utf8)
    }

    mutating func boolean() throws(BadMessage) -> Bool {
        self.skipSpace()
        if self.takeWord("true") { return true }
        if self.takeWord("false") { return false }
        throw BadMessage("expected true or false")
    }

    /// Reads `null` if it is the next value.
    package mutating func null() -> Bool {
        self.skipSpace()
        return self.takeWord("null")
    }

    mutating func double() throws(BadMessage) -> Double {
        try JSONNumber(self.rawNumber()).double
    }

    package mutating func integer() throws(BadMessage) -> Int64 {
        try JSONNumber(self.rawNumber()).integer
    }

    /// - Parameter name: the member, for the error.
    mutating func integer(_ name: StaticString) throws(BadMessage) -> Int64 {
        let number = try JSONNumber(self.rawNumber())
        do { return try number.integer } catch { throw BadMessage("\(name) must be a whole number") }
    }

    /// Checks and skips one value of any kind, and returns its bytes.
    @discardableResult
    package mutating func value() throws(BadMessage) -> UnsafeRawBufferPointer {
        self.skipSpace()
        let start = self.position
        switch self.peek {
        case UInt8(ascii: "{"):
            try self.object { (_, reader) throws(BadMessage) in try reader.value() }
        case UInt8(ascii: "["):
            try self.array { (reader) throws(BadMessage) in try reader.value() }
        case UInt8(ascii: "\""): try self.skipString()
        case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try self.boolean()
        case UInt8(ascii: "n"):
            guard self.null() else { throw BadMessage("expected a value at byte \(start)") }
        default:
            guard self.peek.map(JSONNumber.mayHold) == true else {
                throw BadMessage("expected a value at byte \(start)")
            }
            _ = try self.double()
        }
        return UnsafeRawBufferPointer(rebasing: self.bytes[start..<self.position])
    }

    // MARK: bytes

    private var peek: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    /// The first byte of the next value, or `nil` at the end.
    private var nextByte: UInt8? { self.bytes[self.position...].first { !Self.isSpace($0) } }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private mutating func skipSpace() {
        while let byte = self.peek, Self.isSpace(byte) { self.position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        self.skipSpace()
        guard self.peek == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func takeWord(_ word: StaticString) -> Bool {
        let end = self.position + word.utf8CodeUnitCount
        guard end <= self.bytes.count,
            UnsafeRawBufferPointer(rebasing: self.bytes[self.position..<end]).equals(word)
        else { return false }
        self.position = end
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(BadMessage) {
        guard self.take(byte) else {
            throw BadMessage("expected '\(Character(UnicodeScalar(byte)))' at byte \(self.position)")
        }
    }

    private mutating func enter(_ byte: UInt8, _ what: String) throws(BadMessage) {
        guard self.take(byte) else { throw BadMessage("expected \(what) at byte \(self.position)") }
        self.depth += 1
        guard self.depth <= Self.deepest else { throw BadMessage("nesting is deeper than \(Self.deepest) levels") }
    }

    /// Reads the bytes between the quotes, with their escape sequences.
    private mutating func rawString() throws(BadMessage) -> UnsafeRawBufferPointer {
        guard self.take(UInt8(ascii: "\"")) else { throw BadMessage("expected a string at byte \(self.position)") }
        let start = self.position
        while let byte = self.peek {
            switch byte {
            case UInt8(ascii: "\""):
                defer { self.position += 1 }
                return UnsafeRawBufferPointer(rebasing: self.bytes[start..<self.position])
            case UInt8(ascii: "\\"): self.position += 2
            case 0..<0x20: throw BadMessage("a string contains a control character")
            default: self.position += 1
            }
        }
        throw BadMessage("a string is not terminated")
    }

    private mutating func rawNumber() throws(BadMessage) -> UnsafeRawBufferPointer {
        self.skipSpace()
        let start = self.position
        while let byte = self.peek, JSONNumber.mayHold(byte) { self.position += 1 }
        guard self.position > start else { throw BadMessage("expected a number at byte \(start)") }
        guard self.position - start <= Self.longestNumber else {
            throw BadMessage("a number is longer than \(Self.longestNumber) characters")
        }
        return UnsafeRawBufferPointer(rebasing: self.bytes[start..<self.position])
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes are equal to the text.
    @inline(__always)
    func equals(_ word: StaticString) -> Bool {
        self.count == word.utf8CodeUnitCount
            && self.elementsEqual(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
