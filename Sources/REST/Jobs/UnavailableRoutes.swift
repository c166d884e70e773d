// Lets a phone in the background report why its location is unavailable, like the message `unavailable` of a WebSocket. This is
// a separate route, because a location batch must contain a fix.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Realtime
internal import Tracking

extension Routes {
    func addUnavailable(to api: RouterGroup<GatewayRequestContext>) {
        api.put("jobs/{job}/unavailable", use: self.reportUnavailable)
    }

    private struct UnavailableBody: Decodable { var reason: String }

    @Sendable private func reportUnavailable(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .reportLocation)
        let job = try self.job(context, grant)
        let body = try await self.body(UnavailableBody.self, request, context)
        guard let reason = UnavailableReason(rawValue: body.reason) else {
            let reasons = UnavailableReason.allCases.map(\.rawValue).joined(separator: ", ")
            throw Self.unprocessable("reason must be one of \(reasons).")
        }
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        let off = Refused.travelModeOff
        guard record.isTravelling else { throw Problem(off) }
        // If the reason could not be recorded, respond with an error, so that the phone reports it again.
        let isNoted = try await self.result(
            of: self.loops.onHomeLoop(of: grant.person) { loop in
                loop.restReporters.reported(reason, for: job, of: grant.person)
            })
        guard isNoted else { throw Problem(off) }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }
}
