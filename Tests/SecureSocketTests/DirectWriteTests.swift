// The direct write: what the kernel accepts immediately, what is queued, and in which order bytes are sent. Nothing is
// written to a socket that no longer belongs to the connection.

import Glibc
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import SecureSocket

@Suite struct DirectWriteTests {
    @Test(arguments: Listener.Transport.allCases)
    func `direct and pipeline writes arrive in order`(transport: Listener.Transport) async throws {
        let (listener, connection, peer) = try await self.connect(transport)
        let completed = Signal<[String]>([])
        try await connection.run { socket in
            let channel = connection.channel
            socket.writeNow("a")
            channel.write(ByteBuffer(string: "b")).whenSuccess { completed.update { $0.append("b") } }
            channel.write(ByteBuffer(string: "c")).whenSuccess { completed.update { $0.append("c") } }
            socket.writeNow("d")
            #expect(completed.value == [], "writeNow does not call back")
            channel.writeAndFlush(ByteBuffer(string: "e")).whenSuccess { completed.update { $0.append("e") } }
            #expect(completed.value == ["e"], "a flush that the kernel accepts completes immediately")
            socket.writeNow("f")
            #expect(!socket.isWaiting && socket.waitingBytes == 0)
        }
        try await peer.seen.until("all") { $0.text == "abcdef" }
        try await completed.until("all promises") { $0.count == 3 }
        #expect(connection.seen.value.events.contains("handshakeCompleted") == (transport == .tls))
        try await listener.stop()
    }

    @Test(arguments: Listener.Transport.allCases)
    func `bytes for a peer that stops reading are queued, bounded and in order`(transport: Listener.Transport)
        async throws
    {
        let drained = Signal(0)
        let (listener, connection, peer) = try await self.connect(transport, sendBuffer: 4096, receiveBuffer: 4096)
        try await peer.channel.setOption(.autoRead, value: false).get()
        let text = try await connection.run { socket -> String in
            socket.onDrained = { drained.update { $0 += 1 } }
            var text = ""
            func say() -> String {
                let piece = "\(text.utf8.count);" + String(repeating: "-", count: 1000)
                text += piece
                return piece
            }
            while !socket.isWaiting { socket.writeNow(say()) }
            let before = socket.waitingBytes
            #expect(before > 0 && before <= 1100)
            for turn in 0..<30 {
                if turn.isMultiple(of: 3) {
                    connection.channel.write(ByteBuffer(string: say()), promise: nil)
                    if turn.isMultiple(of: 2) { connection.channel.flush() }
                } else {
                    socket.writeNow(say())
                }
            }
            // At most 22 bytes per record of TLS 1.3 (RFC 8446, 5.2) in addition to the plaintext.
            #expect(socket.isWaiting && socket.waitingBytes > before && socket.waitingBytes <= before + 30 * 1100)
            return text
        }
        #expect(drained.value == 0)
        try await peer.channel.setOption(.autoRead, value: true).get()
        try await peer.seen.until("everything") { $0.text == text }
        try await drained.until("drained") { $0 > 0 }
        #expect(try await connection.run { !$0.isWaiting && $0.waitingBytes == 0 })
        try await connection.writeNow("after")
        try await peer.seen.until("after") { $0.text == text + "after" }
        try await listener.stop()
    }

    @Test func `a reset by the peer is noticed by the channel, never within writeNow`() async throws {
        let listener = try await Listener.start(.plain)
        let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        try listener.address.withSockAddr { address, size in
            #expect(Glibc.connect(client, address, socklen_t(size)) == 0)
        }
        let connection = try await listener.connection()
        try await connection.seen.until("the start") { $0.isActive }
        try await connection.run { socket in
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            close(client)
            for _ in 0..<10 { socket.writeNow("to nobody") }
            let seen = connection.seen.value
            #expect(connection.channel.isActive && !seen.isInactive && seen.errors.isEmpty)
        }
        try await connection.seen.until("the end") { $0.isInactive }
        try await listener.stop()
    }

