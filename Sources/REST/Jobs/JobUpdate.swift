// Updates a job that exists, for PUT: first its rider and customer, then its other values.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis

extension Routes {
    /// Checks what an update must leave unchanged.
    ///
    /// - Throws: 422 for another kind. 409 if another rider has the open job and `If-Match` does not name the record with that
    ///   rider: an order system that repeats its data would undo a hand-over.
    func checkUpdate(of known: JobRecord, to given: JobRequest, _ condition: JobCondition) throws {
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

    enum JobUpdate {
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
    func update(
        _ requested: JobRequest, _ known: JobRecord, of revision: Int64?, _ grant: Grant
    ) async throws -> JobUpdate {
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
