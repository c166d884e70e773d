// Riders by REST: availability and presence declared by the rider, data managed by the service, and actions of
// operations staff.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis
internal import TrafficControl

extension Routes {
    func addRiders(to api: RouterGroup<GatewayRequestContext>) {
        api.get("riders/me", use: self.readSelf)
        api.patch("riders/me/status", use: self.declare)
        api.put("riders/me/presence", use: self.updatePresence)
        api.get("riders/{rider}", use: self.readRider)
        api.put("riders/{rider}", use: self.describeRider)
        api.delete("riders/{rider}", use: self.removeRider)
        api.patch("riders/{rider}/status", use: self.forceOffline)
        api.post("jobs/{job}/task", use: self.changeTask)
    }

    // MARK: the rider

    @Sendable private func readSelf(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .beAvailable)
        return try Self.json(try await self.result(of: self.riders.read(grant.person)).document)
    }

    private struct DeclarationBody: Decodable {
        var status: String
        var device: String?
        /// Used only by operations staff.
        var reason: String?
    }

    private static func availability(_ text: String) throws -> Availability {
        guard let status = Availability(rawValue: text) else {
            throw Self.unprocessable("status must be online or offline.")
        }
        return status
    }

    @Sendable private func declare(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .beAvailable)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            try await self.declare(request, context, grant, attempt)
        }
    }

    private func declare(
        _ request: Request, _ context: GatewayRequestContext, _ grant: Grant, _ attempt: RequestAttempt
    ) async throws -> Response {
        let body = try await self.body(DeclarationBody.self, request, context)
        let status = try Self.availability(body.status)
        let device: DeviceID? = try body.device.map { try Self.name($0, "device") }
        if let wait = self.quotas.declarationDelay(of: SessionOwner(grant), at: NIODeadline.now().uptimeNanoseconds) {
            throw Problem(tooManyDeclarations: wait)
        }
        let requester = Riders.Requester(grant.person, request: attempt.key)
        let declared = self.riders.declare(status, of: grant.person, device: device, by: requester)
            .flatMapErrorThrowing { throw Refused($0).ofItself }
        let rider = try await self.result(of: declared)
        return try Self.json(rider.value.document, isReplicationUnconfirmed: rider.isReplicationUnconfirmed)
    }

    private struct PresenceBody: Decodable {
        var lat: Double?
        var lon: Double?
        var device: String?
    }

    /// Receives a heartbeat with the rider's position, for phones in the background.
    @Sendable private func updatePresence(_ request: Request, _ context: GatewayRequestContext) async throws -> Response
    {
        let grant = try self.grant(request, context, .beAvailable)
        let body = try await self.body(PresenceBody.self, request, context)
        var place: Coordinate?
        switch (body.lat, body.lon) {
        case (let latitude?, let longitude?): place = try Self.place(latitude, longitude)
        case (nil, nil): break
        default: throw Self.unprocessable("The body must contain both lat and lon, or neither.")
        }
        let device: DeviceID? = try body.device.map { try Self.name($0, "device") }
        if let wait = self.quotas.locationReportDelay(of: SessionOwner(grant), at: NIODeadline.now().uptimeNanoseconds)
        {
            throw Problem(tooManyLocationReports: wait)
        }
        if case .otherDevice(let other) = try await self.result(
            of: self.riders.recordHeartbeat(of: grant.person, at: place, device: device))
        {
            throw Problem(
                .conflict, status: 409,
                detail: "The rider's active device is \(other). To switch to this device, go online on it.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    private struct TaskBody: Decodable { var state: String }

    @Sendable private func changeTask(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .takeTask)
        let job = try self.job(context, grant)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            let body = try await self.body(TaskBody.self, request, context)
            guard let step = TaskStep(rawValue: body.state) else {
                let steps = TaskStep.allCases.map(\.rawValue).joined(separator: ", ")
                throw Self.unprocessable("state must be one of \(steps).")
            }
            let rider = try await self.result(
                of: self.riders.report(step, with: job, by: grant.person, source: "rest", request: attempt.key))
            return try Self.json(rider.document)
        }
    }

    // MARK: services and operations

    private func rider(_ context: GatewayRequestContext) throws -> PersonID {
        let rider: PersonID = try Self.identifier(context.parameters.require("rider"), "rider")
        guard rider.text != "me" else {
            throw Self.badRequest("me is not the ID of a rider here. Use the rider's ID.")
        }
        return rider
    }

    @Sendable private func readRider(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .readRiders)
        return try Self.json(try await self.result(of: self.riders.read(try self.rider(context))).document)
    }

    private struct RiderBody: Decodable {
        var zone: String
        var approved: Bool
        /// The maximum number of concurrent tasks. If it is absent, the stored one stays, and a new rider gets 1.
        var capacity: Int?
        /// What followers of the rider's jobs see. An empty object removes it.
        var card: RiderCardDescription?
        /// Belongs in `card`. It is refused here because it would otherwise be ignored silently.
        var vehicle: String?
    }

    @Sendable private func describeRider(_ request: Request, _ context: GatewayRequestContext) async throws -> Response
    {
        let grant = try self.grant(request, context, .describeRider)
        let rider = try self.rider(context)
        return try await self.executeOnce(request, context, by: grant) { request, _ in
            try await self.describeRider(rider, request, context, grant)
        }
    }

    private func describeRider(
        _ rider: PersonID, _ request: Request, _ context: GatewayRequestContext, _ grant: Grant
    ) async throws -> Response {
        let body = try await self.body(RiderBody.self, request, context)
        guard body.vehicle == nil else {
            throw Self.unprocessable("vehicle belongs in card: \"card\": {\"vehicle\": \"bicycle\"}.")
        }
        guard body.capacity.map(Riders.capacities.contains) ?? true else {
            throw Self.unprocessable(
                "capacity must be \(Riders.capacities.lowerBound) to \(Riders.capacities.upperBound).")
        }
        let card: RiderCard?
        do throws(InvalidDescription) {
            card = try body.card?.card()
        } catch {
            throw Self.unprocessable(error.reason)
        }
        let result = try await self.result(
            of: self.riders.describe(
                rider, in: try Self.name(body.zone, "zone"), isApproved: body.approved, capacity: body.capacity,
                card: card,
                by: .init(grant.person)))
        return try Self.json(
            result.rider.value.document, status: result.isNew ? .created : .ok,
            isReplicationUnconfirmed: result.rider.isReplicationUnconfirmed)
    }

    @Sendable private func removeRider(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .describeRider)
        let removed = try await self.result(of: self.riders.remove(try self.rider(context), by: .init(grant.person)))
        var response = Response(
            status: removed.isReplicationUnconfirmed ? .accepted : .noContent, headers: [.cacheControl: "no-store"])
        if removed.isReplicationUnconfirmed { response.headers[.durability] = "unknown" }
        return response
    }

    /// Takes a rider offline on behalf of operations staff, with a reason. Like the rider's own request, it is refused while
    /// the rider has an active task.
    @Sendable private func forceOffline(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .forceOffline)
        let rider = try self.rider(context)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            try await self.forceOffline(rider, request, context, grant, attempt)
        }
    }

    private func forceOffline(
        _ rider: PersonID, _ request: Request, _ context: GatewayRequestContext, _ grant: Grant,
        _ attempt: RequestAttempt
    ) async throws -> Response {
        let body = try await self.body(DeclarationBody.self, request, context)
        guard try Self.availability(body.status) == .offline else {
            throw Self.unprocessable("Operations staff can only set a rider offline. Riders go online themselves.")
        }
        let reason = body.reason ?? ""
        guard reason.isEmpty || ShownText.isLine(reason, longest: RiderService.longestReason),
            reason.utf8.count <= RiderService.longestReason
        else {
            throw Self.unprocessable(
                "reason must be one line of at most \(RiderService.longestReason) bytes of printable characters.")
        }
        let result = try await self.result(
            of: self.riders.declare(
                .offline, of: rider, because: reason, by: .init(grant.person, request: attempt.key)))
        return try Self.json(result.value.document, isReplicationUnconfirmed: result.isReplicationUnconfirmed)
    }
}

extension Problem {
    /// The rider has declared its availability too often.
    fileprivate init(tooManyDeclarations wait: Int64) {
        self.init(.rateLimited, status: 429, detail: "Availability changed too often. Try again later.")
        self.retryIn = wait
    }
}
