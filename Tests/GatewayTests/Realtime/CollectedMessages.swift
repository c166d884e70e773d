import EnrouteClient
import EnrouteWire

@testable import Gateway

extension RunningGateway {
    /// Follows a job as its customer, and collects the messages after the snapshot.
    ///
    /// - Parameters:
    ///   - onSubscribed: called when the snapshot has been received, so that the test can change the job.
    ///   - isLast: called with each message; `true` ends the collection with this message.
    /// - Throws: `Missing` if the gateway closes the connection first.
    func collectMessages(
        of job: JobID, by customer: String, onSubscribed: @escaping @Sendable () -> Void,
        until isLast: @escaping @Sendable (ServerMessage) -> Bool
    ) async throws -> [ServerMessage] {
        try await self.connect(customer, .customer) { connection, messages in
            try await connection.send(.subscribe(job: job, since: nil))
            _ = try await messages.subscribed()
            onSubscribed()
            var collected: [ServerMessage] = []
            while let message = try await messages.next() {
                collected.append(message)
                if isLast(message) { return collected }
            }
            throw Missing()
        }
    }
}
