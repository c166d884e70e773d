import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct PushFramingTests {
    private static func push(_ kind: String, _ channel: String, _ payload: String) -> RESPValue {
        .array([kind, channel, payload].map { .string(Array($0.utf8)) })
    }

    @Test func `pushes are found among any replies, however the bytes are split`() {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<200 {
            var bytes = ByteBuffer()
            var channels: [String] = []
            for number in 0..<20 {
                let isPush = Bool.random(using: &random)
                if isPush { channels.append("c\(number)") }
                let value: RESPValue =
                    isPush
                    ? Self.push(number % 2 == 0 ? "message" : "smessage", "c\(number)", "x\r\n*3")
                    : .any(
                        depth: 3, using: &random)
                bytes.writeBytes(value.encoded)
            }
            var framing = PushFraming()
            var rest = bytes
            var frames: [PushFraming.Frame] = []
            while rest.readableBytes > 0 {
                let count = Int.random(in: 1...min(rest.readableBytes, 90), using: &random)
                frames += framing.frames(adding: rest.readSlice(length: count)!)
            }
            #expect(ByteBuffer(frames) == bytes)
            #expect(frames.channels == channels)
        }
    }

    @Test func `acknowledgements and pattern pushes do not count as pushes`() {
        var framing = PushFraming()
        let others = [
            Self.push("subscribe", "message", "1"), Self.push("pmessage", "c", "x"),
            Self.push("sunsubscribe", "c", "0"),
            .array([.string(Array("message".utf8))]), .string(Array("message".utf8)), .array([]), .null,
        ]
        #expect(framing.frames(adding: ByteBuffer(bytes: others.flatMap(\.encoded))).count == others.count)
        #expect(framing.frames(adding: ByteBuffer(bytes: others.flatMap(\.encoded))).channels == [])
    }

    @Test func `input that is not RESP passes unchanged, with everything after it`() {
        for foreign in [
            "HTTP/1.1 200 OK\r\n", "\u{16}\u{3}\u{1}", "$x\r\n", "$\r\n", "$\n", "*9999999999999\r\n", "\r\n",
            "*1\r\nx",
        ] {
            var framing = PushFraming()
            let message = Self.push("message", "c", "x").encoded
            let frames = framing.frames(adding: ByteBuffer(bytes: message + Array(foreign.utf8)))
            #expect(frames.channels == ["c"])
            let more = framing.frames(adding: ByteBuffer(bytes: message))
            #expect(more.channels == [])
            #expect(
                ByteBuffer(frames + more) == ByteBuffer(bytes: message + Array(foreign.utf8) + message), "\(foreign)")
        }
    }
}

extension [PushFraming.Frame] {
    fileprivate var channels: [String] {
        self.compactMap { if case .push(let channel, _) = $0 { channel } else { nil } }
    }
}

extension ByteBuffer {
    fileprivate init(_ frames: [PushFraming.Frame]) {
        self.init()
        for frame in frames { self.writeImmutableBuffer(frame.bytes) }
    }
}
