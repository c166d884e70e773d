// Validates UTF-8 (RFC 3629). Every message must be valid UTF-8.

extension UnsafeRawBufferPointer {
    /// Most messages are ASCII, which is checked eight bytes at a time.
    package var isUTF8: Bool {
        var index = 0
        while index + 8 <= self.count {
            guard self.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else { break }
            index += 8
        }
        let rest = UnsafeRawBufferPointer(rebasing: self[index...])
        return rest.allSatisfy { $0 < 0x80 } || String(validating: rest, as: UTF8.self) != nil
    }
}
