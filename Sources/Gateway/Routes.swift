// The REST half of the gateway: jobs, probes and pages behind one router. The rules are JobControl's; here are the paths.

internal import Access
internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import LiveState
internal import NIOCore
internal import Redis

/// Routes of one gateway.
struct Routes: Sendable {
    let jobs: JobControl
    let tickets: Tickets
    let links: TrackingLinks
    let settings: GatewaySettings
    let quotas: Quotas
    let revocations: Revocations
    let revocationLog: RevocationLog
    let eventCounts: EventCounts

    /// Bytes of a request's body, at most.
    static let longestBody = 65_536

    func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: SecurityHeaders())
        if let keys = self.settings.issuerKeys { router.add(middleware: KeysAwaited(keys: keys, routes: self)) }
        let api = router.group("api/v1")
        api.post("jobs", use: self.create)
        api.get("jobs/{job}", use: self.read)
        api.post("jobs/{job}/status", use: self.changeStatus)
        api.put("jobs/{job}/assignment", use: self.assign)
        api.delete("jobs/{job}/assignment", use: self.unassign)
        api.put("jobs/{job}/travel", use: self.startTravel)
        api.delete("jobs/{job}/travel", use: self.stopTravel)
        api.post("jobs/{job}/links", use: self.makeLink)
        api.post("tickets", use: self.makeTicket)
        self.addGrants(to: api)
        api.post("events", use: self.takeEvents)
        Pages(settings: self.settings).add(to: router)
        return router
    }

    // MARK: jobs

    private struct NewJobBody: Decodable {
        struct Place: Decodable {
            var lat: Double
            var lon: Double
        }
        var job: String
        var kind: String
        var customer: String
        var rider: String?
        var zone: String?
        var destination: Place?
        var vendor: Place?
    }

    @Sendable private func create(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .createJob)
        let body = try await self.body(NewJobBody.self, request, context)
        guard let kind = JobKind(rawValue: body.kind) else {
            throw Self.bad("kind must be one of \(JobKind.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let new = NewJob(
            job: try Self.identifier(body.job, "job"), kind: kind,
            customer: try Self.identifier(body.customer, "customer"),
            rider: try body.rider.map { try Self.identifier($0, "rider") },
            zone: try body.zone.map { try Self.identifier($0, "zone") },
            destination: try body.destination.map { try Self.place($0.lat, $0.lon) },
            vendor: try body.vendor.map { try Self.place($0.lat, $0.lon) }, actor: grant.person)
        guard grant.covers(new.job) else {
            throw Problem(.forbidden, status: 403, detail: "The token is for another job.")
        }
        let epoch = String(UInt64.random(in: .min ... .max), radix: 36)
        let creation = try await self.answer(self.jobs.ledger.createDurably(new, epoch: epoch))
        guard case .created = creation.value else {
            throw Problem(.badRequest, status: 409, detail: "The job \(new.job) exists. It was left as it is.")
        }
        let view = try await self.view(new.job, grant)
        return Self.json(view.snapshot.json(job: new.job), status: .created, isUnknown: creation.isUnknown)
    }

    @Sendable private func read(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .readJob)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        return Self.json(try await self.view(job, grant).snapshot.json(job: job))
    }

    private struct StatusBody: Decodable {
        var status: String
    }

    @Sendable private func changeStatus(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .changeStatus)
        let job = try self.job(context, grant)
        let body = try await self.body(StatusBody.self, request, context)
        guard let status = JobStatus(rawValue: body.status) else {
            throw Self.bad("status must be one of \(JobStatus.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let event = try await self.answer(
            self.jobs.change(
                job, to: status, by: grant.person, source: "rest", request: try Self.requestID(request)))
        return Self.json(ServerMessage.status(job: job, event.value).encoded, isUnknown: event.isUnknown)
    }

    private struct AssignmentBody: Decodable {
        var rider: String?
        var customer: String?
    }

    @Sendable private func assign(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .assignJob)
        let job = try self.job(context, grant)
        let body = try await self.body(AssignmentBody.self, request, context)
        guard body.rider != nil || body.customer != nil else {
            throw Self.bad("The body needs rider, customer or both. DELETE takes the job from its rider.")
        }
        let rider: PersonID?? = try body.rider.map { try Self.identifier($0, "rider") }
        let customer: PersonID? = try body.customer.map { try Self.identifier($0, "customer") }
        return try await self.assigned(job, to: rider, of: customer)
    }

    @Sendable private func unassign(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .assignJob)
        return try await self.assigned(try self.job(context, grant), to: .some(nil), of: nil)
    }

    private func assigned(_ job: JobID, to rider: PersonID??, of customer: PersonID?) async throws -> Response {
        let answer = try await self.answer(self.jobs.assign(job, to: rider, of: customer))
        let rider = answer.value.rider.map { "\"\($0)\"" } ?? "null"
        return Self.json(
            Array(#"{"job":"\#(job)","rider":\#(rider),"customer":"\#(answer.value.customer)"}"#.utf8),
            isUnknown: answer.isUnknown)
    }

    @Sendable private func startTravel(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .switchTravel)
        let job = try self.job(context, grant)
        let deadline = try await self.answer(self.jobs.startTravel(job, by: grant.person))
        return Self.json(Array(#"{"job":"\#(job)","active":true,"deadline":\#(deadline)}"#.utf8))
    }

    @Sendable private func stopTravel(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .switchTravel)
        let job = try self.job(context, grant)
        try await self.answer(self.jobs.stopTravel(job, by: grant.person))
        return Self.json(Array(#"{"job":"\#(job)","active":false}"#.utf8))
    }

    /// A ticket to open one WebSocket with, for pages.
    @Sendable private func makeTicket(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .makeTicket)
        guard let token = grant.token, let expiresAt = grant.expiresAt else { throw Problem(.forbidden, status: 403, detail: "Only for tokens.") }
        let ticket = try await self.answer(
            self.tickets.issue(
                to: .init(
                    person: grant.person, role: grant.role.rawValue, job: grant.job, rider: grant.rider,
                    token: token.id, issuedAt: token.issuedAt, expiresAt: expiresAt)))
        let seconds = Tickets.lifetime.components.seconds
        return Self.json(Array(#"{"ticket":"\#(ticket)","expiresIn":\#(seconds)}"#.utf8), status: .created)
    }
}
