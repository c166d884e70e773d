// Requests to other services: one request over HTTP/1.1 and TLS 1.2 or newer, one bounded response within a bounded time.
// Redirects are not followed, because only the first address has been checked. Nothing is retried: the caller decides when to
// try again.

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NetworkErrors
internal import Resilience
internal import Synchronization

/// A client for requests to other services. A value: `send(_:)` opens a new connection for each request. For frequent
/// requests use `OutboundConnections`.
package struct OutboundHTTP: Sendable {
    fileprivate var configuration: HTTPClient.Configuration
    fileprivate let longestWait: Duration
    fileprivate let longestAnswer: Int
    /// How long to read the rest of a response when only its status matters.
    private static let longestRest = Duration.seconds(1)

    /// - Parameters:
    ///   - authorities: PEM file of the CAs trusted for the services; `nil` for the system's.
    ///   - longestWait: from sending a request to the last byte of its response.
    ///   - longestAnswer: maximum size of a response body, in bytes.
    package init(authorities: String? = nil, longestWait: Duration, longestAnswer: Int) throws(NoCertificates) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
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

    /// Returns a client that connects to this address for requests to `host`, instead of resolving the name itself. The
    /// certificate must still be the host's.
    ///
    /// - Parameters:
    ///   - address: an IP address.
    ///   - connections: how many may be open at the same time.
    package func pinned(_ host: String, to address: String, connections: Int) -> OutboundHTTP {
        var pinned = self.reusing(connections: connections)
        pinned.configuration.dnsOverride = [host: address]
        return pinned
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
        let client = HTTPClient(configuration: self.configuration)
        // Closing TLS may take longer than the response did, and the caller should not wait for it. NIOSSL limits its time.
        defer { Task { try? await client.shutdown() } }
        return try await self.send(request, over: client, within: self.longestWait)
    }

    /// Like `send`, but returns only the status, as soon as it has arrived. The rest of the response may fail.
    package func status(of request: OutboundRequest) async throws(OutboundFailure) -> Int {
        let client = HTTPClient(configuration: self.configuration)
        defer { Task { try? await client.shutdown() } }
        return try await Self.limited(to: self.longestWait) { try await Self.head(request, client) }.status
    }

    fileprivate func send(
        _ request: OutboundRequest, over client: HTTPClient, within longestWait: Duration
    ) async throws(OutboundFailure) -> OutboundResponse {
        try await Self.limited(to: longestWait) {
            let head = try await Self.head(request, client)
            let body: ByteBuffer
            do {
                body = try await head.body.collect(upTo: self.longestAnswer)
            } catch is NIOTooManyBytesError {
                throw OutboundFailure.tooLong(status: head.status)
            }
            return OutboundResponse(
                status: head.status,
                headers: Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
                body: Array(body.readableBytesView))
        }
    }

    /// Returns the status. Reuses the connection if the rest of the response is short and arrives soon; otherwise closes it.
    fileprivate func status(
        of request: OutboundRequest, over client: HTTPClient, within longestWait: Duration
    ) async throws(OutboundFailure) -> Int {
        let end = ContinuousClock.now + longestWait
        let head = try await Self.limited(to: longestWait) { try await Self.head(request, client) }
        let wait = min(Self.longestRest, end - .now)
        _ = try? await withTimeout(wait) { try await head.body.collect(upTo: self.longestAnswer) }
        return head.status
    }

    /// Limits the whole response: HTTPClient's own timeout covers only its head.
    private static func limited<Value: Sendable>(
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

    private typealias Head = (status: Int, headers: HTTPHeaders, body: HTTPClientResponse.Body)

    /// Sends a request. Returns before the body of its response is read.
    private static func head(_ outbound: OutboundRequest, _ client: HTTPClient) async throws -> Head {
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
        default:
            let reason = ConnectFailure.known(error)
            self = .unreachable(reason: reason ?? "\(error)", withoutAddress: reason ?? "\(type(of: error))")
        }
    }
}

/// Reusable connections, opened on first use, so a process that only validates its configuration (`enroute check`) has
/// nothing to close. Call `shutdown` when done. Because two gateways of one process may share these connections, a
/// later request opens new ones; they are closed when nobody refers to this object any longer.
package final class OutboundConnections: Sendable {
    private let http: OutboundHTTP
    private let opened = Mutex<HTTPClient?>(nil)

    package init(_ http: OutboundHTTP) { self.http = http }

    deinit {
        guard let client = self.opened.withLock({ $0 }) else { return }
        Task { try? await client.shutdown() }
    }

    /// - Parameter longestWait: `nil` for the default.
    package func send(
        _ request: OutboundRequest, within longestWait: Duration? = nil
    ) async throws(OutboundFailure) -> OutboundResponse {
        try await self.http.send(request, over: self.client, within: longestWait ?? self.http.longestWait)
    }

    /// Like `send`, but returns only the status, as soon as it has arrived. The rest of the response may fail.
    package func status(
        of request: OutboundRequest, within longestWait: Duration
    ) async throws(OutboundFailure) -> Int {
        try await self.http.status(of: request, over: self.client, within: longestWait)
    }

    package func shutdown() async {
        let client = self.opened.withLock { opened in
            defer { opened = nil }
            return opened
        }
        try? await client?.shutdown()
    }

    private var client: HTTPClient {
        self.opened.withLock { opened in
            let client = opened ?? HTTPClient(configuration: self.http.configuration)
            opened = client
            return client
        }
    }
}
