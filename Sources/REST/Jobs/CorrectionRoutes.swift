// Corrects the status of a job by REST, whatever its lifecycle allows. Only services and operations staff may do this,
// and they must give a reason.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Realtime
internal import Redis
internal import Telemetry

extension Routes {
    func addCorrections(to api: RouterGroup<GatewayRequestContext>) {
        api.post("jobs/{job}/corrections", use: self.correct)
    }

    private struct CorrectionBody: Decodable {
        var status: String
        var reason: String
    }

    @Sendable private func correct(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .correctJob)
        let job = try self.job(context, grant)
        let expected = try Self.expectedHead(request)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            let body = try await self.body(CorrectionBody.self, request, context)
            guard CorrectedStatus.isReason(body.reason) else {
                throw Self.unprocessable(
                    "reason must be one line of 1 to \(CorrectedStatus.longestReason) characters, not only spaces, "
                        + "that says why the status was wrong.")
            }
            let correction = StatusCorrection(
                to: try Self.status(body.status), because: body.reason, by: grant.person, request: attempt.key)
            return try await self.correct(job, correction, expected, context)
        }
    }

    private func correct(
        _ job: JobID, _ correction: StatusCorrection, _ expected: ExpectedHead?, _ context: GatewayRequestContext
    ) async throws -> Response {
        let (streams, gateway) = (self.services.streams, self.settings.name)
        let result = try await self.result(
            of: self.jobs.correct(job, correction, expected: expected) { corrected in
                // The log already has the correction; a repeated request writes an audit entry with the same number.
                var entry = AuditEntry.corrected(corrected, by: correction.actor, because: correction.reason)
                entry.stamp(
                    gateway: gateway, at: WallClock.nowMilliseconds, number: "\(corrected.event.id)-correction")
                return streams.append(entry)
            })
        let corrected = result.value
        context.logger.debug(
            "status corrected", metadata: [LogKey.job: "\(job)", LogKey.status: "\(corrected.event.status.rawValue)"])
        return Self.json(corrected.json, isReplicationUnconfirmed: result.isReplicationUnconfirmed)
    }
}
