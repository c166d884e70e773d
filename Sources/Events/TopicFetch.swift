// What SNS is asked for by HTTPS: its certificates, and the confirmation of a subscription. One question, one answer of
// bounded length within a bounded time, and no redirect is followed, since the address was checked and the next was not.

internal import OutboundHTTP

/// Asks a URL. A connection of its own for each question, because days lie between them.
struct TopicFetch: Sendable {
    /// Bytes of an answer, at most.
    static let longestAnswer = 65_536

    private let http: OutboundHTTP

    /// - Parameter authorities: PEM file of those that may vouch for the hosts; `nil` for the system's.
    init(authorities: String?, longestWait: Duration) throws(TopicTrust.Unusable) {
        do {
            self.http = try OutboundHTTP(
                authorities: authorities, longestWait: longestWait, longestAnswer: Self.longestAnswer)
        } catch {
            throw TopicTrust.Unusable(
                description: "ENROUTE_SNS_CA names \(error.path), which holds no certificate in PEM.")
        }
    }

    /// The bytes of the answer.
    func callAsFunction(_ url: String) async throws(TopicTrust.Refusal) -> [UInt8] {
        let answer: OutboundAnswer
        do {
            answer = try await self.http.answer(to: OutboundQuestion(url: url))
        } catch {
            throw .notReached("\(error)")
        }
        guard answer.status == 200 else { throw .notReached("SNS answered with status \(answer.status)") }
        return answer.body
    }
}
