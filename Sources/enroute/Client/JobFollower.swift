// Follows a job over a WebSocket that reconnects, and resumes after the last received status.

import EnrouteClient
import EnrouteWire
import OutboundHTTP

/// Follows one job until it ends.
struct JobFollower: Sendable {
    let client: GatewayClient
    let job: JobID
    let onMessage: @Sendable (ServerMessage) -> Void

    private enum Ending: Error {
        /// The job has ended, or following it is over.
        case ended
        /// The gateway asked the client to reconnect.
        case moved(milliseconds: Int64)
    }

    /// Returns when the job has ended. Only the first request must succeed. Afterwards, it retries an unavailable
    /// gateway indefinitely, with a delay of at most `ReconnectBackoff.longest`.
    ///
    /// - Throws: `GatewayRefusal`, `Unavailable` or `ConfigurationError` when reconnecting would not help.
    func run() async throws {
        // The response explains a wrong token or an unknown job better than a close code does.
        _ = try await self.client.send(.get, "jobs/\(self.job)")
        var backoff = ReconnectBackoff()
        var since: ResumePoint?
        while true {
            let before = since
            do {
                try await GatewayConnection.open(self.client.socket, token: self.client.token, trust: self.client.trust)
                {
                    try await self.follow($0, &since)
                }
                throw ClientError.connectionLost
            } catch Ending.ended {
                return
            } catch Ending.moved(let milliseconds) {
                try await Task.sleep(for: min(.milliseconds(milliseconds), ReconnectBackoff.longest))
                continue
            } catch let error as ClientError {
                if case .closed(let code, _) = error, !CloseCode.reconnects(after: code) {
                    throw Unavailable(description: error.description)
                }
                if case .malformedURL = error { throw ConfigurationError(description: error.description) }
                Output.complain("enroute: \(error) Reconnecting.\n")
                try await Task.sleep(for: backoff.next(madeProgress: since != before))
                if case .upgradeRefused = error { try await self.explainRefusal() }
            }
        }
    }

    /// Finds out whether the token expired or the job was removed while there was no connection.
    ///
    /// - Throws: `GatewayRefusal` if reconnecting would not help.
    private func explainRefusal() async throws {
        do {
            _ = try await self.client.send(.get, "jobs/\(self.job)")
        } catch let refusal as GatewayRefusal where refusal.isPassing {
            // The caller retries: the gateway is busy or draining, or the load balancer has no gateway.
        } catch is Unavailable {
            // Treated like a failed attempt to connect.
        }
    }

    private func follow(_ connection: GatewayConnection, _ since: inout ResumePoint?) async throws {
        try await connection.send(.subscribe(job: self.job, since: since))
        for try await message in connection.messages {
            self.onMessage(message)
            switch message {
            case .subscribed(_, let snapshot), .reset(_, let snapshot):
                since = ResumePoint(epoch: snapshot.epoch, id: snapshot.id)
                if snapshot.status.end != nil { throw Ending.ended }
            case .status(_, let event):
                since = ResumePoint(epoch: event.epoch, id: event.id)
                if event.status.end != nil { throw Ending.ended }
            case .ended: throw Ending.ended
            case .goaway(let milliseconds): throw Ending.moved(milliseconds: milliseconds)
            case .error(let refusal) where !refusal.code.isRetryable:
                throw Unavailable(description: "The gateway refused to follow \(self.job): \(refusal.message)")
            case .error: throw ClientError.connectionLost
            default: continue
            }
        }
    }
}
