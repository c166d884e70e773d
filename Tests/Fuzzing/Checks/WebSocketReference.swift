// An independent implementation of RFC 6455 section 5 in the simplest way: the whole stream at once, byte by byte. Its output
// is what a reader must produce, however the stream was split.

import EnrouteWire

struct WebSocketReference {
    enum Event: Hashable {
        case text([UInt8])
        case ping([UInt8])
        case pong
        /// The close code to answer with.
        case close(UInt16)
        case refused(UInt16)
    }

    let messageBytes: Int
    let messageFragments: Int

    /// The output before the stream ends or violates the protocol.
    func events(_ stream: ArraySlice<UInt8>) -> [Event] {
        var events: [Event] = []
        var rest = stream
        var fragments: [[UInt8]] = []
        while let first = rest.popFirst() {
            let (isFinal, opcode) = (first >= 0x80, first & 0x0F)
            if let code = self.refusal(first, fragments: fragments.count) { return events + [.refused(code)] }
            guard let second = rest.popFirst() else { return events }
            let (isControl, short) = (opcode >= 8, Int(second & 0x7F))
            // Section 5.1: masked. Section 5.5: control frames of at most 125 bytes.
            guard second >= 0x80, !isControl || short <= 125 else { return events + [.refused(1002)] }
            let extra = short == 126 ? 2 : short == 127 ? 8 : 0
            guard rest.count >= extra else { return events }
            let length = extra == 0 ? UInt64(short) : rest.prefix(extra).reduce(0) { $0 * 256 + UInt64($1) }
            rest = rest.dropFirst(extra)
            // Section 5.2: the minimal encoding, and never with the highest bit.
            let isShortest = extra == 0 || length > (extra == 2 ? 125 : 65_535)
            guard isShortest, length < 1 << 63 else { return events + [.refused(1002)] }
            let held = isControl ? 0 : fragments.reduce(0) { $0 + $1.count }
            guard isControl || length <= UInt64(self.messageBytes - held) else { return events + [.refused(1009)] }
            guard rest.count >= 4 + Int(length) else { return events }
            let mask = Array(rest.prefix(4))
            let payload = rest.dropFirst(4).prefix(Int(length)).enumerated().map { $1 ^ mask[$0 % 4] }
            rest = rest.dropFirst(4 + Int(length))
            switch opcode {
            case 8: return events + [.close(Self.answer(to: payload))]
            case 9: events.append(.ping(payload))
            case 10: events.append(.pong)
            default:
                fragments.append(payload)
                guard isFinal else { continue }
                events.append(.text(Array(fragments.joined())))
                fragments = []
            }
        }
        return events
    }

    /// The violation in the first byte of a frame. If there are two, the order is the reader's.
    private func refusal(_ first: UInt8, fragments: Int) -> UInt16? {
        guard first & 0x70 == 0 else { return 1002 }
        switch first & 0x0F {
        case 0: return fragments == 0 ? 1002 : fragments < self.messageFragments ? nil : 1009
        case 1: return fragments == 0 ? nil : 1002
        case 2: return 1003
        case 8, 9, 10: return first >= 0x80 ? nil : 1002
        default: return 1002
        }
    }

    /// Sections 5.5.1 and 7.4: the same code back, 1000 without one, 1002 for one that must not be sent.
    private static func answer(to payload: [UInt8]) -> UInt16 {
        guard !payload.isEmpty else { return 1000 }
        guard payload.count >= 2 else { return 1002 }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        let isUTF8 = String(validating: payload.dropFirst(2), as: UTF8.self) != nil
        let mayBeSent: Bool =
            switch code {
            case 1000...1003, 1007...1011, 3000...4999: true
            default: false
            }
        return mayBeSent && isUTF8 ? code : 1002
    }

    /// A server's stream: frames that are complete, unmasked and not fragmented.
    static func framesOfServer(_ bytes: [UInt8]) throws(Disagreement) -> [(opcode: UInt8, payload: [UInt8])] {
        var frames: [(opcode: UInt8, payload: [UInt8])] = []
        var rest = bytes[...]
        while let first = rest.popFirst() {
            guard first & 0xF0 == 0x80, let second = rest.popFirst(), second < 0x80 else {
                throw Disagreement("the gateway started a frame with \(first)")
            }
            let extra = second == 126 ? 2 : second == 127 ? 8 : 0
            let length = extra == 0 ? Int(second) : rest.prefix(extra).reduce(0) { $0 * 256 + Int($1) }
            rest = rest.dropFirst(extra)
            try require(rest.count >= length, "the gateway sent \(rest.count) of \(length) bytes")
            frames.append((first & 0x0F, Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
        return frames
    }
}
