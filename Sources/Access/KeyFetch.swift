// An issuer's keys over HTTPS: one question, one answer of bounded length within a bounded time, from the very URL that was
// configured. What the answer holds is judged by JWKSet; when to ask is KeyRefresh's.

internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Resilience

/// Asks one URL for a set of keys. A connection of its own for each question, because minutes lie between them.
package struct KeyFetch: Sendable {
    /// Why a setting can not be used; says how it should be.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// What became of a question, in the place of an answer. Expected; the next one may be answered.
    package enum Failure: Error, CustomStringConvertible {
        case late
        case redirected
        case status(UInt)
        case tooLong
        case notReached(String)

        package var description: String {
            switch self {
            case .late:
                "The issuer of keys did not answer within \(KeyFetch.longestWait.components.seconds) s. "
                    + "See whether it is up, and whether a firewall lets this machine reach it."
            case .redirected:
                "The issuer of keys answers with a redirect, which is not followed. "
                    + "Set ENROUTE_TOKEN_JWKS_URL to where the keys are."
            case .status(let code):
                "The issuer of keys answers with status \(code) in the place of 200. "
                    + "See whether ENROUTE_TOKEN_JWKS_URL is the address of its keys."
            case .tooLong:
                "The issuer's answer is longer than \(JWKSet.longest) bytes. "
                    + "See whether ENROUTE_TOKEN_JWKS_URL is the address of its keys."
            case .notReached(let reason):
                "The issuer of keys can not be reached: \(reason). See whether it is up, and whether its certificate is "
                    + "from an authority of the system or of ENROUTE_TOKEN_JWKS_CA."
            }
        }
    }

    /// From the question to the last byte of the answer.
    package static let longestWait = Duration.seconds(5)

    private let url: String
    private let longestWait: Duration
    private let configuration: HTTPClient.Configuration

    /// - Parameters:
    ///   - url: `https`; `http` to this machine alone, since who can change the answer can sign in as anybody.
    ///   - authorities: PEM file of those that may vouch for the issuer; `nil` for the system's.
    ///   - longestWait: how long a question may take.
    /// - Throws: `Unusable`.
    package init(url: String, authorities: String? = nil, longestWait: Duration = Self.longestWait) throws(Unusable) {
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty, parts.user == nil,
            parts.password == nil, parts.fragment == nil, (1...65_535).contains(parts.port ?? 443)
        else {
            throw Unusable(
                description: "ENROUTE_TOKEN_JWKS_URL must be like https://issuer.example/keys, without a user, and its "
                    + "port 1 to 65535.")
        }
        switch parts.scheme?.lowercased() {
        case "https": break
        case "http" where Self.isThisMachine(host): break
        default:
            throw Unusable(
                description: "ENROUTE_TOKEN_JWKS_URL must begin with https://; http:// is for localhost alone, because "
                    + "whoever can change the answer can sign in as anybody.")
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities {
            guard let trusted = try? NIOSSLCertificate.fromPEMFile(authorities), !trusted.isEmpty else {
                throw Unusable(
                    description: "ENROUTE_TOKEN_JWKS_CA names \(authorities), which holds no certificate in PEM.")
            }
            tls.trustRoots = .certificates(trusted)
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(longestWait)
        configuration.httpVersion = .http1Only
        // Otherwise a connection that was refused is tried again until the time is up.
        configuration.connectionPool.retryConnectionEstablishment = false
        (self.url, self.longestWait, self.configuration) = (url, longestWait, configuration)
    }

    /// The bytes of the answer.
    ///
    /// - Throws: `Failure`, or `CancellationError`.
    @Sendable package func callAsFunction() async throws -> [UInt8] {
        let client = HTTPClient(configuration: self.configuration)
        // Goodbyes may take the peer longer than the answer did, and nobody waits for them. Ends by itself, within NIOSSL's
        // bound for them.
        defer { Task { try? await client.shutdown() } }
        let url = self.url
        guard let keys = try await answer(within: self.longestWait, to: { try await Self.ask(url, client) }) else {
            throw Failure.late
        }
        return keys
    }

    private static func ask(_ url: String, _ client: HTTPClient) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: url)
        request.headers = ["accept": "application/json", "user-agent": "enroute"]
        let body: ByteBuffer
        do {
            // The bound of the whole is the caller's.
            let response = try await client.execute(request, deadline: .distantFuture)
            switch response.status.code {
            case 200: break
            case 300..<400: throw Failure.redirected
            case let code: throw Failure.status(code)
            }
            body = try await response.body.collect(upTo: JWKSet.longest)
        } catch is NIOTooManyBytesError {
            throw Failure.tooLong
        } catch let failure as Failure {
            throw failure
        } catch let error as CancellationError {
            throw error
        } catch let error as HTTPClientError where error == .connectTimeout {
            throw Failure.late
        } catch {
            throw Failure.notReached("\(error)")
        }
        return Array(body.readableBytesView)
    }

    private static func isThisMachine(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback = numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
        return isLoopback || ["localhost", "::1", "[::1]"].contains(host.lowercased())
    }
}
