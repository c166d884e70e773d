// TLS to Redis, by NIOSSL: hiredis 0.14.1 has none, and here speed is not the point.

internal import NIOCore
internal import NIOSSL

/// Whom to believe and what to show, as files named in the URL.
package struct RedisTLS: Hashable, Sendable {
    /// PEM file of the authorities to believe; `nil`: the system's.
    package var authorities: String?
    /// PEM files of our own certificate chain and its key, where the server asks for one.
    package var certificate: String?
    package var key: String?
    /// The name the server's certificate must be for; `nil`: the host's.
    package var serverName: String?

    package init(
        authorities: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
    ) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
        self.serverName = serverName
    }

    /// - Throws: `RedisError.unusableTLS`, which names the file.
    func context() throws(RedisError) -> NIOSSLContext {
        do {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            if let authorities { configuration.trustRoots = .file(authorities) }
            if let certificate, let key {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw RedisError.unusableTLS(
                files: [self.authorities, self.certificate, self.key].compactMap { $0 }, reason: "\(error)")
        }
    }

    /// Whether it was TLS that failed, not the connection beneath it.
    static func isFailure(_ error: any Error) -> Bool {
        switch error {
        case NIOSSLError.uncleanShutdown: false
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: true
        default: false
        }
    }

    /// The handler of one connection to `host`.
    func handler(_ context: NIOSSLContext, host: String) throws -> NIOSSLClientHandler {
        let name = self.serverName ?? host
        let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
        // An address is no server name (RFC 6066, 3); it is compared with the certificate's addresses all the same.
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
    }
}
