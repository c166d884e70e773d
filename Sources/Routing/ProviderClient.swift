// Asks providers over HTTP/1.1: one question, one answer of bounded length within a bounded time, and no redirect is followed,
// because where it leads was not configured and would be sent a key and places.

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Resilience

/// Connections to all providers of a process. Ends with `shutdown`.
package final class ProviderClient: Sendable {
    /// From a question to the last byte of its answer.
    package static let longestWait = Duration.seconds(3)
    /// Bytes of an answer, at most.
    package static let longestAnswer = 1_048_576

    private let client: HTTPClient
    private let longestWait: Duration

    /// - Parameter authorities: PEM file of those that may vouch for providers; `nil` for the system's.
    /// - Throws: `UnusableProvider`.
    package init(authorities: String? = nil, longestWait: Duration = ProviderClient.longestWait)
        throws(UnusableProvider)
    {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities {
            guard let trusted = try? NIOSSLCertificate.fromPEMFile(authorities), !trusted.isEmpty else {
                throw UnusableProvider(
                    description: "The authorities of providers name \(authorities), which holds no certificate in PEM.")
            }
            tls.trustRoots = .certificates(trusted)
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(longestWait)
        configuration.httpVersion = .http1Only
        // Otherwise a connection that was refused is tried again until the time is up.
        configuration.connectionPool.retryConnectionEstablishment = false
        (self.client, self.longestWait) = (HTTPClient(configuration: configuration), longestWait)
    }

    package func shutdown() async throws { try await self.client.shutdown() }

    /// - Throws: `late`, `notReached`, `tooLong`; `late` too when the task is cancelled.
    package func ask(_ question: ProviderRequest) async throws(ProviderFailure) -> ProviderResponse {
        let client = self.client
        let response: ProviderResponse?
        do {
            response = try await answer(within: self.longestWait) { try await Self.ask(question, client) }
        } catch let failure as ProviderFailure {
            throw failure
        } catch {
            throw .late
        }
        guard let response else { throw .late }
        return response
    }

    private static func ask(
        _ question: ProviderRequest, _ client: HTTPClient
    ) async throws(ProviderFailure) -> ProviderResponse {
        var request = HTTPClientRequest(url: question.url)
        request.method = HTTPMethod(rawValue: question.method.rawValue)
        request.headers = ["user-agent": "enroute", "accept": "application/json, application/geo+json"]
        for (name, value) in question.headers { request.headers.replaceOrAdd(name: name, value: value) }
        if !question.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: question.body)) }
        do {
            let response = try await client.execute(request, deadline: .distantFuture)
            let body = try await response.body.collect(upTo: Self.longestAnswer)
            return ProviderResponse(
                status: Int(response.status.code),
                retryAfterSeconds: response.headers.first(name: "retry-after").flatMap {
                    RetryAfter.seconds($0, date: response.headers.first(name: "date"))
                },
                body: Array(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw .tooLong
        } catch is CancellationError {
            throw .late
        } catch let error as HTTPClientError {
            switch error {
            case .deadlineExceeded, .connectTimeout, .readTimeout, .requestStreamCancelled, .cancelled: throw .late
            // Its own words, which name neither the URL nor a header.
            default: throw .notReached(error.shortDescription)
            }
        } catch {
            // What else there is may name an address, never what was asked.
            throw .notReached("\(type(of: error))")
        }
    }
}
