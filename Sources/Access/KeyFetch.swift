// An issuer's keys over HTTPS: one question, one answer of bounded length within a bounded time, from the very URL that was
// configured. What the answer holds is judged by JWKSet; when to ask is KeyRefresh's.

internal import FoundationEssentials
internal import OutboundHTTP

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
        case status(Int)
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
    private let http: OutboundHTTP

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
        case "http" where LoopbackHost.contains(host): break
        default:
            throw Unusable(
                description: "ENROUTE_TOKEN_JWKS_URL must begin with https://; http:// is for localhost alone, because "
                    + "whoever can change the answer can sign in as anybody.")
        }
        self.url = url
        do {
            self.http = try OutboundHTTP(
                authorities: authorities, longestWait: longestWait, longestAnswer: JWKSet.longest)
        } catch {
            throw Unusable(
                description: "ENROUTE_TOKEN_JWKS_CA names \(error.path), which holds no certificate in PEM.")
        }
    }

    /// The bytes of the answer.
    ///
    /// - Throws: `Failure`, or `CancellationError`.
    @Sendable package func callAsFunction() async throws -> [UInt8] {
        let question = OutboundQuestion(url: self.url, headers: ["accept": "application/json"])
        do {
            let answer = try await self.http.answer(to: question)
            try Self.check(answer.status)
            return answer.body
        } catch let failure as OutboundFailure {
            switch failure {
            case .late: throw Failure.late
            case .tooLong(let status):
                try Self.check(status)
                throw Failure.tooLong
            case .notReached(let reason, _): throw Failure.notReached(reason)
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
