// Explanations of jobs and riders, for operations staff in an incident. An explanation names the people who follow a
// job, so each one is recorded in the audit trail. It never contains a position.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Realtime

extension Routes {
    func addExplanations(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs/{job}/explanation", use: self.explainJob)
        api.get("riders/{rider}/explanation", use: self.explainRider)
    }

    @Sendable private func explainJob(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .explainJob)
        let job = try self.job(context, grant)
        let facts = try await self.services.facts.facts(of: job)
        let explanation = JobExplanation(
            facts, settings: self.settings.liveState, freshness: self.settings.freshness, early: self.jobs.early
        ).document
        guard explanation.found != false else { throw Problem(Refused.noSuchJob) }
        self.services.audit(.explained(.job(job), to: grant.person, via: "rest"))
        return try Self.json(explanation)
    }

    @Sendable private func explainRider(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .explainRider)
        let rider: PersonID = try Self.identifier(context.parameters.require("rider"), "rider")
        let facts = try await self.services.facts.facts(of: rider)
        let explanation = RiderExplanation(facts, settings: self.settings.liveState).document
        guard explanation.found != false else {
            throw Problem(.notFound, status: 404, detail: "There is no such rider.")
        }
        self.services.audit(.explained(.rider(rider), to: grant.person, via: "rest"))
        return try Self.json(explanation)
    }
}
