// What became of a rider's readings, for the rider and for those who run the service: a customer who complains of a
// marker that stood still is answered with numbers. Where the rider was is not among them, so all are told the same.

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
        guard let record = try await self.answer(self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        let summary = try await self.answer(self.notes.read(job))
        return Self.json(summary.json(of: job))
    }
}
