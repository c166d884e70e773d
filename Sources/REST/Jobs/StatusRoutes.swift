// Changes the status of a job by REST. With If-Match, the change is applied only if the job is still in the state that
// the client has seen, so only one of several concurrent changes succeeds.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Telemetry

extension Routes {
    func addStatus(to api: RouterGroup<GatewayRequestContext>) {
        api.post("jobs/{job}/status", use: self.changeStatus)
    }

    private struct StatusBody: Decodable {
        var status: String
        var occurredAt: RequestTimestamp?
    }

    /// How far `occurredAt` may be in the future, in milliseconds, to tolerate clock differences.
    private static let furthestAheadMilliseconds: Int64 = 30_000

    @Sendable private func changeStatus(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try await self.grant(
            request, context, .changeStatus, orOfLinkFor: self.shared.pages.settings.customerCancelling)
        let job = try self.job(context, grant)
        let expected = try Self.expectedHead(request)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            try await self.changeStatus(of: job, request, context, grant, expected, attempt)
        }
    }

    private func changeStatus(
        of job: JobID, _ request: Request, _ context: GatewayRequestContext, _ grant: Grant, _ expected: ExpectedHead?,
        _ attempt: RequestAttempt
    ) async throws -> Response {
        let body = try await self.body(StatusBody.self, request, context)
        let status = try Self.status(body.status)
        guard status.canBeCaused(by: grant.party) else {
            throw Problem(
                .forbidden, status: 403,
                detail: "The role \(grant.role.rawValue) cannot set the status \(status.rawValue).")
        }
        if let occurredAt = body.occurredAt?.milliseconds,
            occurredAt > WallClock.nowMilliseconds + Self.furthestAheadMilliseconds
        {
            throw Self.unprocessable(
                "occurredAt is in the future. Send the time at which the status changed, and check the sender's clock.")
        }
        let event = try await self.result(
            of: self.jobs.change(
                job, to: status, by: grant.person, source: "rest", occurredAt: body.occurredAt?.milliseconds,
                request: attempt.key, expected: expected, party: grant.party,
                origin: ChangeOrigin(receivedAt: context.receivedAt, traceparent: context.trace?.traceparent)))
        context.logger.debug(
            "status changed", metadata: [LogKey.job: "\(job)", LogKey.status: "\(status.rawValue)"])
        return Self.json(
            ServerMessage.status(job: job, event.value).encoded,
            isReplicationUnconfirmed: event.isReplicationUnconfirmed)
    }

    /// - Throws: 422 for an unknown status.
    static func status(_ text: String) throws -> JobStatus {
        guard let status = JobStatus(rawValue: text) else {
            let statuses = JobStatus.allCases.map(\.rawValue).joined(separator: ", ")
            throw Self.unprocessable("status must be one of \(statuses).")
        }
        return status
    }

    /// Returns the state that the change expects, or `nil` for any.
    static func expectedHead(_ request: Request) throws -> ExpectedHead? {
        let lines = request.headers[values: .ifMatch]
        switch Precondition(ifMatch: lines.isEmpty ? nil : lines.joined(separator: ",")) {
        case .none: return nil
        case .head(let head): return head
        case .never: return .never
        case .malformed: throw Self.malformedIfMatch
        }
    }
}
