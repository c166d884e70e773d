// What the twin's listener presents: NIOSSL's context, set up like the original's SSL_CTX as far as NIOSSL lets one.
//
// Alike: TLS 1.2 and 1.3, the same ciphers, the same groups, ALPN, no client certificate. Not alike: BoringSSL takes the
// client's order among the AES ciphers, where the original has AES-128 first, and NIOSSL has no way to say otherwise. So a
// comparison needs a client that offers TLS_AES_128_GCM_SHA256 first, or alone; OpenSSL's default is AES-256.
// Accepted and ignored, because NIOSSL offers none of it: session-ticket keys (each context has keys of its own, so a client
// resumes on the gateway it comes from and nowhere else), OCSP stapling, and who makes the records.

internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// Certificates and settings of a listener. Immutable; a reload makes a new one.
package final class TLSContext: Sendable {
    let context: NIOSSLContext

    /// How long a closing connection waits for the peer's close_notify.
    static let shutdownTimeout = TimeAmount.seconds(1)

    /// Reads both files, PEM, now. Blocks on the disk: not for an event loop.
    package init(certificateChain: String, privateKey: String) throws(TLSConfigurationError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateChain)
            guard !chain.isEmpty else { throw NoCertificate() }
            let key = try NIOSSLPrivateKey(file: privateKey, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.cipherSuites = Self.ciphers12
            configuration.curves = [.x25519, .secp256r1, .secp384r1]
            configuration.applicationProtocols = ["http/1.1"]
            configuration.shutdownTimeout = Self.shutdownTimeout
            self.context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .refused(certificateChain: certificateChain, privateKey: privateKey, reason: "\(error)")
        }
    }

    private struct NoCertificate: Error, CustomStringConvertible {
        var description: String { "there is no certificate in it" }
    }

    private static let ciphers12 = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:\
        ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
        ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384
        """
}

/// What the listener presents. Safe from any thread.
package final class TLSCredentials: Sendable {
    private let certificateChain: String
    private let privateKey: String
    private let context: Mutex<TLSContext>

    /// Reads both PEM files; blocks on the disk. The other four are ignored: see above.
    package init(
        certificateChain: String, privateKey: String, ticketKeys: [String] = [], ocspResponse: String? = nil,
        makesRecords: Bool = true, acceptsInvalidDates: Bool = false
    ) throws(TLSConfigurationError) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
        self.context = Mutex(try TLSContext(certificateChain: certificateChain, privateKey: privateKey))
    }

    /// Reads both files again. On an error the old certificate stays in use.
    package func reload() throws(TLSConfigurationError) {
        let fresh = try TLSContext(certificateChain: self.certificateChain, privateKey: self.privateKey)
        self.context.withLock { $0 = fresh }
    }

    /// The twin does not look.
    package var dateProblem: TLSConfigurationError? { nil }

    /// What the next accepted socket is given.
    package var current: TLSContext {
        self.context.withLock { $0 }
    }
}

/// Why a certificate or key can not be used. The twin tells less than the original: it only has to run.
package enum TLSConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    case refused(certificateChain: String, privateKey: String, reason: String)

    package var description: String {
        switch self {
        case .refused(let certificateChain, let privateKey, let reason):
            "\(certificateChain) and \(privateKey) are not accepted: \(reason)."
        }
    }
}

/// The end of a connection that broke the rules of TLS. Fired once through `errorCaught`; the socket is closed after it.
package enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No connection came about.
    case handshakeFailed(String)
    /// The connection was established, and what came afterwards can not be.
    case protocolViolation(String)

    package var description: String {
        switch self {
        case .handshakeFailed(let reason): "TLS handshake failed: \(reason)"
        case .protocolViolation(let reason): "TLS connection failed: \(reason)"
        }
    }
}

/// Fired as a user inbound event.
package enum SecureSocketEvent: Hashable, Sendable {
    /// The TLS handshake is over; fired before the first byte of the peer. Never fired by a plain socket.
    case handshakeCompleted
}
