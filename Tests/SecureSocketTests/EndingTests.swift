// The ways in which a connection ends, and what each side learns.

import COpenSSL
import NIOCore
import TestSupport
import Testing

@testable import SecureSocket

@Suite struct EndingTests {
    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a peer's close_notify is answered and the socket is closed`(version: CInt) async throws {
        let (listener, connection, peer) = try await self.connect(.init(version: version))
        try await peer.run {
            $0.send("last words")
            $0.sayGoodbye()
        }
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        #expect(seen.text == "last words" && seen.errors.isEmpty)
        let theirs = try await peer.seen.until("our close_notify") { $0.events.contains("closeNotify") }
        #expect(theirs.errors.isEmpty)
        try await listener.stop()
    }

    @Test func `with half-closure, a close_notify closes only the input`() async throws {
        let (listener, connection, peer) = try await self.connect(allowsHalfClosure: true)
        try await peer.run { $0.sayGoodbye() }
        try await connection.seen.until("inputClosed") { $0.events.contains("inputClosed") }
        try await connection.writeNow("the rest ")
        try await connection.write("of it")
        try await peer.seen.until("the rest") { $0.text == "the rest of it" }
        // The end of the socket reports the same again, and is not passed on a second time.
        try await peer.channel.close(mode: .output).get()
        try await connection.channel.close().get()
        try await peer.seen.until("our close_notify") { $0.events.contains("closeNotify") }
        #expect(connection.seen.value.events.filter { $0 == "inputClosed" }.count == 1)
        #expect(connection.seen.value.errors.isEmpty)
        try await listener.stop()
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `our close sends close_notify after the written bytes and does not wait`(version: CInt) async throws {
        let (listener, connection, peer) = try await self.connect(.init(version: version))
        try await connection.run { socket in socket.writeNow("good") }
        connection.channel.write(ByteBuffer(string: "bye"), promise: nil)
        try await connection.channel.close().get()
        let seen = try await peer.seen.until("close_notify") { $0.events.contains("closeNotify") }
        #expect(seen.text == "goodbye" && seen.errors.isEmpty)
        try await listener.stop()
    }

    @Test func `closing the output keeps the input open`() async throws {
        let (listener, connection, peer) = try await self.connect(allowsHalfClosure: true)
        try await connection.writeNow("over")
        try await connection.channel.close(mode: .output).get()
        try await peer.seen.until("close_notify") { $0.events.contains("closeNotify") && $0.text == "over" }
        try await connection.writeNow("never sent")
        await #expect(throws: ChannelError.outputClosed) { try await connection.write("nor this") }
        try await peer.run { $0.send("I go on") }
        try await connection.seen.until("their words") { $0.text == "I go on" }
        #expect(peer.seen.value.text == "over")
        try await listener.stop()
    }

    @Test(arguments: [false, true])
    func `the end of a socket without close_notify is passed on as the channel reports it`(half: Bool) async throws {
        let (listener, connection, peer) = try await self.connect(allowsHalfClosure: half)
        try await peer.channel.close(mode: .output).get()
        let seen = try await connection.seen.until("the end") {
            half ? $0.events.contains("inputClosed") : $0.isInactive
        }
        #expect(seen.errors.isEmpty)
        try await listener.stop()
    }

    @Test(arguments: [false, true])
    func `a socket that ends during the handshake is closed silently`(half: Bool) async throws {
        let listener = try await Listener.start(allowsHalfClosure: half)
        let peer = try await Peer.connect(to: listener, nil)
        try await peer.sendRaw([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
        try await peer.channel.close(mode: .output).get()
        let connection = try await listener.connection()
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        #expect(seen.errors.isEmpty && seen.events.isEmpty)
        try await listener.stop()
    }

    @Test(arguments: [false, true])
    func `a reset is reported as a channel error, not as a TLS error`(afterHandshake: Bool) async throws {
        let listener = try await Listener.start()
        let peer = try await Peer.connect(to: listener, afterHandshake ? .init() : nil)
        let connection = try await listener.connection()
        if afterHandshake {
            try await connection.seen.until("handshake") { $0.events.contains("handshakeCompleted") }
        } else {
            try await peer.sendRaw([22, 3, 1, 2, 0, 1])
        }
        try await peer.reset()
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        #expect(!seen.errors.contains { $0 is TLSError })
        try await connection.writeNow("to nobody")
        await #expect(throws: ChannelError.self) { try await connection.write("to nobody") }
        try await listener.stop()
    }

    @Test func `a closed connection leaves nothing behind`() async throws {
        final class Weak { weak var socket: SecureSocketHandler? }
        let weak = NIOLoopBoundBox.makeBoxSendingValue(Weak(), as: Weak.self, eventLoop: Loops.server)
        let context = try Loops.context.get()
        let listener = try await Listener.start(tls: { context }) { socket, _ in
            socket.onDrained = { _ = socket.isWaiting }
        }
        do {
            let peer = try await Peer.connect(to: listener)
            try await peer.handshake()
            let connection = try await listener.connection()
            try await connection.run { weak.value.socket = $0 }
            try await connection.channel.close().get()
            try await connection.channel.closeFuture.get()
        }
        // The recorder's list is now the only lasting reference; drop it too. Other threads may hold one a moment longer.
        try await listener.forget()
        #expect(try await eventually { try await Loops.server.submit { weak.value.socket == nil }.get() })
        try await listener.stop()
    }

    private func connect(
        _ settings: LibsslClient.Settings = .init(), allowsHalfClosure: Bool = false
    ) async throws -> (Listener, Connection, Peer) {
        let listener = try await Listener.start(allowsHalfClosure: allowsHalfClosure)
        let peer = try await Peer.connect(to: listener, settings)
        try await peer.handshake()
        let connection = try await listener.connection()
        try await connection.seen.until("handshake") { $0.events.contains("handshakeCompleted") }
        return (listener, connection, peer)
    }
}
