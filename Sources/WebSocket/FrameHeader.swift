// The header of a frame as a client sends it (RFC 6455 section 5.2), and the mask of its payload.

internal import NIOCore

/// A validated header.
struct FrameHeader {
    var opcode: UInt8
    var isFinal: Bool
    /// The size of the header itself.
    var bytes: Int
    var payloadBytes: Int
    var mask: UInt32

    /// Reads the opcode and the total size of a frame, without validation.
    ///
    /// - Returns: `nil` while the header is incomplete.
    static func outline(of bytes: UnsafeRawBufferPointer) -> (opcode: UInt8, bytes: UInt64)? {
        guard bytes.count >= 2 else { return nil }
        let short = Int(bytes[1] & 0x7F)
        let lengthBytes = short == 126 ? 2 : short == 127 ? 8 : 0
        guard bytes.count >= 2 + lengthBytes else { return nil }
        let length =
            lengthBytes == 0 ? UInt64(short) : bytes[2..<2 + lengthBytes].reduce(0) { $0 << 8 | UInt64($1) }
        let header = UInt64(2 + lengthBytes + (bytes[1] & 0x80 != 0 ? 4 : 0))
        return (bytes[0] & 0x0F, length.addingReportingOverflow(header).overflow ? .max : length + header)
    }
}

enum Opcode {
    static let continuation: UInt8 = 0
    static let text: UInt8 = 1
    static let binary: UInt8 = 2
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10
}

extension ByteBuffer {
    /// Unmasks the first `count` readable bytes in place (section 5.3).
    mutating func unmask(_ count: Int, with mask: UInt32) {
        guard mask != 0 else { return }
        self.withUnsafeMutableReadableBytes { bytes in
            let wide = UInt64(mask) | UInt64(mask) << 32
            var index = 0
            while index + 8 <= count {
                let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                bytes.storeBytes(of: masked ^ wide, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            // `mask` was loaded as it is in memory, so its bytes are indexed in memory order on every machine.
            while index < count {
                bytes[index] ^= withUnsafeBytes(of: mask) { $0[index & 3] }
                index += 1
            }
        }
    }
}
