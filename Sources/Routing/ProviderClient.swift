// The HTTP/1.1 client for providers. The length and the time of a response are limited. Redirects are not followed,
// because their target was not configured and would receive a key and positions.

internal import OutboundHTTP

/// The connections to all providers of a process. `shutdown` closes them.
package final class ProviderClient: Sendable {
    /// Maximum time from a request to the last byte of its response.
    package static let longestWait = Duration.seconds(3)
    /// Maximum length of a response in bytes.
    package static let longestAnswer = 1_048_576

    private let connections: OutboundConnections

    /// - Parameter authorities: PEM file of the trusted certificate authorities; `nil` for the system's.
    /// - Throws: `InvalidProviderSetting`.
    package init(authorities: String? = nil, longestWait: Duration = ProviderClient.longestWait)
        throws(InvalidProviderSetting)
    {
        do {
            self.connections = OutboundConnections(
                try OutboundHTTP(authorities: authorities, longestWait: longestWait, longestAnswer: Self.longestAnswer))
        } catch {
            throw InvalidProviderSetting(
                description:
                    "The file of trusted certificate authorities for providers, \(error.path), contains no PEM certificate."
            )
        }
    }

    package func shutdown() async { await self.connections.shutdown() }

    /// - Throws: `late`, `unreachable`, `tooLong`; `late` too when the task is cancelled.
    package func ask(_ question: ProviderRequest) async throws(ProviderFailure) -> ProviderResponse {
        let accepted = ["accept": "application/json, application/geo+json"]
        let answer: OutboundResponse
        do {
            answer = try await self.connections.send(
                OutboundRequest(
                    method: question.method, url: question.url,
                    headers: accepted.merging(question.headers) { _, own in own }, body: question.body))
        } catch {
            switch error {
            case .late, .cancelled: throw .late
            case .tooLong: throw .tooLong
            case .unreachable(_, let reason): throw .unreachable(reason)
            }
        }
        return ProviderResponse(
            status: answer.status,
            retryAfterSeconds: answer.header("retry-after").flatMap {
                RetryAfter.seconds($0, date: answer.header("date"))
            },
            body: answer.body)
    }
}
