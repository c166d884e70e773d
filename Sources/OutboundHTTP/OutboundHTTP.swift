// How this process asks other services: one question over HTTP/1.1, at least TLS 1.2, one answer of bounded length within
// a bounded time. No redirect is followed, because the address was checked and the next was not; nothing is tried twice,
// because when to ask again is the caller's to decide.

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Resilience
internal import Synchronization

/// Asks other services. A value: `answer(to:)` opens a connection for its question alone. Who asks often keeps an
/// `OutboundConnections`.
package struct OutboundHTTP: Sendable {
    fileprivate let configuration: HTTPClient.Configuration
    fileprivate let longestWait: Duration
    fileprivate let longestAnswer: Int

    /// - Parameters:
    ///   - authorities: PEM file of those that may vouch for the services; `nil` for the system's.
    ///   - longestWait: from a question to the last byte of its answer.
    ///   - longestAnswer: bytes of its body.
    package init(authorities: String? = nil, longestWait: Duration, longestAnswer: Int) throws(NoAuthorities) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities {
            guard let trusted = try? NIOSSLCertificate.fromPEMFile(authorities), !trusted.isEmpty else {
                throw NoAuthorities(path: authorities)
            }
            tls.trustRoots = .certificates(trusted)
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(longestWait)
        configuration.httpVersion = .http1Only
        // Otherwise a connection that was refused is tried again until the time is up.
        configuration.connectionPool.retryConnectionEstablishment = false
        (self.configuration, self.longestWait, self.longestAnswer) = (configuration, longestWait, longestAnswer)
    }

    /// Asks over a connection of its own.
    package func answer(to question: OutboundQuestion) async throws(OutboundFailure) -> OutboundAnswer {
        let client = HTTPClient(configuration: self.configuration)
        // Goodbyes may take the peer longer than the answer did, and nobody waits for them. Ends by itself, within NIOSSL's
        // bound for them.
        defer { Task { try? await client.shutdown() } }
        return try await self.answer(to: question, over: client, within: self.longestWait)
    }

    fileprivate func answer(
        to question: OutboundQuestion, over client: HTTPClient, within longestWait: Duration
    ) async throws(OutboundFailure) -> OutboundAnswer {
        let whole: OutboundAnswer?
        do {
            // HTTPClient's own time-out ends with the head of the answer.
            whole = try await Resilience.answer(within: longestWait) { try await self.ask(question, client) }
        } catch let failure as OutboundFailure {
            throw failure
        } catch {
            throw .cancelled
        }
        guard let whole else { throw .late }
        return whole
    }

    private func ask(
        _ question: OutboundQuestion, _ client: HTTPClient
    ) async throws(OutboundFailure) -> OutboundAnswer {
        var request = HTTPClientRequest(url: question.url)
        request.method = HTTPMethod(rawValue: question.method.rawValue)
        request.headers = ["user-agent": "enroute"]
        for (name, value) in question.headers { request.headers.replaceOrAdd(name: name, value: value) }
        if !question.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: question.body)) }
        do {
            let response = try await client.execute(request, deadline: .distantFuture)
            let status = Int(response.status.code)
            let body: ByteBuffer
            do {
                body = try await response.body.collect(upTo: self.longestAnswer)
            } catch is NIOTooManyBytesError {
                throw OutboundFailure.tooLong(status: status)
            }
            return OutboundAnswer(
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
            // Its short words name neither the URL nor a header.
            default: throw .notReached(reason: "\(error)", withoutAddress: error.shortDescription)
            }
        } catch {
            throw .notReached(reason: "\(error)", withoutAddress: "\(type(of: error))")
        }
    }
}

/// Connections that are used again, from the first question on: what is only configured (`enroute check`) has nothing to
/// end. Ends with `shutdown`.
package final class OutboundConnections: Sendable {
    private let http: OutboundHTTP
    private let opened = Mutex<HTTPClient?>(nil)

    package init(_ http: OutboundHTTP) { self.http = http }

    /// - Parameter longestWait: `nil` for the usual one.
    package func answer(
        to question: OutboundQuestion, within longestWait: Duration? = nil
    ) async throws(OutboundFailure) -> OutboundAnswer {
        try await self.http.answer(to: question, over: self.client, within: longestWait ?? self.http.longestWait)
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
