// Stores the customer's note to the rider. The rider, operations staff and services read it in the job's state.

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
    func addNotes(to api: RouterGroup<GatewayRequestContext>) {
        api.put("jobs/{job}/note", use: self.writeNote)
    }

    private struct NoteBody: Decodable {
        /// Empty removes the stored note.
        var note: String
    }

    private struct NoteDocument: Encodable {
        var job: String
        var note: String
    }

    @Sendable private func writeNote(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try await self.grant(
            request, context, .writeNote, orOfLinkFor: self.shared.pages.settings.customerNotes)
        let job = try self.job(context, grant)
        let text = try await self.body(NoteBody.self, request, context).note
        let note = CustomerNote(text)
        guard note != nil || text.isEmpty else {
            throw Self.unprocessable(
                "note must be 1 to \(CustomerNote.longest) printable characters or line breaks, not only spaces, or empty "
                    + "to remove it.")
        }
        try await self.require(JobCondition(request), of: job, by: grant)
        let customer = grant.role == .customer ? grant.person : nil
        let result = try await self.result(of: self.jobs.ledger.note(note, on: job, of: customer))
        switch result.value {
        case .noSuchJob: throw Problem(Refused.noSuchJob)
        case .ended(let status):
            throw Problem(
                Refused(
                    code: .illegalTransition, message: "The job is \(status.rawValue) and accepts no more notes.",
                    status: status))
        case .unchanged: break
        case .changed:
            self.jobs.updateZoneListing(of: job)
            var entry = AuditEntry.noted(
                job, by: grant.person, isByLink: grant.link != nil, isRemoved: note == nil)
            entry.stamp(
                gateway: self.settings.name, at: WallClock.nowMilliseconds,
                number: "\(self.settings.name)-note-\(String(UInt64.random(in: .min ... .max), radix: 36))")
            let (streams, stamped) = (self.services.streams, entry)
            try await self.result(of: self.jobs.auditPersistently(job) { streams.append(stamped) })
        }
        return try Self.json(
            NoteDocument(job: job.text, note: note?.text ?? ""),
            isReplicationUnconfirmed: result.isReplicationUnconfirmed)
    }
}
