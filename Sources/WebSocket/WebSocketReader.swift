// The receiving side of RFC 6455: bytes in any pieces become messages and control frames.
//
// The header of a frame is validated as soon as it is complete: the sizes of the frame and of its message, the number of
// fragments, the mask, the reserved bits, the opcode and the order. So a client cannot make the gateway buffer a payload that
// will be refused. A complete frame is unmasked in place and passed on without copying. Only an incomplete frame is buffered,
// so an idle connection needs no buffer.

package import EnrouteWire
package import NIOCore

/// Parses the frames of one client: bytes in, events out. A value.
package struct WebSocketReader {
    package struct Bounds: Hashable, Sendable {
        /// The maximum size of a message in bytes, all its fragments together.
        package var messageBytes: Int
        /// The maximum number of frames in a message.
        package var messageFragments: Int
        package var allowsBinary = false
        /// After a violation, everything is skipped except the peer's close frame, which is reported.
        package var awaitsClose = false

        package init(
            messageBytes: Int, messageFragments: Int, allowsBinary: Bool = false, awaitsClose: Bool = false
        ) {
            self.messageBytes = messageBytes
            self.messageFragments = messageFragments
            self.allowsBinary = allowsBinary
            self.awaitsClose = awaitsClose
        }
    }

    package enum Event: Hashable {
        case text(ByteBuffer)
        case binary(ByteBuffer)
        case ping(ByteBuffer)
        case pong
        case close(CloseFrame)
        /// The peer violated the protocol or a limit: close with this code and reason. Afterwards nothing is read, except
        /// for a close frame if `awaitsClose` is set.
        case refused(CloseCode, String)
    }

    package let bounds: Bounds
    /// Bytes not parsed yet. After `next` has returned `nil`, this is at most one incomplete frame.
    private var unread = ByteBuffer()
    /// A fragmented message that is not complete yet.
    private var message: (isText: Bool, bytes: ByteBuffer, fragments: Int)?
    private var isClosed = false
    /// Set after a violation: the number of bytes to skip until the next frame starts.
    private var bytesToSkip: UInt64?

    package init(_ bounds: Bounds) { self.bounds = bounds }

    /// The number of bytes buffered for an incomplete frame or message.
    var bufferedBytes: Int { self.unread.readableBytes + (self.message?.bytes.readableBytes ?? 0) }

    /// The memory allocated for them, in bytes.
    var allocatedBytes: Int { self.unread.storageCapacity + (self.message?.bytes.storageCapacity ?? 0) }

    /// Adds received bytes. Bytes after a close frame are ignored.
    package mutating func add(_ bytes: ByteBuffer) {
        guard !self.isClosed else { return }
        guard self.unread.readableBytes > 0 else {
            self.unread = bytes
            return
        }
        // A buffer only grows at its end. Without this, a client whose every packet ends inside a frame would make the gateway
        // store everything that it ever sent.
        self.unread.discardReadBytes()
        self.unread.writeImmutableBuffer(bytes)
    }

    /// Returns the next event, or `nil` if more bytes are needed.
    package mutating func next() -> Event? {
        if let bytes = self.bytesToSkip { return self.closeFrame(after: bytes) }
        while !self.isClosed {
            let header: FrameHeader
            switch self.header() {
            case .success(let read?): header = read
            case .success(nil):
                if self.unread.readableBytes == 0 { self.unread = ByteBuffer() }
                return nil
            case .failure(let refusal):
                self.message = nil
                if self.bounds.awaitsClose { self.bytesToSkip = 0 } else { self.end() }
                return .refused(refusal.code, refusal.reason)
            }
            guard self.unread.readableBytes >= header.bytes + header.payloadBytes else { return nil }
            self.unread.moveReaderIndex(forwardBy: header.bytes)
            self.unread.unmask(header.payloadBytes, with: header.mask)
            // Cannot be `nil`: the guard above has checked that the bytes are there.
            let payload = self.unread.readSlice(length: header.payloadBytes) ?? ByteBuffer()
            if self.unread.readableBytes == 0 { self.unread = ByteBuffer() }
            if let event = self.event(header, payload) { return event }
        }
        return nil
    }

    private mutating func end() {
        self.isClosed = true
        (self.unread, self.message) = (ByteBuffer(), nil)
    }

    /// Looks for the peer's reply to our close frame, and skips the frames that the peer sent before it by their lengths.
    private mutating func closeFrame(after bytes: UInt64) -> Event? {
        var left = bytes
        while !self.isClosed {
            let dropped = min(left, UInt64(self.unread.readableBytes))
            self.unread.moveReaderIndex(forwardBy: Int(dropped))
            left -= dropped
            guard left == 0,
                let (opcode, bytes) = self.unread.withUnsafeReadableBytes({ FrameHeader.outline(of: $0) })
            else { break }
            if opcode == Opcode.close, bytes <= Self.maxControlFrameBytes {
                guard self.unread.readableBytes >= Int(bytes) else { break }
                self.end()
                return .close(.empty)
            }
            left = bytes
        }
        self.bytesToSkip = left
        if self.unread.readableBytes == 0 { self.unread = ByteBuffer() }
        return nil
    }

    /// A header of 2 bytes, a mask of 4 bytes and a payload of 125 bytes.
    private static let maxControlFrameBytes: UInt64 = 131

    private mutating func event(_ header: FrameHeader, _ payload: ByteBuffer) -> Event? {
        switch header.opcode {
        case Opcode.close:
            self.end()
            return .close(CloseFrame(payload))
        case Opcode.ping: return .ping(payload)
        case Opcode.pong: return .pong
        default: break
        }
        guard header.isFinal, self.message == nil else {
            var whole = self.message ?? (header.opcode == Opcode.text, ByteBuffer(), 0)
            self.message = nil
            whole.bytes.writeImmutableBuffer(payload)
            whole.fragments += 1
            guard header.isFinal else {
                self.message = whole
                return nil
            }
            return whole.isText ? .text(whole.bytes) : .binary(whole.bytes)
        }
        return header.opcode == Opcode.text ? .text(payload) : .binary(payload)
    }

    // MARK: headers

    private struct Refusal: Error {
        let code: CloseCode
        let reason: String
        init(_ code: CloseCode, _ reason: String) {
            self.code = code
            self.reason = reason
        }
    }

    /// Parses and validates the next header. The result is `nil` while the header is incomplete.
    private func header() -> Result<FrameHeader?, Refusal> {
        self.unread.withUnsafeReadableBytes { bytes in
            guard let first = bytes.first else { return .success(nil) }
            if let refusal = self.refusal(first) { return .failure(refusal) }
            guard bytes.count >= 2 else { return .success(nil) }
            guard bytes[1] & 0x80 != 0 else {
                return .failure(Refusal(.protocolError, "frames from a client must be masked"))
            }
            let short = Int(bytes[1] & 0x7F)
            let isControl = first & 0x0F >= 8
            guard !isControl || short <= 125 else {
                return .failure(Refusal(.protocolError, "control frames must not be longer than 125 bytes"))
            }
            let lengthBytes = short == 126 ? 2 : short == 127 ? 8 : 0
            guard bytes.count >= 2 + lengthBytes else { return .success(nil) }
            var length = UInt64(short)
            if lengthBytes > 0 {
                length = bytes[2..<2 + lengthBytes].reduce(0) { $0 << 8 | UInt64($1) }
                // The length must use the shortest encoding, and its most significant bit must be 0 (section 5.2).
                guard length >= (lengthBytes == 2 ? 126 : 65_536), length >> 63 == 0 else {
                    return .failure(Refusal(.protocolError, "the frame length is not encoded in its shortest form"))
                }
            }
            let held = UInt64(isControl ? 0 : self.message?.bytes.readableBytes ?? 0)
            guard isControl || held + length <= UInt64(self.bounds.messageBytes) else { return .failure(self.tooBig) }
            guard bytes.count >= 6 + lengthBytes else { return .success(nil) }
            return .success(
                FrameHeader(
                    opcode: first & 0x0F, isFinal: first & 0x80 != 0, bytes: 6 + lengthBytes,
                    payloadBytes: Int(length),
                    mask: bytes.loadUnaligned(fromByteOffset: 2 + lengthBytes, as: UInt32.self)))
        }
    }

    /// Returns the violation in the first byte of a header, or `nil` if it is valid.
    private func refusal(_ first: UInt8) -> Refusal? {
        guard first & 0x70 == 0 else {
            return Refusal(.protocolError, "a reserved bit is set, but no extension was negotiated")
        }
        switch first & 0x0F {
        case Opcode.continuation:
            guard let message else {
                return Refusal(.protocolError, "a continuation frame without a message to continue")
            }
            return message.fragments < self.bounds.messageFragments ? nil : self.tooBig
        case Opcode.binary where !self.bounds.allowsBinary:
            return Refusal(.unsupportedData, "binary messages are not supported")
        case Opcode.text, Opcode.binary:
            guard self.message == nil else {
                return Refusal(.protocolError, "a new message started before the previous one was complete")
            }
            return nil
        case Opcode.close, Opcode.ping, Opcode.pong:
            return first & 0x80 != 0 ? nil : Refusal(.protocolError, "control frames must not be fragmented")
        default: return Refusal(.protocolError, "unknown opcode")
        }
    }

    private var tooBig: Refusal {
        Refusal(
            .messageTooBig,
            "messages are limited to \(self.bounds.messageBytes) bytes and \(self.bounds.messageFragments) fragments"
        )
    }
}
