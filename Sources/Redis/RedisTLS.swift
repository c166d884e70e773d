// TLS to Redis with NIOSSL: hiredis 0.14.1 does not support TLS, and performance does not matter here.

internal import NIOCore
internal import NIOSSL

/// Trusted CAs and the client certificate, as files named in the URL.
package struct RedisTLS: Hashable, Sendable {
    /// PEM file of the trusted CAs; `nil` for the system's.
    package var authorities: String?
    /// PEM files of the client certificate chain and its key, if the server requires one.
    package var certificate: String?
    package var key: String?
    /// The name that the server's certificate must contain; `nil` for the host's.
    package var serverName: String?

    package init(
        authorities: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
    ) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
        self.serverName = serverName
    }

    /// - Throws: `RedisError.invalidTLS`, which contains the files.
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
            throw RedisError.invalidTLS(
                files: [self.authorities, self.certificate, self.key].compactMap { $0 },
                reason: TLSFailure.text(ofFiles: error))
        }
    }

    /// Returns the handler of one connection to `host`.
    func handler(_ context: NIOSSLContext, host: String) throws -> NIOSSLClientHandler {
        let name = self.serverName ?? host
        let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
        // An address must not be sent as a server name (RFC 6066, 3); it is still compared with the certificate's addresses.
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
    }
}
