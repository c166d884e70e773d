// Fetches an issuer's keys over HTTPS: one request and one bounded response within a bounded time, from exactly the configured
// URL. JWKSet validates the response; KeyRefresh decides when to fetch.

internal import FoundationEssentials
package import OutboundHTTP

/// Fetches a key set from one URL, over a new connection each time because fetches are minutes apart.
package struct JWKSFetcher: Sendable {
    /// The settings of a fetcher.
    package enum Setting: Sendable { case url, authorities }

    package typealias InvalidSetting = InvalidServiceSetting<Setting>

    /// Identifies a key set. Providers with the same key set share its fetches.
    package struct KeySet: Hashable, Sendable {
        let url: String
        /// PEM file of the CAs trusted for the issuer; `nil` for the system's.
        let authorities: String?
    }

    /// Why a fetch failed. Expected; the next one may succeed.
    package enum Failure: Error, CustomStringConvertible {
        case late
        case redirected
        case status(Int)
        case tooLong
        case unreachable(String)

        package var description: String {
            switch self {
            case .late:
                "The issuer of keys did not respond within \(JWKSFetcher.longestWait.components.seconds) s. "
                    + "Check that it is running and that no firewall blocks this machine."
            case .redirected:
                "The issuer of keys responded with a redirect, and redirects are not followed. "
                    + "Configure the final URL."
            case .status(let code):
                "The issuer of keys responded with status \(code) instead of 200. "
                    + "Check that the configured URL is that of its key set."
            case .tooLong:
                "The issuer's response is longer than \(JWKSet.longest) bytes. "
                    + "Check that the configured URL is that of its key set."
            case .unreachable(let reason):
                "The issuer of keys cannot be reached: \(reason). Check that it is running and that its certificate was issued "
                    + "by a trusted certificate authority."
            }
        }
    }

    /// From sending the request to the last byte of the response.
    package static let longestWait = Duration.seconds(5)

    package let keySet: KeySet
    private let http: OutboundHTTP

    /// - Parameters:
    ///   - url: `https`; `http` only for this machine, because anyone who can alter the response can sign in as anybody.
    ///   - authorities: PEM file of the CAs trusted for the issuer; `nil` for the system's.
    ///   - longestWait: the time limit for one fetch.
    /// - Throws: `InvalidSetting`.
    package init(url: String, authorities: String? = nil, longestWait: Duration = Self.longestWait)
        throws(InvalidSetting)
    {
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty, parts.user == nil,
            parts.password == nil, parts.fragment == nil, (1...65_535).contains(parts.port ?? 443)
        else {
            throw InvalidSetting(
                .url,
                "must look like https://issuer.example/keys, without a user name, and with a port from 1 to 65535.")
        }
        switch parts.scheme?.lowercased() {
        case "https": break
        case "http" where LoopbackHost.contains(host): break
        default:
            throw InvalidSetting(
                .url,
                "must start with https://. http:// is accepted only for localhost, because anyone who can alter the "
                    + "response can sign in as anybody.")
        }
        self.keySet = KeySet(url: url, authorities: authorities)
        do {
            self.http = try OutboundHTTP(
                authorities: authorities, longestWait: longestWait, longestAnswer: JWKSet.longest)
        } catch {
            throw InvalidSetting(
                .authorities, "names \(error.path), which contains no PEM certificate.")
        }
    }

    /// Returns the bytes of the response.
    ///
    /// - Throws: `Failure`, or `CancellationError`.
    @Sendable package func callAsFunction() async throws -> [UInt8] {
        let question = OutboundRequest(url: self.keySet.url, headers: ["accept": "application/json"])
        do {
            let answer = try await self.http.send(question)
            try Self.check(answer.status)
            return answer.body
        } catch let failure as OutboundFailure {
            switch failure {
            case .late: throw Failure.late
            case .tooLong(let status):
                try Self.check(status)
                throw Failure.tooLong
            case .unreachable(let reason, _): throw Failure.unreachable(reason)
            case .cancelled: throw CancellationError()
            }
        }
    }

    private static func check(_ status: Int) throws(Failure) {
        switch status {
        case 200: return
        case 300..<400: throw .redirected
        default: throw .status(status)
        }
    }
}
