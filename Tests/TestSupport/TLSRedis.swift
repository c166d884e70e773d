// A redis-server that speaks TLS on its TCP port, with a certificate signed by an authority made for it. Its unix socket
// stays plain, so that a test can look at the server from behind.

private import Embedded

/// A server that speaks TLS, and what its clients need. It can be crashed and started again like any other.
package struct TLSRedis: Sendable {
    /// Seen from behind: at its unix socket, without TLS.
    package let redis: RestartableRedis
    /// Where it speaks TLS, on 127.0.0.1.
    package let port: Int
    package let authority: TestAuthority
    /// The authority's certificate, for clients to trust.
    package let authorityPath: String
    /// A certificate for a client that the server accepts.
    package let client: TestAuthority.Files
    /// Gone with the server: for further certificates.
    package let folder: String

    /// Runs one that has started, for as long as `body` does.
    ///
    /// - Parameters:
    ///   - requiresClientCertificate: whether who has none that the authority has signed is turned away.
    ///   - name: what its certificate is for.
    ///   - validity: of its certificate, from now, s; a negative one is over.
    ///   - options: further words of redis-server's command line.
    package static func running<Result: Sendable>(
        requiresClientCertificate: Bool = false, name: String = "localhost", validity: Double = 3600,
        options: [String] = [], _ body: (TLSRedis) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.holding("enroute-tls") { folder in
            let authority = try TestAuthority()
            let authorityPath = try authority.write(into: folder)
            let server = try authority.issue(.server(name: name), into: folder, as: "server", validity: validity)
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

    /// By the name in its certificate, unless another was asked for.
    package var url: String { "rediss://localhost:\(self.port)" }
    /// Where it speaks TLS: for a proxy, or for who speaks no TLS.
    package var endpoint: LoopbackEndpoint { .tcp(port: self.port) }
}
