import EnrouteWire
import NIOCore
import Testing

@testable import WebSocket

/// The rules of RFC 6455 for client frames, without a socket.
@Suite struct WebSocketReaderTests {
    private static let bounds = WebSocketReader.Bounds(messageBytes: 4096, messageFragments: 4)

    /// Returns a client's frame. `head` is its first byte.
    private static func frame(_ head: UInt8, _ payload: [UInt8], mask: [UInt8] = [1, 2, 3, 4]) -> [UInt8] {
        let length: [UInt8] =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)]
            : payload.count < 65_536
                ? [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
                : [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        return [head] + length + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
    }

    private static func text(_ text: String) -> WebSocketReader.Event { .text(ByteBuffer(string: text)) }

    /// Returns all events from `pieces`, added one after the other.
    private static func events(
        _ pieces: [[UInt8]], _ bounds: WebSocketReader.Bounds = Self.bounds
    ) -> [WebSocketReader.Event] {
        var reader = WebSocketReader(bounds)
        var events: [WebSocketReader.Event] = []
        for piece in pieces {
            reader.add(ByteBuffer(bytes: piece))
            while let event = reader.next() { events.append(event) }
        }
        return events
    }

    private static func refusal(_ bytes: [UInt8], _ bounds: WebSocketReader.Bounds = Self.bounds) -> CloseCode? {
        for event in self.events([bytes], bounds) { if case .refused(let code, _) = event { return code } }
        return nil
    }

    @Test func `frames are parsed correctly however the bytes are split`() {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        let bytes =
            Self.frame(0x81, Array("hello".utf8)) + Self.frame(0x89, [7, 8]) + Self.frame(0x81, long)
            + Self.frame(0x01, Array("one ".utf8)) + Self.frame(0x8A, []) + Self.frame(0x00, Array("two ".utf8))
            + Self.frame(0x80, Array("three".utf8)) + Self.frame(0x81, [])
        let expected: [WebSocketReader.Event] = [
            Self.text("hello"), .ping(ByteBuffer(bytes: [7, 8])), .text(ByteBuffer(bytes: long)), .pong,
            Self.text("one two three"), Self.text(""),
        ]
        #expect(Self.events([bytes]) == expected)
        #expect(Self.events(bytes.map { [$0] }) == expected)
        for cut in 1..<bytes.count {
            #expect(Self.events([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected, "cut at \(cut)")
        }
    }

    @Test(arguments: 0..<40)
    func `payloads of every length are unmasked completely`(length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let bounds = WebSocketReader.Bounds(messageBytes: 4096, messageFragments: 4, allowsBinary: true)
        #expect(
            Self.events([Self.frame(0x82, payload, mask: [0xA5, 0, 0xFF, 0x11])], bounds)
                == [.binary(ByteBuffer(bytes: payload))])
    }

    @Test(arguments: [0xC1, 0xA1, 0x91, 0x83, 0x8B, 0x8F, 0x09, 0x08, 0x80, 0x00] as [UInt8])
    func
        `reserved bits, unknown opcodes, fragmented control frames and stray fragments are refused by their first byte`(
            head: UInt8
        )
    {
        #expect(Self.refusal([head]) == .protocolError)
    }

    @Test func `an unmasked frame is refused by its second byte`() {
        #expect(Self.refusal([0x81, 0x05]) == .protocolError)
    }

    @Test func `a new message before the end of a fragmented one is refused`() {
        #expect(Self.refusal(Self.frame(0x01, [65]) + [0x81]) == .protocolError)
    }

    @Test func `a binary message is refused if only text is allowed`() {
        #expect(Self.refusal([0x82]) == .unsupportedData)
    }

    @Test func `D1: an oversized frame is refused by its header, before its payload arrives`() {
        #expect(Self.refusal([0x81, 0x80 | 126, 0x10, 0x01]) == .messageTooBig)
        #expect(Self.refusal([0x81, 0x80 | 126, 0x10, 0x00]) == nil)
        #expect(Self.refusal([0x81, 0x80 | 127, 0, 0, 0, 1, 0, 0, 0, 0]) == .messageTooBig)
    }

    @Test func `a fragment that makes its message too long is refused by its header`() {
        let first = Self.frame(0x01, [UInt8](repeating: 65, count: 4000))
        #expect(Self.refusal(first + [0x80, 0x80 | 97]) == .messageTooBig)
        #expect(Self.refusal(first + [0x80, 0x80 | 96]) == nil)
    }

    @Test func `a fragment over the limit is refused by its header`() {
        let fragments = Self.frame(0x01, [65]) + (0..<2).flatMap { _ in Self.frame(0x00, [65]) }
        #expect(Self.refusal(fragments + Self.frame(0x80, [65])) == nil)
        #expect(Self.refusal(fragments + Self.frame(0x00, [65]) + [0x80]) == .messageTooBig)
    }

    @Test(
        arguments: [
            [0x81, 0x80 | 126, 0, 125], [0x81, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
            [0x81, 0x80 | 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `a frame length that is not in its shortest form is refused`(header: [UInt8]) {
        #expect(Self.refusal(header) == .protocolError)
    }

    @Test func `a control frame of more than 125 bytes is refused`() {
        #expect(Self.refusal([0x89, 0x80 | 126]) == .protocolError)
    }

    @Test(
        arguments: [
            ([], CloseFrame.empty), ([0x03, 0xE8], .valid(1000)), ([0x0B, 0xB8] + Array("bye".utf8), .valid(3000)),
            ([0x03], .malformed), ([0x03, 0xED], .malformed), ([0x03, 0xEE], .malformed), ([0x03, 0xF7], .malformed),
            ([0x00, 0x00], .malformed), ([0x13, 0x88], .malformed), ([0x03, 0xE8, 0xFF], .malformed),
        ] as [([UInt8], CloseFrame)])
    func `a close frame is empty, or has a valid code and a reason in UTF-8`(
        payload: [UInt8], expected: CloseFrame
    ) {
        #expect(Self.events([Self.frame(0x88, payload)]) == [.close(expected)])
    }

    @Test func `nothing is read after a close frame or a violation`() {
        let after = Self.frame(0x81, [65])
        #expect(Self.events([Self.frame(0x88, []) + after, after]) == [.close(.empty)])
        #expect(Self.events([[0x83] + after, after]).count == 1)
    }

    @Test func `B54: a close frame after a violation is found, whatever precedes it`() {
        var bounds = Self.bounds
        bounds.awaitsClose = true
        let before = [
            Self.frame(0x83, [1, 2, 3]), Self.frame(0x81, [UInt8](repeating: 65, count: 5000)),
            Self.frame(0x82, [UInt8](repeating: 8, count: 70_000)), [0x81, 2, 123, 125],
            Self.frame(0x88, [UInt8](repeating: 0, count: 126)),
        ]
        for refused in before {
            let stream = refused + before.flatMap { $0 } + Self.frame(0x88, [0x03, 0xE8]) + Self.frame(0x81, [65])
            for size in [stream.count, 1, 7] {
                let pieces = stride(from: 0, to: stream.count, by: size).map {
                    Array(stream[$0..<min($0 + size, stream.count)])
                }
                let events = Self.events(pieces, bounds)
                guard events.count == 2, case .refused = events[0] else {
                    Issue.record("\(events)")
                    continue
                }
                #expect(events[1] == .close(.empty))
            }
        }
        // A frame whose length exceeds any memory is skipped like any other.
        let endless: [UInt8] = [0x81, 0xFF] + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 0, 0]
        #expect(Self.events([endless, Self.frame(0x88, [])], bounds).count == 1)
    }

    @Test(arguments: [1, 5, 130])
    func `a client whose packets all end inside a frame does not make the buffer grow`(cut: Int) {
        let frame = Self.frame(0x8A, [UInt8](repeating: 7, count: 125))
        var reader = WebSocketReader(Self.bounds)
        reader.add(ByteBuffer(bytes: frame[..<cut]))
        var pongs = 0
        for _ in 0..<2000 {
            reader.add(ByteBuffer(bytes: frame[cut...] + frame[..<cut]))
            while reader.next() != nil { pongs += 1 }
        }
        #expect(pongs == 2000)
        #expect(reader.allocatedBytes <= 4096, "\(reader.allocatedBytes) bytes")
    }

    @Test func `nothing is buffered between frames`() {
        var reader = WebSocketReader(Self.bounds)
        reader.add(ByteBuffer(bytes: Self.frame(0x81, [UInt8](repeating: 65, count: 1000))))
        #expect(reader.bufferedBytes > 0)
        _ = reader.next()
        #expect(reader.bufferedBytes == 0)
        #expect(reader.next() == nil)
    }
}
