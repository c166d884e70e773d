// Requests with a tracking link instead of a token: `Authorization: Link <secret>`. A link shows a job. If the settings
// allow it, anybody with the link may also act for the customer.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState

extension Routes {
    /// Authenticates the caller by a token with the permission, or by a tracking link if the setting allows links.
    func grant(
        _ request: Request, _ context: GatewayRequestContext, _ verb: Verb, orOfLinkFor action: CustomerAction
    ) async throws -> Grant {
        guard action == .links, Self.link(of: request) != nil else { return try self.grant(request, context, verb) }
        return try await self.linkGrant(request, context)
    }

    /// Returns the secret of the request's tracking link, valid or not.
    static func link(of request: Request) -> String? {
        request.headers[.authorization]?.credentials(ofScheme: "link")
    }

    /// Returns the grant of the request's tracking link, which gives access only to the job in the path.
    ///
    /// - Throws: 404 if the link is unknown, expired, revoked or another job's; 429 for too many attempts.
    func linkGrant(_ request: Request, _ context: GatewayRequestContext) async throws -> Grant {
        // A link is 128 random bits, so it is verified during a lockout: most viewers share the address of a mobile network.
        let attempt = try self.visitor(request, context)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        guard let secret = Self.link(of: request), let id = TrackingLinks.id(of: secret),
            let link = try await self.result(of: self.links.read(id)),
            link.job == job
        else {
            throw self.problem(ofFailed: attempt) ?? Problem(Refused.noSuchJob)
        }
        let grant = Grant(
            person: link.customer, role: .customer, job: job, link: id, expiresAt: link.expiresAt / 1000)
        guard !self.revocations.isRevoked(grant) else { throw Problem(Refused.noSuchJob) }
        return grant
    }
}
