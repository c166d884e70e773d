// Successful connections with other TLS implementations: BoringSSL through NIOSSL, and libssl.

import COpenSSL
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import SecureSocket

@Suite struct HandshakeTests {
    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func `a client with another TLS library verifies the certificate and exchanges bytes`(version: TLSVersion)
        async throws
    {
        let listener = try await Listener.start()
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = version
        settings.maximumTLSVersion = version
        settings.applicationProtocols = ["h2", "http/1.1"]
        let (channel, recorder) = try await self.connect(to: listener, settings)
        let connection = try await listener.connection()
        try await connection.seen.until("the handshake") { $0.events.contains("handshakeCompleted") }
        #expect(try await connection.run { $0.negotiatedVersion } == (version == .tlsv12 ? "TLSv1.2" : "TLSv1.3"))
        #expect(try await connection.run { $0.isHandshakeComplete })
        try await channel.writeAndFlush(ByteBuffer(string: "ping")).get()
        try await connection.seen.until("ping") { $0.text == "ping" }
        try await connection.writeNow("po")
        try await connection.write("ng")
        let seen = try await recorder.seen.until("pong") { $0.text == "pong" }
        #expect(seen.events.contains { $0.contains("http/1.1") }, "ALPN chose http/1.1: \(seen.events)")
        try await channel.close().get()
        try await connection.seen.until("the end") { $0.isInactive }
        #expect(connection.seen.value.errors.isEmpty)
        try await listener.stop()
    }

    @Test func `a client that offers only unknown ALPN protocols is accepted`() async throws {
        let listener = try await Listener.start()
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.applicationProtocols = ["h2", "mqtt"]
        let (_, recorder) = try await self.connect(to: listener, settings)
        let connection = try await listener.connection()
        try await connection.seen.until("the handshake") { $0.events.contains("handshakeCompleted") }
        try await connection.writeNow("welcome")
        let seen = try await recorder.seen.until("bytes") { $0.text == "welcome" }
        #expect(!seen.events.contains { $0.contains("h2") || $0.contains("mqtt") })
        try await listener.stop()
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `no client certificate is requested, and an available one does no harm`(version: CInt) async throws {
        let listener = try await Listener.start()
        let own = try CertificateFiles()
        let peer = try await Peer.connect(to: listener, .init(version: version, certificate: own))
        try await peer.handshake()
        try await peer.run { $0.send("hello") }
        let connection = try await listener.connection()
        try await connection.seen.until("hello") { $0.text == "hello" }
        #expect(try await peer.run { $0.requests.pointee } == 0)
        try await listener.stop()
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a client that rejects the certificate is reported differently from a broken connection`(version: CInt)
        async throws
    {
        let listener = try await Listener.start()
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = version == TLS1_2_VERSION ? .tlsv12 : .tlsv13
        settings.maximumTLSVersion = settings.minimumTLSVersion
        _ = try await self.connect(to: listener, settings, trusting: false)
        let connection = try await listener.connection()
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        guard case .handshakeFailed(let reason)? = seen.errors.first as? TLSError else {
            Issue.record("not a failed handshake: \(seen.errors)")
            return
        }
        #expect(reason.contains("alert"))
        #expect(seen.errors.count == 1)
        try await listener.stop()
    }

    @Test func `I6: TLS 1 point 1 and older are rejected with an alert`() async throws {
        let listener = try await Listener.start()
        // A ClientHello of TLS 1.1 with one cipher, as old devices send it (RFC 4346, 7.4.1.2).
        let hello: [UInt8] = [1, 0, 0, 41, 3, 2] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0xC0, 0x13, 1, 0]
        let peer = try await Peer.connect(to: listener, nil)
        try await peer.sendRaw([22, 3, 1, 0, UInt8(hello.count)] + hello)
        // Alert, fatal, protocol_version (RFC 8446, 6).
        let seen = try await peer.seen.until("an alert") { $0.bytes.count >= 7 }
        #expect(seen.bytes[0] == 21 && seen.bytes[5] == 2 && seen.bytes[6] == 70)
        try await listener.connection().seen.until("the end") { $0.isInactive }
        try await listener.stop()
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `bytes written before the handshake arrive after it, in order`(version: CInt) async throws {
        let drained = Signal(0)
        let context = try Loops.context.get()
        let written = Signal(false)
        let listener = try await Listener.start(tls: { context }) { socket, channel in
            socket.onDrained = { drained.update { $0 += 1 } }
            socket.writeNow("one ")
            channel.write(ByteBuffer(string: "two ")).whenSuccess { written.update { $0 = true } }
            socket.writeNow("three")
            #expect(socket.isWaiting && socket.waitingBytes == 13)
        }
        let peer = try await Peer.connect(to: listener, .init(version: version))
        try await peer.seen.until("all three") { $0.text == "one two three" }
        try await drained.until("drained") { $0 == 1 }
        try await written.until("the promise of two") { $0 }
        #expect(try await listener.connection().run { !$0.isWaiting })
        try await listener.stop()
    }

    @Test func `without automatic reading, one read yields bytes, however many reads the handshake needs`()
        async throws
    {
        /// Reads once.
        final class ReadsOnce: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            func channelActive(context: ChannelHandlerContext) { context.read() }
        }
        let context = try Loops.context.get()
        let listener = try await Listener.start(tls: { context }) { _, channel in
            #expect(throws: Never.self) {
                try channel.syncOptions?.setOption(.autoRead, value: false)
                try channel.pipeline.syncOperations.addHandler(ReadsOnce())
            }
        }
        let peer = try await Peer.connect(to: listener)
        try await peer.handshake()
        try await peer.run { $0.send("hello") }
        try await listener.connection().seen.until("hello") { $0.text == "hello" }
        try await listener.stop()
    }

    private func connect(
        to listener: Listener, _ settings: TLSConfiguration, trusting: Bool = true
    ) async throws -> (any Channel, Recorder) {
        var settings = settings
        let root = try NIOSSLCertificate(bytes: Array(Loops.files.get().certificate.certificatePEM.utf8), format: .pem)
        if trusting { settings.trustRoots = .certificates([root]) }
        let context = try NIOSSLContext(configuration: settings)
        let recorder = Recorder()
        let channel = try await ClientBootstrap(group: Loops.client).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                try channel.pipeline.syncOperations.addHandlers([handler, recorder])
            }
        }.connect(to: try listener.address).get()
        return (channel, recorder)
    }
}
