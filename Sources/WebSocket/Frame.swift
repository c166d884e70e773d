// WebSocket frames as a server sends them (RFC 6455 section 5.2). They are never masked and never fragmented, so the same
// bytes can be sent to every follower.

internal import EnrouteWire
package import NIOCore
internal import SecureSocket

/// Encodes whole frames.
package enum Frame {
    package static func text(_ message: [UInt8]) -> [UInt8] {
        message.withUnsafeBytes { self.make(0x81, $0) }
    }

    package static func text(_ message: UnsafeRawBufferPointer) -> [UInt8] { self.make(0x81, message) }

    package static func text(_ message: ByteBuffer) -> [UInt8] {
        message.withUnsafeReadableBytes { self.make(0x81, $0) }
    }

    package static func binary(_ message: ByteBuffer) -> [UInt8] {
        message.withUnsafeReadableBytes { self.make(0x82, $0) }
    }

    package static let ping: [UInt8] = [0x89, 0]

    package static func pong(_ payload: ByteBuffer) -> [UInt8] {
        payload.withUnsafeReadableBytes { self.make(0x8A, $0) }
    }

    /// Returns a close frame. The reason is truncated to 123 bytes (section 5.5.1).
    package static func close(_ code: UInt16, _ reason: String) -> [UInt8] {
        let payload = [UInt8(code >> 8), UInt8(code & 0xFF)] + reason.utf8.prefix(123)
        return payload.withUnsafeBytes { self.make(0x88, $0) }
    }

    /// Returns the payload of a frame that this type encoded.
    package static func message(in frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let header = frame.count < 2 ? frame.count : frame[1] == 126 ? 4 : frame[1] == 127 ? 10 : 2
        return UnsafeRawBufferPointer(rebasing: frame.dropFirst(header))
    }

    private static func make(_ head: UInt8, _ payload: UnsafeRawBufferPointer) -> [UInt8] {
        let count = payload.count
        let header = count < 126 ? 2 : count <= 0xFFFF ? 4 : 10
        return [UInt8](unsafeUninitializedCapacity: header + count) { bytes, initialized in
            bytes[0] = head
            switch header {
            case 2: bytes[1] = UInt8(count)
            case 4:
                bytes[1] = 126
                bytes[2] = UInt8(count >> 8)
                bytes[3] = UInt8(count & 0xFF)
            default:
                bytes[1] = 127
                for index in 0..<8 { bytes[2 + index] = UInt8(truncatingIfNeeded: count >> (56 - 8 * index)) }
            }
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[header...]).copyMemory(
                from: payload)
            initialized = header + count
        }
    }
}

extension SecureSocketHandler {
    /// Replies to a peer's close frame with the same code (RFC 6455 section 5.5.1).
    package func writeNow(answerTo frame: CloseFrame) {
        let answer =
            switch frame {
            case .empty: Frame.close(CloseCode.normal.rawValue, "")
            case .valid(let code): Frame.close(code, "")
            case .malformed: Frame.close(CloseCode.protocolError.rawValue, "")
            }
        answer.withUnsafeBytes { self.writeNow($0) }
    }
}
