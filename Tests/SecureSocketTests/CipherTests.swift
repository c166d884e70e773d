// The result of negotiation, whatever a client offers: forward secrecy and authenticated encryption, or no connection.

import COpenSSL
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import SecureSocket

@Suite struct CipherTests {
    /// Every TLS 1.2 suite of the client's library that is not of this kind.
    @Test(arguments: [
        "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA",
        "ECDHE-RSA-AES128-SHA256", "DES-CBC3-SHA",
    ])
    func `I6: a cipher without forward secrecy or authentication is rejected`(suite: String) async throws {
        #expect(try await Self.offer(suite) == nil)
    }

    @Test(arguments: [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
    ])
    func `I6: an ECDHE cipher with authentication is accepted`(suite: String) async throws {
        #expect(try await Self.offer(suite) == "TLSv1.2")
    }

    @Test func `I6: our cipher lists contain no other kind, and compression is off`() throws {
        let suites = TLSContext.ciphers12.split(separator: ":")
        #expect(suites.count == 6)
        #expect(suites.allSatisfy { $0.hasPrefix("ECDHE-") && ($0.contains("GCM") || $0.hasSuffix("POLY1305")) })
        let files = try CertificateFiles()
        let context = try TLSContext(certificateChain: files.certificatePath, privateKey: files.keyPath)
        // SSL_OP_NO_COMPRESSION and SSL_OP_NO_RENEGOTIATION, which are macros.
        for bit in [17, 30] as [UInt64] { #expect(SSL_CTX_get_options(context.pointer) & (1 << bit) != 0) }
    }

    /// - Returns: the version negotiated by a TLS 1.2 client with only this suite; `nil` without a connection.
    private static func offer(_ suite: String) async throws -> String? {
        let listener = try await Listener.start()
        var settings = TLSConfiguration.makeClientConfiguration()
        (settings.minimumTLSVersion, settings.maximumTLSVersion) = (.tlsv12, .tlsv12)
        settings.cipherSuites = suite
        settings.certificateVerification = .none
        guard let context = try? NIOSSLContext(configuration: settings) else {
            // The client's library no longer supports it either.
            try await listener.stop()
            return nil
        }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                }
            }.connect(to: listener.address).get()
        let connection = try await listener.connection()
        let seen = try await connection.seen.until("the handshake or the end") {
            $0.events.contains("handshakeCompleted") || $0.isInactive
        }
        let version =
            seen.events.contains("handshakeCompleted") ? try await connection.run { $0.negotiatedVersion } : nil
        try? await channel.close()
        try await listener.stop()
        return version
    }
}
