// Creates and updates jobs by REST. POST creates a new job; PUT creates or updates a job, so an order system can send its
// current data as often as it likes. An existing job is changed in JobUpdate.swift; its status is changed separately
// (StatusRoutes.swift).

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
    func addJobWriting(to api: RouterGroup<GatewayRequestContext>) {
        api.post("jobs", use: self.create)
        api.put("jobs/{job}", use: self.createOrUpdate)
    }

    /// Geocodes the addresses of a request that has no coordinates. Addresses that were geocoded before are skipped.
    private func geocoded(_ requested: JobRequest) async throws -> JobRequest {
        let address = requested.destination == nil ? requested.address : nil
        guard address != nil || requested.vendor?.addressToFind != nil else { return requested }
        let record = try await self.result(of: self.jobs.ledger.recover(requested.job))?.record
        var requested = requested
        let zone = requested.zone ?? record?.zone
        if let address, let found = await self.found(address, in: zone, known: record?.geocoded) {
            (requested.destination, requested.geocoded) = found
        }
        if let address = requested.vendor?.addressToFind {
            // The vendor is stored as a whole, so its known coordinates must be written again.
            let known = (record?.vendor?.place, record?.vendor?.geocoded)
            let (place, geocoded) = await self.found(address, in: zone, known: known.1) ?? known
            requested.vendor?.found(place, geocoded)
        }
        return requested
    }

    /// - Returns: `nil` if the address was geocoded before.
    private func found(
        _ address: String, in zone: ZoneID?, known: GeocodedAddress?
    ) async -> (place: Coordinate?, geocoded: GeocodedAddress?)? {
        let digest = Geocoder.digest(of: address)
        guard known?.digest != digest || known?.state == .nothing else { return nil }
        return await self.place(of: address, in: zone)
    }

    func retryLookups(of requested: JobRequest) {
        self.retryLookups(
            of: requested.job, destination: (requested.address, requested.geocoded), vendor: requested.vendor)
    }

    @Sendable private func create(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .createJob)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            let body = try await self.body(JobRequest.Body.self, request, context)
            guard let name = body.job else { throw Self.unprocessable("The body must contain job.") }
            var requested = try JobRequest(try Self.name(name, "job"), body)
            // A job that exists is not changed, so the places in the request do not matter then.
            if try await self.result(of: self.jobs.ledger.recover(requested.job)) == nil {
                let (vendor, destination) = (requested.vendor?.place, requested.destination)
                try self.checkDistance(from: vendor, to: destination)
                try await self.checkZone(requested.zone, of: nil, vendor: vendor, destination: destination)
                requested = try await self.geocoded(requested)
            }
            if let created = try await self.createJob(requested, grant, request: attempt.key) { return created }
            if attempt.isRepeat, let created = try await self.createdBefore(requested, grant, attempt.key) {
                return created
            }
            throw Problem(
                .conflict, status: 409,
                detail: "The job \(requested.job) already exists and was not changed. Use PUT to update it.")
        }
    }

    /// Returns the response to a repeated request whose first attempt created the job, but got no response or 202.
    ///
    /// - Parameter request: its Idempotency-Key.
    /// - Returns: `nil` if another request created the job, perhaps with other content.
    private func createdBefore(
        _ requested: JobRequest, _ grant: Grant, _ request: String
    ) async throws -> Response? {
        let ledger = self.jobs.ledger
        guard
            try await self.result(of: ledger.wasCreated(requested.job, by: grant.person, request: request))
        else { return nil }
        let confirmed = try await self.result(of: ledger.confirm(requested.job, kind: requested.kind))
        let view = try await self.viewAfterChange(of: requested.job, grant)
        return self.answer(
            view, of: requested.job, to: grant, status: .created,
            isReplicationUnconfirmed: confirmed.isReplicationUnconfirmed)
    }

    /// - Throws: 422 if the two places are too far apart.
    func checkDistance(from vendor: Coordinate?, to destination: Coordinate?) throws {
        let distance = PickupDistance(bound: self.settings.limits.pickupKilometers)
        if let fault = distance.fault(from: vendor, to: destination) { throw Self.unprocessable(fault) }
    }

    /// Checks the pickup, the destination and the zone that a job will have, some of which may be stored already.
    ///
    /// - Throws: 412 if the condition is not met, and 422 if two of them are too far apart.
    /// - Returns: the record with which they were checked; `nil` if the job does not exist.
    private func checkedRecord(of given: JobRequest, if condition: JobCondition) async throws -> JobRecord? {
        let record = try await self.result(of: self.jobs.ledger.recover(given.job))?.record
        if let refusal = condition.refusal(for: record) { throw Problem(refusal) }
        let (vendor, destination) = (given.vendor?.place, given.destination)
        if vendor != nil || destination != nil {
            let known = record?.givenPlaces
            try self.checkDistance(
                from: given.vendor == nil ? known?.vendor : vendor,
                to: destination ?? (given.address == nil ? known?.destination : nil))
        }
        // An address that was looked up before keeps its place.
        let isSameAddress = given.address.map { Geocoder.digest(of: $0) == record?.geocoded?.digest } ?? true
        try await self.checkZone(
            given.zone, of: record, vendor: given.vendor == nil ? record?.vendor?.place : vendor,
            destination: destination ?? (isSameAddress ? record?.destination : nil))
        return record
    }

    /// - Parameter request: the Idempotency-Key by which a repetition recognizes the job.
    /// - Returns: `nil` if the job already exists.
    private func createJob(
        _ requested: JobRequest, _ grant: Grant, request: String = ""
    ) async throws -> Response? {
        guard grant.covers(requested.job) else {
            throw Problem(.forbidden, status: 403, detail: "The token is restricted to another job.")
        }
        guard let customer = requested.customer else { throw Self.unprocessable("The body must contain customer.") }
        let new = NewJob(
            job: requested.job, kind: requested.kind, customer: customer, rider: requested.rider, zone: requested.zone,
            destination: requested.destination, geocoded: requested.geocoded, vendor: requested.vendor,
            display: requested.display, metadata: requested.metadata, recipient: requested.recipient,
            request: request, actor: grant.person)
        let epoch = String(UInt64.random(in: .min ... .max), radix: 36)
        let creation = try await self.result(of: self.jobs.create(new, epoch: epoch))
        guard case .created = creation.value else { return nil }
        self.retryLookups(of: requested)
        let view = try await self.viewAfterChange(of: requested.job, grant)
        return self.answer(
            view, of: requested.job, to: grant, status: .created,
            isReplicationUnconfirmed: creation.isReplicationUnconfirmed)
    }

    /// How many times a request is tried while others create or change the job concurrently.
    private static let maxAttempts = 5

    /// Members of the body replace those of the job; absent members stay unchanged. Idempotent.
    @Sendable private func createOrUpdate(_ request: Request, _ context: GatewayRequestContext) async throws -> Response
    {
        let grant = try self.grant(request, context, .createJob)
        let job = try self.job(context, grant)
        let condition = try JobCondition(request)
        return try await self.executeOnce(request, context, by: grant) { request, _ in
            try await self.createOrUpdate(job, request, context, grant, condition)
        }
    }

    private func createOrUpdate(
        _ job: JobID, _ request: Request, _ context: GatewayRequestContext, _ grant: Grant, _ condition: JobCondition
    ) async throws -> Response {
        let given = try JobRequest(job, try await self.body(JobRequest.Body.self, request, context))
        var condition = condition
        var known = try await self.checkedRecord(of: given, if: condition)
        let requested = try await self.geocoded(given)
        for _ in 0..<Self.maxAttempts {
            if let known {
                try self.checkUpdate(of: known, to: given, condition)
                let isChecked = given.isCheckedWithRecord || !condition.isEmpty
                switch try await self.update(requested, known, of: isChecked ? known.revision : nil, grant) {
                case .updated(let response): return response
                case .overtaken: break
                // Continue in any case; otherwise only a part of the request would be carried out.
                case .onlyAssigned: condition = condition.onceMet
                }
            } else if let created = try await self.createJob(requested, grant) {
                return created
            }
            known = try await self.checkedRecord(of: given, if: condition)
        }
        throw Problem(Refused(code: .unavailable, message: "The job is being changed concurrently. Try again."))
    }
}
