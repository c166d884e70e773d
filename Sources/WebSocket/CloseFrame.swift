// Validation of a peer's close frame. Unlike the rules that `WebSocketReader` checks, these concern the payload of a frame.

internal import EnrouteWire
package import NIOCore

/// The content of a peer's close frame (RFC 6455 sections 5.5.1 and 7.4.1).
package enum CloseFrame: Hashable {
    case empty
    case valid(UInt16)
    case malformed

    package init(_ payload: ByteBuffer) {
        var payload = payload
        guard payload.readableBytes > 0 else {
            self = .empty
            return
        }
        guard let code = payload.readInteger(as: UInt16.self),
            [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011].contains(code) || (3000...4999).contains(code),
            payload.withUnsafeReadableBytes(\.isUTF8)
        else {
            self = .malformed
            return
        }
        self = .valid(code)
    }
}
