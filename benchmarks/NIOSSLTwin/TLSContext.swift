// The twin's TLS settings: NIOSSL's context, configured like the original's SSL_CTX as far as NIOSSL allows.
//
// Equal: TLS 1.2 and 1.3, the ciphers, the groups, ALPN, no client certificate. Different: BoringSSL follows the client's
// preference among the AES ciphers, where the original prefers AES-128, and NIOSSL cannot change that. So a comparison needs a
// client that offers TLS_AES_128_GCM_SHA256 first, or alone; OpenSSL's default is AES-256. Accepted but ignored, because NIOSSL
// does not support them: session ticket keys (each context has its own, so a client can resume only on the same gateway), OCSP
// stapling, and the record writer.

internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// Certificates and settings of a listener. Immutable; a reload creates a new one.
package final class TLSContext: Sendable {
    let context: NIOSSLContext

    /// The validity period of the certificate. The twin does not read it.
    package var validity: CertificateValidity? { nil }

    /// How long a closing connection waits for the peer's close_notify.
    static let shutdownTimeout = TimeAmount.seconds(1)

    /// Reads both PEM files. Blocks on disk I/O: do not call it on an event loop.
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
        var description: String { "it contains no certificate" }
    }

    private static let ciphers12 = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:\
        ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
        ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384
        """
}

/// The validity period of a certificate, in seconds since the epoch.
package struct CertificateValidity: Sendable, Hashable {
    package let from: Int64
    package let until: Int64
}

/// The credentials of a listener. Safe from any thread.
package final class TLSCredentials: Sendable {
    private let certificateChain: String
    private let privateKey: String
    private let context: Mutex<TLSContext>

    /// Reads both PEM files; blocks on disk I/O. The other four parameters are ignored, see above.
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

    /// The twin does not check.
    package var dateProblem: TLSConfigurationError? { nil }
    package var chainProblem: TLSConfigurationError? { nil }

    /// The context for the next accepted socket.
    package var current: TLSContext {
        self.context.withLock { $0 }
    }
}

/// Why a certificate or key cannot be used. Less detailed than the original, because the twin is only for benchmarks.
package enum TLSConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    case refused(certificateChain: String, privateKey: String, reason: String)

    package var description: String {
        switch self {
        case .refused(let certificateChain, let privateKey, let reason):
            "\(certificateChain) and \(privateKey) were rejected: \(reason)."
        }
    }
}

/// The end of a connection that violated TLS. Fired once through `errorCaught`; the socket is closed afterwards.
package enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The connection was not established.
    case handshakeFailed(String)
    /// The connection was established and then violated the protocol.
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
    /// The TLS handshake completed; fired before the first byte of the peer. Never fired by a plain socket.
    case handshakeCompleted
    /// Never fired: nothing is gathered.
    case unsent
}
