// Requests to other services: one request over HTTP/1.1 and TLS 1.2 or newer, one bounded response within a bounded time.
// Redirects are not followed, because only the first address has been checked. Nothing is retried: the caller decides when to
// try again.

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Resilience
internal import Synchronization

/// A client for requests to other services. A value: `send(_:)` opens a new connection for each request. For frequent
/// requests use `OutboundConnections`.
package struct OutboundHTTP: Sendable {
    fileprivate var configuration: HTTPClient.Configuration
    fileprivate let longestWait: Duration
    fileprivate let longestAnswer: Int

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
        // Otherwise a refused connection is retried until the time limit.
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
        // Shorter than servers keep idle connections: a request on one that the server just closed would fail.
        reusing.configuration.connectionPool.idleTimeout = .seconds(4)
        return reusing
    }

    /// Sends a request over a new connection.
    package func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse {
        let client = HTTPClient(configuration: self.configuration)
        // Closing TLS may take longer than the response did, and the caller should not wait for it. NIOSSL bounds it.
        defer { Task { try? await client.shutdown() } }
        return try await self.send(request, over: client, within: self.longestWait)
    }

    fileprivate func send(
        _ request: OutboundRequest, over client: HTTPClient, within longestWait: Duration
    ) async throws(OutboundFailure) -> OutboundResponse {
        let whole: OutboundResponse?
        do {
            // HTTPClient's own timeout covers only the head of the response.
            whole = try await withTimeout(longestWait) { try await self.perform(request, client) }
        } catch let failure as OutboundFailure {
            throw failure
        } catch {
            throw .cancelled
        }
        guard let whole else { throw .late }
        return whole
    }

    private func perform(
        _ outbound: OutboundRequest, _ client: HTTPClient
    ) async throws(OutboundFailure) -> OutboundResponse {
        var request = HTTPClientRequest(url: outbound.url)
        request.method = HTTPMethod(rawValue: outbound.method.rawValue)
        request.headers = ["user-agent": "enroute"]
        for (name, value) in outbound.headers { request.headers.replaceOrAdd(name: name, value: value) }
        if !outbound.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: outbound.body)) }
        do {
            let response = try await client.execute(request, deadline: .distantFuture)
            let status = Int(response.status.code)
            let body: ByteBuffer
            do {
                body = try await response.body.collect(upTo: self.longestAnswer)
            } catch is NIOTooManyBytesError {
                throw OutboundFailure.tooLong(status: status)
            }
            return OutboundResponse(
                status: status,
                headers: Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
                body: Array(body.readableBytesView))
        } catch let failure as OutboundFailure {
            throw failure
        } catch is CancellationError {
            throw .cancelled
        } catch let error as HTTPClientError {
            switch error {
            case .deadlineExceeded, .connectTimeout, .readTimeout: throw .late
            case .requestStreamCancelled, .cancelled: throw .cancelled
            // The short description contains neither the URL nor a header.
            default: throw .unreachable(reason: "\(error)", withoutAddress: error.shortDescription)
            }
        } catch {
            throw .unreachable(reason: "\(error)", withoutAddress: "\(type(of: error))")
        }
    }
}

/// Reusable connections, opened on first use: a process that only validates its configuration (`enroute check`) has nothing to
/// close. Call `shutdown` when done.
package final class OutboundConnections: Sendable {
    private let http: OutboundHTTP
    private let opened = Mutex<HTTPClient?>(nil)

    package init(_ http: OutboundHTTP) { self.http = http }

    /// - Parameter longestWait: `nil` for the default.
    package func send(
        _ request: OutboundRequest, within longestWait: Duration? = nil
    ) async throws(OutboundFailure) -> OutboundResponse {
        try await self.http.send(request, over: self.client, within: longestWait ?? self.http.longestWait)
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
