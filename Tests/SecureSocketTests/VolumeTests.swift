// Large volumes, in chunks of every size, to a slow reader: the bytes must arrive unchanged.

import Glibc
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import SecureSocket

/// Bytes that reveal their position: a random block of a prime length, repeated.
struct Stream: Sendable {
    static let block: [UInt8] = {
        var random = SeededRandom(state: 0xE1207)
        return (0..<65_521).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()
    /// Two blocks, so that every chunk of up to one block is contiguous.
    static let blocks = block + block
    static let longestPieceBytes = block.count

    /// The `count` bytes at `position`.
    static func withBytes<Result>(at position: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = position % self.block.count
        return self.blocks.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    }
}

/// SplitMix64.
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Reads with automatic reading off, one chunk per loop turn, and compares the bytes.
final class SlowReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    struct Progress: Sendable {
        var count = 0
        var isBroken = false
    }

    private let progress: Signal<Progress>
    private var position = 0

    init(_ progress: Signal<Progress>) { self.progress = progress }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        var isBroken = false
        bytes.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[start...].prefix(Stream.longestPieceBytes))
                Stream.withBytes(at: self.position + start, count: piece.count) { expected in
                    // Neither is empty.
                    if memcmp(expected.baseAddress!, piece.baseAddress!, piece.count) != 0 { isBroken = true }
                }
                start += piece.count
            }
        }
        self.position += bytes.readableBytes
        let position = self.position
        self.progress.update {
            $0.count = position
            $0.isBroken = $0.isBroken || isBroken
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute { context.read() }
    }
}

/// Writes the stream in random chunks, by random methods, until bytes are queued, and continues when they are sent.
final class Writer {
    static let total = 64 << 20

    private let socket: SecureSocketHandler
    private let channel: any Channel
    private let refusals: Signal<Int>
    private var random: SeededRandom
    private var position = 0

    init(_ socket: SecureSocketHandler, _ channel: any Channel, seed: UInt64, refusals: Signal<Int>) {
        self.socket = socket
        self.channel = channel
        self.random = SeededRandom(state: seed)
        self.refusals = refusals
        socket.onDrained = { self.write() }
    }

    func write() {
        while self.position < Self.total {
            let shape = Int.random(in: 0..<10, using: &self.random)
            let longest = shape < 5 ? 400 : shape < 8 ? 8000 : Stream.longestPieceBytes
            let count = min(Int.random(in: 1...longest, using: &self.random), Self.total - self.position)
            let isDirect = Bool.random(using: &self.random)
            Stream.withBytes(at: self.position, count: count) { bytes in
                if isDirect {
                    self.socket.writeNow(bytes)
                } else {
                    self.channel.write(ByteBuffer(bytes: bytes), promise: nil)
                }
            }
            self.position += count
            if !isDirect && Bool.random(using: &self.random) { self.channel.flush() }
            // Sometimes more is added to the queued bytes, so that both queues are used.
            if self.socket.isWaiting && Int.random(in: 0..<4, using: &self.random) == 0 {
                self.refusals.update { $0 += 1 }
                return
            }
        }
        self.channel.flush()
    }
}

@Suite(.serialized, .needsMachine(for: .volume)) struct VolumeTests {
    @Test(arguments: [1 as UInt64, 2])
    func `64 MiB in random pieces arrive unchanged at a slow reader`(seed: UInt64) async throws {
        let progress = Signal(SlowReader.Progress())
        let refusals = Signal(0)
        let transport: Listener.Transport = seed == 1 ? .tls : .plain
        let listener = try await Listener.start(transport, sendBuffer: 16384)
        let peer = try await Peer.connect(
            to: listener, transport == .tls ? LibsslClient.Settings() : nil, receiveBuffer: 16384, autoRead: false
        ) { [SlowReader(progress)] }
        let connection = try await listener.connection()
        if transport == .tls {
            try await connection.seen.until("handshake") { $0.events.contains("handshakeCompleted") }
        }
        try await connection.run { socket in
            Writer(socket, connection.channel, seed: seed, refusals: refusals).write()
        }
        let seen = try await progress.until("64 MiB") { $0.count >= Writer.total || $0.isBroken }
        #expect(!seen.isBroken && seen.count == Writer.total)
        #expect(refusals.value > 50, "the kernel must refuse often enough for a meaningful test")
        try await peer.channel.close().get()
        try await listener.stop()
    }
}
