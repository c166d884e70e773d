// Revokes all tokens of a user, one token, a job or a tracking link. Every gateway applies a revocation within a second.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import LiveState
internal import NIOCore
internal import Redis

extension Routes {
    func addGrants(to api: RouterGroup<GatewayRequestContext>) {
        api.delete("grants/users/{id}") { try await self.revoke(.user, $0, $1) }
        api.delete("grants/tokens/{id}") { try await self.revoke(.token, $0, $1) }
        api.delete("grants/jobs/{id}") { try await self.revoke(.job, $0, $1) }
        api.delete("grants/links/{id}") { try await self.revoke(.link, $0, $1) }
    }

    /// Revokes access. Idempotent, except that revoking a user again also revokes the tokens issued since the last time.
    private func revoke(
        _ kind: RevocationSubject.Kind, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .revokeGrant)
        let id = try context.parameters.require("id")
        // The router does not decode it.
        guard let subject = RevocationSubject(kind, id: id.percentDecoded) else {
            throw Self.badRequest("A \(kind.rawValue)'s id must be \(kind.form).\(Self.advice(on: kind))")
        }
        // A restricted token can revoke only the jobs that it covers.
        if grant.job != nil || grant.rider != nil {
            guard case .job(let job) = subject, grant.covers(job) else {
                throw Problem(.forbidden, status: 403, detail: "The token is restricted and does not cover this.")
            }
        }
        let revoked = try await self.identified(subject)
        let result = try await self.result(of: self.revocationLog.revoke(revoked, by: grant.person, because: "rest"))
        guard result.value == .revoked else {
            throw Problem(
                .unavailable, status: 503,
                detail: "The revocation list is full; nothing was revoked. Try again later.")
        }
        guard result.isReplicationUnconfirmed else { return Response(status: .noContent) }
        return Response(status: .accepted, headers: [.durability: "unknown"])
    }

    /// The same subject, with a link's secret replaced by the link's id. Both have the same form, and a leaked URL
    /// contains only the secret. A link that does not exist stays unchanged, because repeating a request must not fail.
    private func identified(_ subject: RevocationSubject) async throws -> RevocationSubject {
        guard case .link(let text) = subject, let reference = LinkReference(text) else { return subject }
        return try await self.result(of: self.links.find(reference)).map { RevocationSubject.link($0) } ?? subject
    }

    private static func advice(on kind: RevocationSubject.Kind) -> String {
        kind == .link
            ? " The response that created the link contains it. Instead of the id, you can send the secret: the "
                + "\(TrackingLinks.length) digits after # in the link's URL."
            : ""
    }
}
