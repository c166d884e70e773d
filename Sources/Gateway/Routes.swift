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
    let settings: GatewaySettings
    let quotas: Quotas

    /// Bytes of a request's body, at most.
    static let longestBody = 65_536

    func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: SecurityHeaders())
        let api = router.group("api/v1")
        api.post("jobs", use: self.create)
        api.get("jobs/{job}", use: self.read)
        api.post("jobs/{job}/status", use: self.changeStatus)
        api.put("jobs/{job}/travel", use: self.startTravel)
        api.delete("jobs/{job}/travel", use: self.stopTravel)
        api.post("tickets", use: self.makeTicket)
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
        guard let expiresAt = grant.expiresAt else { throw Problem(.forbidden, status: 403, detail: "Only for tokens.") }
        let ticket = try await self.answer(
            self.tickets.issue(
                to: .init(
                    person: grant.person, role: grant.role.rawValue, job: grant.job, rider: grant.rider,
                    expiresAt: expiresAt)))
        let seconds = Tickets.lifetime.components.seconds
        return Self.json(Array(#"{"ticket":"\#(ticket)","expiresIn":\#(seconds)}"#.utf8), status: .created)
    }

    // MARK: parts

    private func view(_ job: JobID, _ grant: Grant) async throws -> JobView {
        guard let view = try await self.answer(self.jobs.view(job)),
            grant.reaches(job, customer: view.record.customer, rider: view.record.rider)
        else { throw Problem(Refused.noSuchJob) }
        return view
    }

    /// The job to be changed. What a narrowed token does not reach is answered like what does not exist.
    private func job(_ context: GatewayRequestContext, _ grant: Grant) throws -> JobID {
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        guard grant.covers(job) else { throw Problem(Refused.noSuchJob) }
        return job
    }

    /// Who asks, if they may.
    private func grant(_ request: Request, _ context: GatewayRequestContext, _ verb: Verb) throws -> Grant {
        guard let header = request.headers[.authorization] else {
            throw Problem(
                .unauthorized, status: 401, detail: "Send a token: Authorization: Bearer <JWT>.")
        }
        let now = NIODeadline.now().uptimeNanoseconds
        let address = self.settings.trustedProxies.client(
            of: context.peer, forwardedFor: request.headers[values: .xForwardedFor])
        if let address, let wait = self.quotas.isLockedOut(address, at: now) { throw Problem(guessesFor: wait) }
        let grant: Grant
        do throws(TokenRefusal) {
            grant = try self.settings.tokens.verify(bearer: header, now: .now / 1000)
        } catch {
            if error != .expired, let address { self.quotas.tokenRefused(of: address, at: now) }
            throw Problem(error)
        }
        // Services speak for everybody, and as fast as they have to.
        if grant.role != .service, let wait = self.quotas.request(of: grant.person, at: now) {
            throw Problem(rateFor: wait)
        }
        guard grant.allows(verb) else {
            throw Problem(.forbidden, status: 403, detail: "The role \(grant.role.rawValue) may not do this.")
        }
        return grant
    }

    private func body<Body: Decodable>(
        _ type: Body.Type, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Body {
        let bytes = try await request.body.collect(upTo: Self.longestBody)
        do {
            return try JSONDecoder().decode(type, from: Data(bytes.readableBytesView))
        } catch let DecodingError.keyNotFound(key, _) {
            throw Self.bad("The body needs \(key.stringValue).")
        } catch let DecodingError.typeMismatch(_, place) where !place.codingPath.isEmpty {
            throw Self.bad("\(place.codingPath.map(\.stringValue).joined(separator: ".")) has the wrong type.")
        } catch {
            throw Self.bad("The body must be a JSON object.")
        }
    }

    private func answer<Value: Sendable>(_ future: EventLoopFuture<Value>) async throws -> Value {
        do {
            return try await future.get()
        } catch {
            throw Problem(Refused(error))
        }
    }

    private static func identifier<Kind>(_ text: String, _ what: String) throws -> Identifier<Kind> {
        guard let identifier = Identifier<Kind>(text) else {
            throw self.bad("\(what) must be 1 to \(Identifier<Kind>.longest) of [A-Za-z0-9_-].")
        }
        return identifier
    }

    private static func place(_ latitude: Double, _ longitude: Double) throws -> Coordinate {
        guard let place = Coordinate(latitude: latitude, longitude: longitude) else {
            throw self.bad("lat must be -90 to 90 and lon -180 to 180 degrees, and not both 0.")
        }
        return place
    }

    private static func bad(_ detail: String) -> Problem { Problem(.badRequest, status: 400, detail: detail) }

    /// The id under which a request may be repeated.
    private static func requestID(_ request: Request) throws -> String {
        let id = request.headers[.idempotencyKey] ?? ""
        guard id.utf8.count <= 128, id.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw self.bad("Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.")
        }
        return id
    }

    /// - Parameter isUnknown: accepted, but no replica is known to have it: a failover may lose it. 202, and a header.
    private static func json(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, isUnknown: Bool = false
    ) -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if isUnknown { headers[.durability] = "unknown" }
        return Response(
            status: isUnknown ? .accepted : status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension HTTPField.Name {
    fileprivate static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    fileprivate static let durability = HTTPField.Name("Enroute-Durability")!
    fileprivate static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
}
