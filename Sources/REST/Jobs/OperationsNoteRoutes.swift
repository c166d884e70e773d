// The note of a job for operations staff and services: read, write, remove. It can be written after the job has ended too.

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
    func addOperationsNotes(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs/{job}/operations-note", use: self.readNote)
        api.put("jobs/{job}/operations-note", use: self.writeNote)
        api.delete("jobs/{job}/operations-note", use: self.removeNote)
    }

    private struct NoteBody: Decodable {
        var text: String
    }

    private struct NoteDocument: Encodable {
        var job: String
        var text: String?
        /// Milliseconds since the Unix epoch.
        var at: Int64?
        var by: String?

        init(_ job: JobID, _ note: OperationsNote?) {
            (self.job, self.text, self.at, self.by) = (job.text, note?.text, note?.at, note?.by.text)
        }
    }

    @Sendable private func readNote(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .noteJob)
        let job = try self.job(context, grant)
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider)
        else { throw Problem(Refused.noSuchJob) }
        return try Self.json(NoteDocument(job, try await self.result(of: self.jobs.ledger.note(of: job))))
    }

    @Sendable private func writeNote(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .noteJob)
        let job = try self.job(context, grant)
        let text = try await self.body(NoteBody.self, request, context).text
        guard OperationsNote.isNote(text) else {
            throw Self.unprocessable(
                "text must be 1 to \(OperationsNote.longest) printable characters or line breaks, not only spaces. To "
                    + "remove the note, use DELETE.")
        }
        let change = try await self.change(text, job, grant)
        let note: OperationsNote? =
            switch change.value {
            case .changed(let at): OperationsNote(text: text, at: at, by: grant.person)
            case .unchanged(let note): note
            case .noSuchJob: throw Problem(Refused.noSuchJob)
            }
        return try Self.json(
            NoteDocument(job, note), isReplicationUnconfirmed: change.isReplicationUnconfirmed)
    }

    @Sendable private func removeNote(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .noteJob)
        let job = try self.job(context, grant)
        let change = try await self.change(nil, job, grant)
        if case .noSuchJob = change.value { throw Problem(Refused.noSuchJob) }
        var response = Response(
            status: change.isReplicationUnconfirmed ? .accepted : .noContent, headers: [.cacheControl: "no-store"])
        if change.isReplicationUnconfirmed { response.headers[.durability] = "unknown" }
        return response
    }

    /// Changes the note. Only a change gets an audit entry.
    private func change(
        _ text: String?, _ job: JobID, _ grant: Grant
    ) async throws -> Durable<JobLedger.NoteChange> {
        let change = try await self.result(of: self.jobs.ledger.note(text, on: job, by: grant.person))
        guard case .changed(let at) = change.value else { return change }
        var entry = AuditEntry.notedByOperations(job, isRemoved: text == nil, by: grant.person)
        entry.stamp(
            gateway: self.settings.name, at: WallClock.nowMilliseconds, number: "\(job)-\(at)-note")
        let (streams, stamped) = (self.services.streams, entry)
        try await self.result(of: self.jobs.auditPersistently(job) { streams.append(stamped) })
        return change
    }
}
