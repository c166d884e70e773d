// What SNS is asked for by HTTPS: its certificates, and the confirmation of a subscription. One question, one answer of
// bounded length within a bounded time, and no redirect is followed, since the address was checked and the next was not.

internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Asks a URL. A connection of its own for each question, because days lie between them.
struct TopicFetch: Sendable {
    /// Bytes of an answer, at most.
    static let longestAnswer = 65_536

    /// From the question to the last byte of the answer.
    private let longestWait: Duration
    private let configuration: HTTPClient.Configuration

    /// - Parameter authorities: PEM file of those that may vouch for the hosts; `nil` for the system's.
    init(authorities: String?, longestWait: Duration) throws(TopicTrust.Unusable) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities {
            guard let trusted = try? NIOSSLCertificate.fromPEMFile(authorities), !trusted.isEmpty else {
                throw TopicTrust.Unusable(
                    description: "ENROUTE_SNS_CA names \(authorities), which holds no certificate in PEM.")
            }
            tls.trustRoots = .certificates(trusted)
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(longestWait)
        configuration.httpVersion = .http1Only
        // Otherwise a connection that was refused is tried again until the time is up.
        configuration.connectionPool.retryConnectionEstablishment = false
        (self.configuration, self.longestWait) = (configuration, longestWait)
    }

    /// The bytes of the answer.
    ///
    /// - Throws: `TopicTrust.Refusal.notReached`.
    func callAsFunction(_ url: String) async throws -> [UInt8] {
        let client = HTTPClient(configuration: self.configuration)
        // Goodbyes may take the peer longer than the answer did. Ends by itself, within NIOSSL's bound for them.
        defer { Task { try? await client.shutdown() } }
        var request = HTTPClientRequest(url: url)
        request.headers = ["user-agent": "enroute"]
        do {
            let response = try await client.execute(request, timeout: TimeAmount(self.longestWait))
            guard response.status == .ok else {
                throw TopicTrust.Refusal.notReached("SNS answered with status \(response.status.code)")
            }
            return Array(try await response.body.collect(upTo: Self.longestAnswer).readableBytesView)
        } catch let refusal as TopicTrust.Refusal {
            throw refusal
        } catch {
            throw TopicTrust.Refusal.notReached("\(error)")
        }
    }
}
