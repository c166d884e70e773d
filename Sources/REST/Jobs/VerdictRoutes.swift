// The validation verdicts on a rider's fixes, for the rider, operations and services. They help to explain, for example, why a
// customer saw a marker that did not move. They contain no positions, so all these roles see the same numbers.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore

extension Routes {
    func addVerdicts(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs/{job}/verdicts", use: self.readVerdicts)
    }

    @Sendable private func readVerdicts(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .readVerdicts)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        let summary = try await self.result(of: self.notes.read(job))
        return Self.json(summary.json(of: job))
    }
}
