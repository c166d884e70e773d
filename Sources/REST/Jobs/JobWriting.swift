// Creates and updates jobs by REST. POST creates a new job; PUT creates or updates a job, so an order system can send its
// current data as often as it likes. The status of a job is changed separately (StatusRoutes.swift).

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

    /// A job as the order system describes it.
    private struct JobBody: Decodable {
        struct Place: Decodable {
            var lat: Double
            var lon: Double
        }
        /// Required by POST. With PUT the job is in the path.
        var job: String?
        var kind: String
        var customer: String?
        var rider: String?
        var zone: String?
        var destination: Place?
        /// Instead of `destination`, if its coordinates are unknown.
        var address: String?
        var vendor: VendorDescription?
        /// Shown to followers. An empty object removes it.
        var display: JobDisplayDescription?
        /// For services and operations staff. An empty object removes it.
        var metadata: [String: String]?
        /// For the rider, services and operations staff. An empty object removes it.
        var recipient: RecipientDescription?
        /// Belongs in `display`. It is refused here, because it would be ignored silently.
        var vehicle: String?
    }

    /// A validated `JobBody`.
    private struct JobRequest {
        let job: JobID
        let kind: JobKind
        let customer: PersonID?
        let rider: PersonID?
        let zone: ZoneID?
        var destination: Coordinate?
        let address: String?
        /// The result of geocoding `address`.
        var geocoded: GeocodedAddress?
        var vendor: PickupPlace?
        let display: JobDisplay?
        let metadata: JobMetadata?
        let recipient: Recipient?

        init(_ job: JobID, _ body: JobBody) throws {
            guard let kind = JobKind(rawValue: body.kind) else {
                let kinds = JobKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw Routes.unprocessable("kind must be one of \(kinds).")
            }
            guard body.vehicle == nil else {
                throw Routes.unprocessable("vehicle belongs in display: \"display\": {\"vehicle\": \"bicycle\"}.")
            }
            self.job = job
            self.kind = kind
            self.customer = try body.customer.map { try Routes.name($0, "customer") }
            self.rider = try body.rider.map { try Routes.name($0, "rider") }
            self.zone = try body.zone.map { try Routes.name($0, "zone") }
            self.destination = try body.destination.map { try Routes.place($0.lat, $0.lon) }
            self.address = try body.address.map { try Self.address($0) }
            do throws(VendorDescription.Impossible) {
                self.vendor = try body.vendor?.place()
            } catch {
                throw Routes.unprocessable(error.reason)
            }
            do throws(InvalidDescription) {
                self.display = try body.display?.display()
                self.metadata = try body.metadata.map { (values) throws(InvalidDescription) in try JobMetadata(values) }
                self.recipient = try body.recipient?.recipient()
            } catch {
                throw Routes.unprocessable(error.reason)
            }
        }

        /// Whether the request is checked together with the record: its rider with the stored one, and a place or the
        /// zone with those that are stored.
        var isCheckedWithRecord: Bool {
            guard self.rider == nil else { return true }
            let given = [self.vendor != nil, self.destination != nil, self.zone != nil]
            return given.contains(true) && given.contains(false)
        }

        private static func address(_ text: String) throws -> String {
            guard GeocodedAddress.isAddress(text) else {
                throw Routes.unprocessable("address must be 1 to \(GeocodedAddress.longest) characters.")
            }
            return text
        }
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

    private func retryLookups(of requested: JobRequest) {
        self.retryLookups(
            of: requested.job, destination: (requested.address, requested.geocoded), vendor: requested.vendor)
    }

    @Sendable private func create(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .createJob)
        return try await self.executeOnce(request, context, by: grant) { request, attempt in
            let body = try await self.body(JobBody.self, request, context)
            guard let name = body.job else { throw Self.unprocessable("The body must contain job.") }
            let given = try JobRequest(try Self.name(name, "job"), body)
            try self.checkDistance(from: given.vendor?.place, to: given.destination)
            try await self.checkZone(
                given.zone, of: given.job, vendor: given.vendor?.place, destination: given.destination)
            let requested = try await self.geocoded(given)
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
        let log = try await self.result(of: self.jobs.ledger.log(of: requested.job))
        guard let first = log.first, first.source == "create", first.actor == grant.person.text,
            first.request == request
        else { return nil }
        // This write changes nothing. Its purpose is to learn whether a replica has confirmed the earlier write.
        let confirmed = try await self.result(
            of: self.jobs.ledger.describe(requested.job, kind: requested.kind, zone: nil, destination: nil, vendor: nil)
        )
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

    /// How often a request is checked and tried again when others create or change the job concurrently.
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
        let given = try JobRequest(job, try await self.body(JobBody.self, request, context))
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

    /// Checks what an update must leave unchanged.
    ///
    /// - Throws: 422 for another kind. 409 if another rider has the open job and `If-Match` does not name the record with that
    ///   rider: an order system that repeats its data would undo a hand-over.
    private func checkUpdate(of known: JobRecord, to given: JobRequest, _ condition: JobCondition) throws {
        guard known.kind == given.kind else { throw Self.otherKind(known.kind, of: given.job) }
        guard let rider = given.rider, let current = known.rider, current != rider, known.status.end == nil,
            !condition.namesRecord
        else { return }
        throw Problem(
            Refused(
                code: .conflict,
                message:
                    "The job is assigned to \(current). Leave rider out to keep that rider, or send If-Match with the "
                    + "job's current ETag to hand the job over."))
    }

    private static func otherKind(_ kind: JobKind, of job: JobID) -> Problem {
        Self.unprocessable("The job \(job) has the kind \(kind.rawValue). The kind of a job cannot be changed.")
    }

    /// Returns whether the request changes the destination, which invalidates the stored arrival time.
    private func changesDestination(_ requested: JobRequest) async throws -> Bool {
        guard let destination = requested.destination else { return false }
        guard let record = try await self.result(of: self.jobs.ledger.recover(requested.job))?.record else {
            return false
        }
        return record.destination?.json != destination.json
    }

    private enum Update {
        case updated(Response)
        /// The job does not exist, or has another revision. Nothing was changed.
        case overtaken
        /// As `overtaken`, but after the job got its rider and customer.
        case onlyAssigned
    }

    /// Assigns the job first: only that can be refused because of a rider, and a refused request changes nothing.
    ///
    /// - Parameters:
    ///   - known: the record with which the request was checked.
    ///   - revision: the revision that the record must have; `nil` for any.
    private func update(
        _ requested: JobRequest, _ known: JobRecord, of revision: Int64?, _ grant: Grant
    ) async throws -> Update {
        var (revision, isAssigned, isReplicationUnconfirmed) = (revision, false, false)
        if requested.customer != nil || requested.rider != nil {
            guard let assigned = try await self.assign(requested, of: revision, grant) else { return .overtaken }
            // Each assignment has a new fence and increments the revision.
            isAssigned = assigned.value.fence != known.fence
            if isAssigned { revision = revision.map { $0 + 1 } }
            isReplicationUnconfirmed = assigned.isReplicationUnconfirmed
        }
        guard let description = try await self.describe(requested, of: revision) else {
            return isAssigned ? .onlyAssigned : .overtaken
        }
        isReplicationUnconfirmed = isReplicationUnconfirmed || description.isReplicationUnconfirmed
        return .updated(
            self.answer(
                try await self.viewAfterChange(of: requested.job, grant), of: requested.job, to: grant,
                isReplicationUnconfirmed: isReplicationUnconfirmed))
    }

    /// - Returns: `nil` if the job has another revision.
    private func assign(
        _ requested: JobRequest, of revision: Int64?, _ grant: Grant
    ) async throws -> Durable<Assigned>? {
        do {
            return try await self.jobs.assign(
                requested.job, to: requested.rider.map { .some($0) }, of: requested.customer, by: grant.person,
                revision: revision
            ).get()
        } catch is RevisionChanged {
            return nil
        } catch {
            throw Problem(Refused(error))
        }
    }

    /// - Returns: `nil` if the job does not exist, or has another revision.
    private func describe(
        _ requested: JobRequest, of revision: Int64?
    ) async throws -> Durable<JobLedger.Description>? {
        // The arrival time is deleted before the update, so that no reader sees the new destination with the old time, and
        // again after it, because a gateway may calculate it for the old destination in between.
        let isDestinationChanged = try await self.changesDestination(requested)
        if isDestinationChanged { try await self.result(of: self.jobs.feed.forgetArrival(requested.job)) }
        let description = try await self.result(
            of: self.jobs.ledger.describe(
                requested.job, kind: requested.kind, zone: requested.zone, destination: requested.destination,
                geocoded: requested.geocoded, vendor: requested.vendor, display: requested.display,
                metadata: requested.metadata, recipient: requested.recipient, revision: revision))
        switch description.value {
        case .noSuchJob, .overtaken: return nil
        case .otherKind(let kind): throw Self.otherKind(kind, of: requested.job)
        case .ended(let status):
            throw Problem(
                Refused(
                    code: .illegalTransition, message: "The job is \(status.rawValue) and can no longer be changed.",
                    status: status))
        case .changed, .unchanged:
            self.jobs.updateZoneListing(of: requested.job)
            self.jobs.refreshPersonLists(of: requested.job)
            self.retryLookups(of: requested)
        }
        if isDestinationChanged { try await self.result(of: self.jobs.feed.forgetArrival(requested.job)) }
        return description
    }
}
