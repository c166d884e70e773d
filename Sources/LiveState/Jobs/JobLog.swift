// The complete status log of a job, for its history in REST. Followers use recover_job instead.

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    /// The newest 64 status events, oldest first; empty when there is no such job. Cost: O(events), without a script.
    ///
    /// - Throws: (in the future) `RedisError`; also when the log holds malformed entries.
    package func log(of job: JobID) -> EventLoopFuture<[StatusLogEntry]> {
        let key = self.keyspace.log(of: job)
        return self.ledger.send(["XRANGE", .text(key), "-", "+"]).flatMapThrowing { answer in
            try (answer.array ?? []).map { entry in
                guard let entry = StatusLogEntry(entry) else { throw self.ledger.refusal(of: key, by: "XRANGE") }
                return entry
            }
        }
    }
}

extension RESPValue {
    /// The id and the fields of an entry of a log, which has its id, then names and values in turn.
    var logEntry: (id: StatusID, fields: [String: String])? {
        guard let parts = self.array, parts.count == 2, let id = parts[0].text.flatMap({ StatusID($0) }),
            let items = parts[1].array?.map({ $0.text ?? "" }), items.count.isMultiple(of: 2)
        else { return nil }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: items.count, by: 2) { fields[items[index]] = items[index + 1] }
        return (id, fields)
    }
}

extension StatusLogEntry {
    /// - Parameter entry: of the stream.
    init?(_ entry: RESPValue) {
        guard let (id, fields) = entry.logEntry else { return nil }
        guard let status = fields["status"].flatMap(JobStatus.init), let at = fields["at"]?.timestamp,
            let source = fields["source"], let recorded = optional(fields["recorded"] ?? "", \.timestamp)
        else { return nil }
        func text(_ name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
        // Until 2026-11-30, create_job wrote the first entry without `recorded`: it happened when it was written.
        self.init(
            id: id, previous: StatusID(fields["prev"] ?? ""), status: status, at: at,
            recordedAt: recorded ?? at, actor: text("actor"), source: source,
            request: text("request"))
        self.isLate = fields["late"] != nil
        self.reason = text("reason")
        if let corrected = fields["corrected"] {
            guard let corrected = JobStatus(rawValue: corrected) else { return nil }
            self.corrected = corrected
        }
        guard fields["assigned"] != nil else { return }
        var assignment = LateAssignment(rider: nil, customer: nil)
        if let rider = fields["rider"] {
            guard let named = optional(rider, { PersonID($0) }) else { return nil }
            assignment.rider = .some(named)
        }
        guard let customer = optional(fields["customer"] ?? "", { PersonID($0) }) else { return nil }
        assignment.customer = customer
        self.assignment = assignment
    }
}
