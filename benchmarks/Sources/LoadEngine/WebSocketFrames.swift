// The client side of RFC 6455 frames: masked output, unmasked input. Frames are read in place; bytes are stored only for a
// frame that arrives in pieces.

/// A frame from the peer; its payload is valid during the callback.
struct IncomingFrame {
    var opcode: UInt8
    var payload: UnsafeRawBufferPointer

    static let continuation: UInt8 = 0, text: UInt8 = 1, binary: UInt8 = 2, close: UInt8 = 8, ping: UInt8 = 9,
        pong: UInt8 = 10

    /// RFC 6455, 5.5.1; 1005 without a code.
    var closeCode: Int {
        guard self.payload.count >= 2 else { return 1005 }
        return Int(self.payload[0]) << 8 | Int(self.payload[1])
    }
}

/// Parses frames from a stream of bytes.
struct FrameReader {
    private var partial: [UInt8] = []

    static let longestPayload = 1 << 20

    /// - Returns: `false` when the peer violates RFC 6455.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ frame: (IncomingFrame) -> Void) -> Bool {
        if self.partial.isEmpty {
            guard let used = Self.frames(in: bytes, frame) else { return false }
            if used < bytes.count { self.partial.append(contentsOf: bytes[used...]) }
            return true
        }
        self.partial.append(contentsOf: bytes)
        let whole = self.partial
        guard let used = whole.withUnsafeBytes({ Self.frames(in: $0, frame) }) else { return false }
        self.partial = used == whole.count ? [] : Array(whole[used...])
        return true
    }

    /// Returns how many bytes were complete frames.
    private static func frames(in bytes: UnsafeRawBufferPointer, _ frame: (IncomingFrame) -> Void) -> Int? {
        var start = 0
        while bytes.count - start >= 2 {
            let (first, second) = (bytes[start], bytes[start + 1])
            guard second & 0x80 == 0 else { return nil }
            var (length, head) = (Int(second), 2)
            if length >= 126 {
                let wide = length == 126 ? 2 : 8
                head += wide
                guard bytes.count - start >= head else { break }
                length = bytes[start + 2..<start + head].reduce(0) { $0 << 8 | Int($1) }
                guard length <= Self.longestPayload else { return nil }
            }
            guard bytes.count - start >= head + length else { break }
            let payload = UnsafeRawBufferPointer(rebasing: bytes[start + head..<start + head + length])
            frame(IncomingFrame(opcode: first & 0x0f, payload: payload))
            start += head + length
        }
        return start
    }
}

enum OutgoingFrame {
    /// A constant mask, so that runs are repeatable; for servers it is like any other.
    private static let mask: [UInt8] = [0x3a, 0x91, 0xc5, 0x5e]

    static func append(_ opcode: UInt8, _ payload: UnsafeRawBufferPointer, to frames: inout [UInt8]) {
        precondition(payload.count < 65_536, "messages of the generator must be small")
        frames.append(0x80 | opcode)
        if payload.count < 126 {
            frames.append(0x80 | UInt8(payload.count))
        } else {
            frames.append(contentsOf: [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)])
        }
        frames.append(contentsOf: Self.mask)
        for index in 0..<payload.count { frames.append(payload[index] ^ Self.mask[index & 3]) }
    }

    static func make(_ opcode: UInt8, _ payload: UnsafeRawBufferPointer) -> [UInt8] {
        var frame: [UInt8] = []
        self.append(opcode, payload, to: &frame)
        return frame
    }

    static func make(_ opcode: UInt8, _ text: String) -> [UInt8] {
        var text = text
        return text.withUTF8 { self.make(opcode, UnsafeRawBufferPointer($0)) }
    }
}
