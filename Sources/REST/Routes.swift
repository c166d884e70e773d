// The router of the REST interface and the pages. Routes translate between HTTP and the services in Jobs, which contain the
// rules.

package import Access
internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPTypes
package import HTTPValues
package import Hummingbird
package import Jobs
package import LiveState
internal import NIOCore
package import Realtime
internal import Redis
package import TrafficControl
internal import WebAssets
package import Telemetry

/// The routes of one event loop. Each loop has its own, so that a request uses the Redis connections of the loop on which it
/// arrived.
package struct Routes: Sendable {
    package let services: LoopServices
    package let shared: SharedServices

    package var jobs: JobService { self.services.jobs }
    var publisher: LocationPublisher { self.services.publisher }
    package var notes: ValidationSummaryStore { self.services.notes }
    var tickets: Tickets { self.services.tickets }
    var signInCodes: SignInCodes { self.services.signInCodes }
    var links: TrackingLinks { self.services.links }
    package var requests: IdempotencyRecords { self.services.requests }
    var riders: RiderService { self.services.riders }
    var pool: ZonePool { self.services.pool }
    var revocationLog: RevocationLog { self.services.revocationLog }
    var geocoder: Geocoder? { self.services.geocoder }

    package var settings: RealtimeSettings { self.shared.settings }
    package var quotas: Quotas { self.shared.quotas }
    package var revocations: Revocations { self.shared.revocations }
    package var eventCounts: SharedCounts { self.shared.eventCounts }
    package var loops: LoopMap { self.shared.loops }
    package var operations: OperationsQueries { self.shared.operations }
    var deferredEvents: DeferredEventCache { self.shared.deferredEvents }
    package var tiles: TileProxy? { self.shared.tiles }

    package init(_ services: LoopServices, _ shared: SharedServices) {
        (self.services, self.shared) = (services, shared)
    }

    /// Whether the revocation state may be stale. Positions must not be shown then.
    func isRevocationStateStale() async throws -> Bool { try await self.services.isRevocationStateStale() }

    /// The maximum length of a request body in bytes.
    package static var maxBodyBytes: Int { Problem.maxBodyBytes }

    package func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        let pages = self.shared.pages
        router.add(middleware: CrossOriginRequests(origins: self.shared.origins, loops: self.loops))
        router.add(
            middleware: SecurityHeaders(
                photoOrigins: pages.settings.photoOrigins, frameAncestors: pages.settings.frameAncestors,
                stageOrigins: pages.settings.stageOrigins))
        router.add(middleware: HTMLErrorPages(pages: pages))
        router.add(middleware: EmptySegments())
        if let keys = self.settings.issuerKeys {
            router.add(middleware: JWKSRefreshMiddleware(keys: keys, routes: self))
        }
        let api = router.group("api/v1").add(middleware: RepeatedParameters())
        api.put("jobs/{job}/assignment", use: self.assign)
        api.delete("jobs/{job}/assignment", use: self.unassign)
        api.put("jobs/{job}/travel", use: self.startTravel)
        api.delete("jobs/{job}/travel", use: self.stopTravel)
        api.post("jobs/{job}/links", use: self.createLink)
        api.post("tickets", use: self.createTicket)
        self.addSignIns(to: api)
        self.addJobs(to: api)
        self.addJobLists(to: api)
        self.addJobWriting(to: api)
        self.addStatus(to: api)
        self.addCorrections(to: api)
        self.addNotes(to: api)
        self.addPush(to: api)
        self.addOperationsNotes(to: api)
        self.addLocations(to: api)
        self.addUnavailable(to: api)
        self.addVerdicts(to: api)
        self.addNavigation(to: api)
        self.addEventStreams(to: api)
        self.addRiders(to: api)
        self.addZones(to: api)
        self.addOperations(to: api)
        self.addGrants(to: api)
        self.addExplanations(to: api)
        self.addWebhooks(to: api)
        api.post("events", use: self.receiveEvents)
        pages.add(to: router)
        self.addTrackingPage(pages, to: router)
        self.addTiles(to: router)
        InterfaceDocument.add(to: router)
        router.add(middleware: AllowedMethods(router.routes))
        return router
    }

    // MARK: assignment and travel mode

    private struct AssignmentBody: Decodable {
        var rider: String?
        var customer: String?
        /// The current rider of the job, if the job is to be transferred from that rider.
        var insteadOf: String?
    }

    private struct AssignmentDocument: Encodable {
        var job: String
        var rider: String?
        var customer: String
        var fence: Int64

        private enum CodingKeys: String, CodingKey { case job, rider, customer, fence }

        /// Encodes a missing rider as `null` instead of omitting it.
        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(self.job, forKey: .job)
            try members.encode(self.rider, forKey: .rider)
            try members.encode(self.customer, forKey: .customer)
            try members.encode(self.fence, forKey: .fence)
        }
    }

    private struct TravelBody: Decodable {
        /// Names the phone whose positions are shown from now on.
        var device: String?
        /// Whether to only continue what this device started.
        var resume: Bool?
    }

    private struct TravelDocument: Encodable {
        var job: String
        var active: Bool
        /// Milliseconds since the Unix epoch; absent while travel mode is off.
        var deadline: Int64?
    }

    private struct TicketDocument: Encodable {
        var ticket: String
        var expiresInSeconds: Int64
    }

    @Sendable private func assign(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .assignJob)
        let job = try self.job(context, grant)
        let condition = try JobCondition(request)
        return try await self.executeOnce(request, context, by: grant) { request, _ in
            try await self.assign(job, request, context, grant, condition)
        }
    }

    private func assign(
        _ job: JobID, _ request: Request, _ context: GatewayRequestContext, _ grant: Grant, _ condition: JobCondition
    ) async throws -> Response {
        let body = try await self.body(AssignmentBody.self, request, context)
        guard body.rider != nil || body.customer != nil else {
            throw Self.unprocessable(
                "The body must contain rider, customer or both. To remove the rider from the job, use DELETE.")
        }
        guard grant.role != .ops || body.customer == nil else {
            throw Problem(.forbidden, status: 403, detail: "Operations staff can change only the rider of a job.")
        }
        let rider: PersonID?? = try body.rider.map { try Self.name($0, "rider") }
        let customer: PersonID? = try body.customer.map { try Self.name($0, "customer") }
        let holder: PersonID? = try body.insteadOf.map { try Self.name($0, "insteadOf") }
        return try await self.assigned(job, to: rider, of: customer, from: .only(holder), if: condition, by: grant)
    }

    @Sendable private func unassign(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .assignJob)
        let job = try self.job(context, grant)
        return try await self.assigned(
            job, to: .some(nil), of: nil, from: .any, if: JobCondition(request), by: grant)
    }

    private func assigned(
        _ job: JobID, to rider: PersonID??, of customer: PersonID?, from holder: JobService.CurrentRider,
        if condition: JobCondition, by grant: Grant
    ) async throws -> Response {
        let result = try await self.assignment(if: condition, of: job, by: grant) { revision in
            self.jobs.assign(job, to: rider, of: customer, by: grant.person, from: holder, revision: revision)
        }
        let parties = result.value.parties
        return try Self.json(
            AssignmentDocument(
                job: job.text, rider: parties.rider?.text, customer: parties.customer.text, fence: result.value.fence),
            isReplicationUnconfirmed: result.isReplicationUnconfirmed)
    }

    @Sendable private func startTravel(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .switchTravel)
        let job = try self.job(context, grant)
        let body = try await self.optionalBody(TravelBody.self, request, context)
        let device: DeviceID? = try body?.device.map { try Self.name($0, "device") }
        try await self.require(JobCondition(request), of: job, by: grant)
        let (reporter, resumes) = (device.map { Reporter($0) } ?? .requests, body?.resume ?? false)
        let deadline = try await self.result(
            of: self.jobs.startTravel(job, by: grant.person, on: reporter, resumes: resumes))
        try await self.onHomeLoop(of: grant.person) {
            $0.restTrips.started(.init(rider: grant.person, job: job, reporter: reporter), resumes: resumes)
        }
        return try Self.json(TravelDocument(job: job.text, active: true, deadline: deadline))
    }

    @Sendable private func stopTravel(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .switchTravel)
        let job = try self.job(context, grant)
        try await self.require(JobCondition(request), of: job, by: grant)
        try await self.result(of: self.jobs.stopTravel(job, by: grant.person))
        try await self.onHomeLoop(of: grant.person) { loop in
            loop.restReporters.stopped(job, of: grant.person)
        }
        return try Self.json(TravelDocument(job: job.text, active: false))
    }

    /// Issues a ticket with which a page can open one WebSocket.
    @Sendable private func createTicket(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .createTicket)
        guard let token = grant.token, let expiresAt = grant.expiresAt else {
            throw Problem(.forbidden, status: 403, detail: "Tickets are issued only to requests with a bearer token.")
        }
        return try await self.executeOnce(request, context, by: grant, hasSecret: true, isShortLived: true) { _, _ in
            let ticket = try await self.result(
                of: self.tickets.issue(
                    to: .init(
                        person: grant.person, role: grant.role.rawValue, job: grant.job, rider: grant.rider,
                        token: token.id, issuedAt: token.issuedAt, expiresAt: expiresAt)))
            let seconds = Tickets.lifetime.components.seconds
            return try Self.json(TicketDocument(ticket: ticket, expiresInSeconds: seconds), status: .created)
        }
    }
}
