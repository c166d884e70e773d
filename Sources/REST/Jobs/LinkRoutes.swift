// Creates tracking links, with which people without an account can follow a job. The order system and the job's customer may
// create them.

internal import Access
internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis

extension Routes {
    /// All members are optional, and so is the body itself.
    private struct LinkBody: Decodable {
        var viewers: Int?
        var expiresInSeconds: Int?
    }

    /// Only this response contains the link's secret. If the request has an Idempotency-Key, the response is stored
    /// encrypted under that key.
    @Sendable func createLink(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .createLink)
        let job = try self.job(context, grant)
        return try await self.executeOnce(request, context, by: grant, hasSecret: true) { request, _ in
            try await self.createLink(for: job, try await self.linkRequest(request, context), grant)
        }
    }

    /// Maximum number of attempts to create a link while others change the job.
    private static let maxLinkAttempts = 3

    private func createLink(
        for job: JobID, _ requested: (viewers: Int, lifetime: Duration), _ grant: Grant, attempt: Int = 1
    ) async throws -> Response {
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider)
        else { throw Problem(Refused.noSuchJob) }
        guard record.status.end == nil else {
            throw Problem(
                Refused(
                    code: .illegalTransition, message: "The job has ended and can no longer be followed.",
                    status: record.status))
        }
        // Also for a service, although its own access to the job is not revoked.
        guard !self.revocations.isRevoked(job) else {
            throw Problem(
                Refused(
                    code: .conflict,
                    message:
                        "Access to the job was revoked, so a link to it would not work. Create a job with another ID."
                ))
        }
        let made: Durable<TrackingLinks.Issued>
        do {
            made = try await self.links.issueDurably(
                for: job, of: record.customer, viewers: requested.viewers, lifetime: requested.lifetime,
                by: grant.person
            ).get()
        } catch is TrackingLinks.NoSuchJob {
            // The job was erased since it was read, or has another customer now.
            guard attempt < Self.maxLinkAttempts else { throw Problem(Refused.changedConcurrently) }
            return try await self.createLink(for: job, requested, grant, attempt: attempt + 1)
        } catch {
            throw Problem(Refused(error))
        }
        let link = made.value
        return try Self.json(
            LinkDocument(
                link: link.secret, id: link.id, url: "/track/\(job)#\(link.secret)", expiresAt: link.expiresAt,
                viewers: requested.viewers),
            status: .created, isReplicationUnconfirmed: made.isReplicationUnconfirmed)
    }

    private struct LinkDocument: Encodable {
        var link: String
        var id: String
        var url: String
        /// Milliseconds since the Unix epoch.
        var expiresAt: Int64
        var viewers: Int
    }

    private func linkRequest(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> (viewers: Int, lifetime: Duration) {
        var request = request
        let bytes = try await Self.bodyBytes(of: request)
        request.body = RequestBody(buffer: bytes)
        let body = bytes.readableBytes == 0 ? LinkBody() : try await self.body(LinkBody.self, request, context)
        let longest = Int(TrackingLinks.maxLifetime.components.seconds)
        let (viewers, seconds) = (body.viewers ?? TrackingLinks.defaultViewers, body.expiresInSeconds ?? longest)
        guard TrackingLinks.viewers.contains(viewers) else {
            throw Self.unprocessable(
                "viewers must be \(TrackingLinks.viewers.lowerBound) to \(TrackingLinks.viewers.upperBound).")
        }
        guard (1...longest).contains(seconds) else {
            throw Self.unprocessable("expiresInSeconds must be 1 to \(longest) s.")
        }
        return (viewers, .seconds(seconds))
    }
}
