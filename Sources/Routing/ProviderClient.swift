// Asks providers over HTTP/1.1: one question, one answer of bounded length within a bounded time, and no redirect is followed,
// because where it leads was not configured and would be sent a key and places.

internal import OutboundHTTP

/// Connections to all providers of a process. Ends with `shutdown`.
package final class ProviderClient: Sendable {
    /// From a question to the last byte of its answer.
    package static let longestWait = Duration.seconds(3)
    /// Bytes of an answer, at most.
    package static let longestAnswer = 1_048_576

    private let connections: OutboundConnections

    /// - Parameter authorities: PEM file of those that may vouch for providers; `nil` for the system's.
    /// - Throws: `InvalidProviderSetting`.
    package init(authorities: String? = nil, longestWait: Duration = ProviderClient.longestWait)
        throws(InvalidProviderSetting)
    {
        do {
            self.connections = OutboundConnections(
                try OutboundHTTP(authorities: authorities, longestWait: longestWait, longestAnswer: Self.longestAnswer))
        } catch {
            throw InvalidProviderSetting(
                description: "The authorities of providers name \(error.path), which holds no certificate in PEM.")
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
