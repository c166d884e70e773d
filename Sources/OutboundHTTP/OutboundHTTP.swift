// Requests to other services: one request over HTTP/1.1 and TLS 1.2 or newer, one bounded response within a bounded time.
// Redirects are not followed, because only the host of the request has been checked. Nothing that may have been sent is sent
// again: the caller decides when to try again.

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NetworkErrors
internal import Resilience

/// A client for requests to other services. A value: `send(_:)` opens a new connection for each request. For frequent
/// requests use `OutboundConnections`.
package struct OutboundHTTP: Sendable {
    private var configuration: HTTPClient.Configuration
    /// One client for each: which address it uses for which host, instead of resolving the name.
    private var overrides: [[String: String]] = [[:]]
    let longestWait: Duration
    let longestAnswer: Int
    /// How long to wait for the server to close TLS, too, before the connection is closed. Until then, NIOSSL reads and
    /// discards whatever the server sends, without a limit.
    private static let closingTime = TimeAmount.milliseconds(250)
    /// Maximum number of addresses of a host that a request tries.
    package static let mostAddresses = 4

    /// - Parameters:
    ///   - authorities: PEM file of the CAs trusted for the services; `nil` for the system's.
    ///   - longestWait: from sending a request to the last byte of its response.
    ///   - longestAnswer: maximum size of a response body, in bytes.
    package init(authorities: String? = nil, longestWait: Duration, longestAnswer: Int) throws(NoCertificates) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.shutdownTimeout = Self.closingTime
        if let authorities {
            guard let trusted = try? NIOSSLCertificate.fromPEMFile(authorities), !trusted.isEmpty else {
                throw NoCertificates(path: authorities)
            }
            tls.trustRoots = .certificates(trusted)
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(longestWait)
        configuration.httpVersion = .http1Only
        // Without this, the client retries a refused connection until the time limit.
        configuration.connectionPool.retryConnectionEstablishment = false
        (self.configuration, self.longestWait, self.longestAnswer) = (configuration, longestWait, longestAnswer)
    }

    /// Returns a client that connects to these addresses for requests to `host`, instead of resolving the name itself. The
    /// certificate must still be the host's. A request is sent to the first address that accepts a connection. Each may use
    /// the same share of the time limit for that, so that an address that does not respond leaves time for the others.
    ///
    /// - Parameters:
    ///   - addresses: IP addresses, at least one; the first `mostAddresses` are used.
    ///   - connections: how many may be open to an address at the same time.
    package func pinned(_ host: String, to addresses: [String], connections: Int) -> OutboundHTTP {
        precondition(!addresses.isEmpty, "a request needs an address")
        var pinned = self.reusing(connections: connections)
        pinned.overrides = addresses.prefix(Self.mostAddresses).map { [host: $0] }
        pinned.configuration.timeout.connect = TimeAmount(self.longestWait / pinned.overrides.count)
        return pinned
    }

    /// Opens no connection yet.
    func makeClients() -> [HTTPClient] {
        self.overrides.map { override in
            var configuration = self.configuration
            configuration.dnsOverride = override
            return HTTPClient(configuration: configuration)
        }
    }

    /// Returns a client for `OutboundConnections`, which resolves names itself.
    ///
    /// - Parameter connections: how many may be open to a host at the same time.
    package func reusing(connections: Int) -> OutboundHTTP {
        var reusing = self
        reusing.configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        // Shorter than servers keep idle connections: a request fails on a connection that the server has just closed.
        reusing.configuration.connectionPool.idleTimeout = .seconds(4)
        return reusing
    }

    /// Sends a request over a new connection.
    package func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse {
        let connections = OutboundConnections(self)
        // Closing TLS may take longer than the response did, and the caller should not wait for it. NIOSSL limits its time.
        defer { Task { await connections.shutdown() } }
        return try await connections.send(request)
    }

    /// Like `send`, but returns only the status, as soon as it has arrived. The rest of the response may fail.
    package func status(of request: OutboundRequest) async throws(OutboundFailure) -> Int {
        let connections = OutboundConnections(self)
        defer { Task { await connections.shutdown() } }
        return try await Self.limited(to: self.longestWait) { try await connections.head(of: request) }.status
    }

    /// Limits the whole response: HTTPClient's own timeout covers only its head.
    static func limited<Value: Sendable>(
        to longestWait: Duration, _ operation: @escaping @Sendable () async throws -> Value
    ) async throws(OutboundFailure) -> Value {
        let value: Value?
        do {
            value = try await withTimeout(longestWait, operation)
        } catch {
            throw OutboundFailure(error)
        }
        guard let value else { throw .late }
        return value
    }

    typealias Head = (status: Int, headers: HTTPHeaders, body: HTTPClientResponse.Body)

    /// Sends a request. Returns before the body of its response is read.
    static func head(_ outbound: OutboundRequest, _ client: HTTPClient) async throws -> Head {
        var request = HTTPClientRequest(url: outbound.url)
        request.method = HTTPMethod(rawValue: outbound.method.rawValue)
        request.headers = ["user-agent": "enroute"]
        for (name, value) in outbound.headers { request.headers.replaceOrAdd(name: name, value: value) }
        if !outbound.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: outbound.body)) }
        let response = try await client.execute(request, deadline: .distantFuture)
        return (Int(response.status.code), response.headers, response.body)
    }
}

extension OutboundFailure {
    fileprivate init(_ error: any Error) {
        switch error {
        case let failure as OutboundFailure: self = failure
        case is CancellationError: self = .cancelled
        case let error as HTTPClientError:
            switch error {
            case .deadlineExceeded, .connectTimeout, .readTimeout: self = .late
            case .requestStreamCancelled, .cancelled: self = .cancelled
            // The short description contains neither the URL nor a header.
            default: self = .unreachable(reason: "\(error)", withoutAddress: error.shortDescription)
            }
        case is HTTPParserError:
            let reason = "the response is not valid HTTP"
            self = .unreachable(reason: reason, withoutAddress: reason)
        default:
            let reason = ConnectFailure.known(error)
            self = .unreachable(reason: reason ?? "\(error)", withoutAddress: reason ?? "\(type(of: error))")
        }
    }
}
