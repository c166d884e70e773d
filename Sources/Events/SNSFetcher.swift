// HTTPS requests to SNS: for its certificates and to confirm a subscription. One request, one bounded response within a bounded
// time. Redirects are not followed, because only the first address has been checked.

internal import OutboundHTTP

/// Fetches a URL, over a new connection each time because fetches are days apart.
struct SNSFetcher: Sendable {
    /// Maximum size of a response, in bytes.
    static let longestAnswer = 65_536

    private let http: OutboundHTTP

    /// - Parameter authorities: PEM file of the CAs trusted for the hosts; `nil` for the system's.
    init(authorities: String?, longestWait: Duration) throws(SNSVerifier.InvalidSetting) {
        do {
            self.http = try OutboundHTTP(
                authorities: authorities, longestWait: longestWait, longestAnswer: Self.longestAnswer)
        } catch {
            throw SNSVerifier.InvalidSetting(
                .authorities, "names \(error.path), which contains no PEM certificate.")
        }
    }

    /// Returns the bytes of the response.
    func callAsFunction(_ url: String) async throws(SNSVerifier.Refusal) -> [UInt8] {
        let answer: OutboundResponse
        do {
            answer = try await self.http.send(OutboundRequest(url: url))
        } catch {
            throw .unreachable("\(error)")
        }
        guard answer.status == 200 else { throw .unreachable("SNS responded with status \(answer.status)") }
        return answer.body
    }
}
