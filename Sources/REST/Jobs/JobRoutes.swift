// Reads jobs by REST: the current state with an entity tag, and the status log.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Realtime
internal import Redis

extension Routes {
    func addJobs(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs/{job}", use: self.read)
        api.get("jobs/{job}/log", use: self.readLog)
        api.delete("jobs/{job}", use: self.erase)
    }

    @Sendable private func read(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .readJob)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        return self.answer(try await self.view(job, grant), of: job, to: grant, ifNoneMatchOf: request)
    }

    /// Returns the state of a job. If the response contains the rider's position, records that the caller was shown it.
    /// 304 and responses to HEAD contain nothing.
    ///
    /// - Parameter request: the request whose `If-None-Match` applies, or `nil` to always send the state.
    func answer(
        _ view: JobView, of job: JobID, to grant: Grant, ifNoneMatchOf request: Request? = nil,
        status: HTTPResponse.Status = .ok, isReplicationUnconfirmed: Bool = false
    ) -> Response {
        let response = Self.json(
            view, of: job, ifNoneMatchOf: request, status: status, isReplicationUnconfirmed: isReplicationUnconfirmed)
        if response.status != .notModified, request?.method != .head {
            self.recordRead(of: view, job, by: grant, via: "rest")
        }
        return response
    }

    /// Returns the state of a job with its entity tag, or 304 if the client has this state already.
    ///
    /// - Parameter request: the request whose `If-None-Match` applies, or `nil` to always send the state.
    private static func json(
        _ view: JobView, of job: JobID, ifNoneMatchOf request: Request? = nil, status: HTTPResponse.Status = .ok,
        isReplicationUnconfirmed: Bool = false
    ) -> Response {
        let tag = EntityTag(view)
        // Repeated header fields form one list (RFC 9110 section 5.3).
        if let request, tag.matches(ifNoneMatch: request.headers[values: .ifNoneMatch].joined(separator: ",")) {
            var response = Response(status: .notModified, headers: [.cacheControl: "no-store", .eTag: "\(tag)"])
            // Content-Length would be the length of the body that is not sent.
            response.headers[.contentLength] = nil
            return response
        }
        var response = Self.json(
            view.snapshot.json(job: job), status: status, isReplicationUnconfirmed: isReplicationUnconfirmed)
        response.headers[.eTag] = "\(tag)"
        return response
    }

    /// Erases everything that Enroute stores about a job, except one audit entry.
    @Sendable private func erase(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .eraseJob)
        let job = try self.job(context, grant)
        try await self.require(JobCondition(request), of: job, by: grant)
        let (streams, gateway) = (self.services.streams, self.settings.name)
        let erased = try await self.result(
            of: self.jobs.erase(job, by: grant.person) { keys in
                var entry = AuditEntry.erased(job, keys: keys, by: grant.person)
                entry.stamp(
                    gateway: gateway, at: WallClock.nowMilliseconds,
                    number: "\(UInt64.random(in: .min ... .max))-erasure")
                return streams.append(entry)
            })
        var response = Response(
            status: erased.isReplicationUnconfirmed ? .accepted : .noContent, headers: [.cacheControl: "no-store"])
        if erased.isReplicationUnconfirmed { response.headers[.durability] = "unknown" }
        return response
    }

    /// Only the roles `ops` and `service` see who made a change, and with which request.
    @Sendable private func readLog(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .readJob)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        let entries = try await self.result(of: self.jobs.ledger.log(of: job))
        let tellsActor = grant.role == .ops || grant.role == .service
        let log = StatusLog(job: job, epoch: record.epoch, entries: entries)
        return Self.json((tellsActor ? log : log.withoutActors).json)
    }
}
