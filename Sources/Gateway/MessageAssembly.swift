// Messages from fragments (RFC 6455 section 5.4), bounded in bytes and in fragments, and the rules for text and close
// frames that a decoder of frames does not check.

internal import EnrouteWire
internal import NIOCore
internal import NIOWebSocket

/// Puts one connection's fragments together.
struct MessageAssembly {
    enum Outcome {
        case more
        case message(ByteBuffer)
        case refused(CloseCode, String)
    }

    let mostBytes: Int
    let mostFragments: Int
    private var partial: ByteBuffer?
    private var fragments = 0

    init(mostBytes: Int, mostFragments: Int) {
        self.mostBytes = mostBytes
        self.mostFragments = mostFragments
    }

    mutating func add(_ bytes: ByteBuffer, opcode: WebSocketOpcode, isFinal: Bool) -> Outcome {
        switch (opcode, self.partial) {
        case (.text, nil) where isFinal:
            return bytes.readableBytes <= self.mostBytes ? .message(bytes) : self.tooBig
        case (.text, nil): self.partial = ByteBuffer()
        case (.continuation, _?): break
        case (.text, _?): return .refused(.protocolError, "a message begins before the one before it ended")
        case (.continuation, nil): return .refused(.protocolError, "a fragment continues nothing")
        default: return .refused(.protocolError, "the opcode is not known")
        }
        self.fragments += 1
        guard self.fragments <= self.mostFragments,
            self.partial.map(\.readableBytes)! + bytes.readableBytes <= self.mostBytes
        else { return self.tooBig }
        self.partial?.writeImmutableBuffer(bytes)
        guard isFinal, let whole = self.partial else { return .more }
        self.partial = nil
        self.fragments = 0
        return .message(whole)
    }

    private var tooBig: Outcome {
        .refused(
            .messageTooBig, "messages hold at most \(self.mostBytes) bytes in at most \(self.mostFragments) fragments")
    }
}

/// What a peer's close frame says (RFC 6455 sections 5.5.1 and 7.4.1).
enum CloseFrame {
    case empty
    case valid(UInt16)
    case malformed

    init(_ payload: ByteBuffer) {
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

extension UnsafeRawBufferPointer {
    /// Most messages are ASCII, which is seen eight bytes at a time.
    var isUTF8: Bool {
        var index = 0
        while index + 8 <= self.count {
            guard self.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else { break }
            index += 8
        }
        let rest = UnsafeRawBufferPointer(rebasing: self[index...])
        return rest.allSatisfy { $0 < 0x80 } || String(validating: rest, as: UTF8.self) != nil
    }
}