    @Test(arguments: Listener.Transport.allCases)
    func `the descriptor of a closed socket is never written to`(transport: Listener.Transport) async throws {
        // The number of the closed descriptor is assigned to one end of a socket pair, twice: while the channel is still
        // closing, from the promise of a write that fails, and after it has closed. Other tests open files too, so this takes
        // several tries.
        for _ in 0..<50 {
            let (listener, connection, peer) = try await self.connect(transport, sendBuffer: 4096, receiveBuffer: 4096)
            try await peer.channel.setOption(.autoRead, value: false).get()
            let outcome = try await connection.run { socket -> (isReused: Bool, strayBytes: Int) in
                let handle = try connection.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                    of: NIOBSDSocket.Handle.self
                ) { $0 }
                let number = try #require(handle)
                let piece = String(repeating: "-", count: 1000)
                while !socket.isWaiting { socket.writeNow(piece) }
                let promise = connection.channel.eventLoop.makePromise(of: Void.self)
                let outcome = NIOLoopBoundBox((isReused: false, strayBytes: 0), eventLoop: connection.channel.eventLoop)
                promise.futureResult.assumeIsolated().whenFailure { _ in
                    outcome.value = Self.strayBytes(at: number) { socket.writeNow("secret") }
                }
                connection.channel.writeAndFlush(ByteBuffer(string: piece), promise: promise)
                // The channel closes itself because the peer has disconnected. The handler learns that only from
                // `channelInactive`, after the promises.
                try connection.channel.pipeline.syncOperations.context(handler: socket).close(promise: nil)
                let later = Self.strayBytes(at: number) { socket.writeNow("secret") }
                return (outcome.value.isReused && later.isReused, outcome.value.strayBytes + later.strayBytes)
            }
            try await peer.channel.close().get()
            try await listener.stop()
            #expect(outcome.strayBytes == 0)
            if outcome.isReused { return }
        }
        Issue.record("the descriptor number was never free")
    }

    /// Makes `number` refer to another socket, does something, and returns how many bytes that socket received.
    private static func strayBytes(at number: CInt, after body: () -> Void) -> (isReused: Bool, strayBytes: Int) {
        var ends: [CInt] = [0, 0]
        socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
        // One of the two may have the number already; otherwise a duplicate gets it if it is still free.
        let copy = ends.contains(number) ? -1 : fcntl(ends[0], F_DUPFD, number)
        let isReused = ends.contains(number) || copy == number
        body()
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = ends.map { max(0, recv($0, &bytes, bytes.count, CInt(MSG_DONTWAIT))) }.reduce(0, +)
        for descriptor in ends + (copy >= 0 ? [copy] : []) { close(descriptor) }
        return (isReused, count)
    }

    @Test func `a channel that is not a socket gets its bytes through the pipeline`() throws {
        let socket = SecureSocketHandler(loop: TLSLoop(), tls: nil)
        let channel = EmbeddedChannel(handler: socket)
        socket.writeNow("early ")
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        var drained = 0
        socket.onDrained = { drained += 1 }
        socket.writeNow("one ")
        socket.writeNow("two")
        #expect(socket.isWaiting && drained == 0)
        channel.embeddedEventLoop.run()
        #expect(!socket.isWaiting && drained == 1)
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        #expect(text == "early one two")
        _ = try channel.finish()
    }

    /// Answers each read with two messages, and records what is waiting.
    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let socket: SecureSocketHandler
        var events: [SecureSocketEvent] = []
        var closes = false
        var (waitingBytes, isWaiting) = (0, false)

        init(_ socket: SecureSocketHandler) { self.socket = socket }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.socket.writeNow("one ")
            context.writeAndFlush(NIOAny(ByteBuffer(string: "two ")), promise: nil)
            self.socket.writeNow("three")
            (self.waitingBytes, self.isWaiting) = (self.socket.waitingBytes, self.socket.isWaiting)
            if self.closes { context.close(promise: nil) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let event = event as? SecureSocketEvent { self.events.append(event) }
        }
    }

    private func answer(gathers: Bool = true, closes: Bool = false) throws -> (Answerer, [String]) {
        let socket = SecureSocketHandler(loop: TLSLoop(), tls: nil)
        socket.gathersAnswers = gathers
        let answerer = Answerer(socket)
        answerer.closes = closes
        let channel = EmbeddedChannel(handlers: [socket, answerer])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: "request"))
        channel.embeddedEventLoop.run()
        var pieces: [String] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { pieces.append(String(buffer: bytes)) }
        _ = try? channel.finish()
        return (answerer, pieces)
    }

    @Test func `answers to one read leave together and in order, and count as unsent until then`() throws {
        let (answerer, pieces) = try self.answer()
        #expect(pieces == ["one two three"])
        // If `isWaiting` were true, a session would queue its next message.
        #expect(answerer.waitingBytes == 13 && !answerer.isWaiting)
        // An embedded channel is not a socket, so the bytes pass through the channel, which accepts them immediately.
        #expect(answerer.events.isEmpty)
    }

    @Test func `nothing is gathered for a session`() throws {
        let (answerer, pieces) = try self.answer(gathers: false)
        #expect(pieces.joined() == "one two three" && answerer.isWaiting)
    }

    @Test func `gathered answers are sent before the connection closes`() throws {
        #expect(try self.answer(closes: true).1.joined() == "one two three")
    }

    @Test func `the first bytes of a connection are inspected once`() throws {
        var seen: [String] = []
        let socket = SecureSocketHandler(loop: TLSLoop(), tls: nil) { seen.append(String(buffer: $0)) }
        let channel = EmbeddedChannel(handler: socket)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        for text in ["first", "second"] { try channel.writeInbound(ByteBuffer(string: text)) }
        #expect(seen == ["first"])
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "first"))
        _ = try? channel.finish()
    }

    @Test(arguments: Listener.Transport.allCases)
    func `a caller that discards unsent bytes learns when the kernel refuses`(transport: Listener.Transport)
        async throws
    {
        let (listener, connection, _) = try await self.connect(transport)
        let answers = try await connection.run { socket -> [Bool] in
            let handle = try connection.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { $0 }
            let number = try #require(handle)
            var answers = [socket.setDiscardsUnsent(true)]
            // During two system calls, the number refers to a pipe. It is not a socket, so setsockopt(2) fails with ENOTSOCK.
            var ends: [CInt] = [0, 0]
            try #require(pipe(&ends) == 0)
            let own = dup(number)
            try #require(own >= 0 && dup2(ends[0], number) == number)
            answers += [socket.setDiscardsUnsent(true), socket.setDiscardsUnsent(false)]
            try #require(dup2(own, number) == number)
            for descriptor in ends + [own] { close(descriptor) }
            return answers + [socket.setDiscardsUnsent(false)]
        }
        #expect(answers == [true, false, false, true])
        try await listener.stop()
    }

    private func connect(
        _ transport: Listener.Transport, sendBuffer: Int? = nil, receiveBuffer: Int? = nil
    ) async throws -> (Listener, Connection, Peer) {
        let listener = try await Listener.start(transport, sendBuffer: sendBuffer)
        let settings = transport == .tls ? LibsslClient.Settings() : nil
        let peer = try await Peer.connect(to: listener, settings, receiveBuffer: receiveBuffer)
        let connection = try await listener.connection()
        if transport == .tls {
            try await peer.handshake()
            try await connection.seen.until("handshake") { $0.events.contains("handshakeCompleted") }
        }
        return (listener, connection, peer)
    }
}
