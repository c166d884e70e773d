// A redis-server with TLS on its TCP port, with a certificate signed by its own CA. Its Unix socket has no TLS, so that a test
// can inspect the server.

private import Embedded

/// A server with TLS, and the data that its clients need. It can be killed and restarted like any other.
package struct TLSRedis: Sendable {
    /// For inspection: its Unix socket, without TLS.
    package let redis: RestartableRedis
    /// Its TLS port, on 127.0.0.1.
    package let port: Int
    package let authority: TestAuthority
    /// The CA certificate, for clients to trust.
    package let authorityPath: String
    /// A client certificate that the server accepts.
    package let client: TestAuthority.Files
    /// Signs further certificates. Its folder is deleted with the server.
    package let folder: String

    /// Runs a started server while `body` runs.
    ///
    /// - Parameters:
    ///   - requiresClientCertificate: whether clients without a certificate signed by the CA are rejected.
    ///   - name: what its certificate is valid for.
    ///   - start: when its certificate becomes valid, s from now; positive for one that is not valid yet.
    ///   - validity: of its certificate, from now, s; negative for an expired one.
    ///   - options: additional arguments of redis-server.
    package static func running<Result: Sendable>(
        requiresClientCertificate: Bool = false, name: String = "localhost", from start: Double = -7200,
        validity: Double = 3600, options: [String] = [], _ body: (TLSRedis) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.holding("enroute-tls") { folder in
            let authority = try TestAuthority()
            let authorityPath = try authority.write(into: folder)
            let server = try authority.issue(
                .server(name: name), into: folder, as: "server", from: start, validity: validity)
            let client = try authority.issue(.client(name: "a client"), into: folder, as: "client")
            let port = try await freePort()
            let own = [
                "--tls-port", "\(port)", "--bind", "127.0.0.1", "--tls-cert-file", server.certificate,
                "--tls-key-file", server.key, "--tls-ca-cert-file", authorityPath,
                "--tls-auth-clients", requiresClientCertificate ? "yes" : "no",
            ]
            return try await RestartableRedis.running(options: own + options) { redis in
                try await body(
                    TLSRedis(
                        redis: redis, port: port, authority: authority, authorityPath: authorityPath, client: client,
                        folder: folder))
            }
        }
    }

    /// By the name in its certificate, unless another was requested.
    package var url: String { "rediss://localhost:\(self.port)" }
    /// The TLS port, for a proxy or for clients without TLS.
    package var endpoint: LoopbackEndpoint { .tcp(port: self.port) }
}
