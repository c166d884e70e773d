// The part of Protocol Buffers that OpenStreetMap extracts use: varints and fields with a length. Every length is checked
// (https://protobuf.dev/programming-guides/encoding/).

/// A malformed message.
struct ProtobufError: Error {
    let reason: String
}

/// Reads the fields of one message.
struct ProtobufReader {
    enum Value {
        case varint(UInt64)
        case bytes(UnsafeRawBufferPointer)
        /// A fixed-size number, which extracts do not use.
        case fixed
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { self.offset >= self.bytes.count }

    /// The next field; `nil` at the end.
    mutating func next() throws(ProtobufError) -> (field: UInt64, value: Value)? {
        guard !self.isAtEnd else { return nil }
        let key = try self.varint()
        switch key & 7 {
        case 0: return (key >> 3, .varint(try self.varint()))
        case 1:
            try self.skip(8)
            return (key >> 3, .fixed)
        case 2:
            let count = try self.varint()
            guard count <= UInt64(self.bytes.count - self.offset) else {
                throw ProtobufError(reason: "a field is longer than its message")
            }
            let start = self.offset
            self.offset += Int(count)
            return (key >> 3, .bytes(UnsafeRawBufferPointer(rebasing: self.bytes[start..<self.offset])))
        case 5:
            try self.skip(4)
            return (key >> 3, .fixed)
        default: throw ProtobufError(reason: "unknown wire type \(key & 7)")
        }
    }

    mutating func varint() throws(ProtobufError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while self.offset < self.bytes.count {
            let byte = UInt64(self.bytes[self.offset])
            self.offset += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
            guard shift < 64 else { throw ProtobufError(reason: "a number has more than 10 bytes") }
        }
        throw ProtobufError(reason: "it ends within a number")
    }

    /// A number with a sign (zigzag).
    mutating func signed() throws(ProtobufError) -> Int64 { Self.zigzag(try self.varint()) }

    static func zigzag(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    private mutating func skip(_ count: Int) throws(ProtobufError) {
        guard count <= self.bytes.count - self.offset else { throw ProtobufError(reason: "it ends within a number") }
        self.offset += count
    }
}
