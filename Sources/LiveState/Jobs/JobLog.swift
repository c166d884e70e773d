// The status log of a job, read whole: what REST shows of a job's history. Followers never need it (recover_job).

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    /// The newest 64 status events, oldest first; none when there is no such job. Cost: O(events), without a script.
    ///
    /// - Throws: (in the future) `RedisError`; `unexpectedAnswer` when somebody else wrote into the log.
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

extension StatusLogEntry {
    /// - Parameter entry: of the stream: its id, and names and values in turn.
    fileprivate init?(_ entry: RESPValue) {
        guard let parts = entry.array, parts.count == 2, let id = parts[0].text.flatMap({ StatusID($0) }),
            let words = parts[1].array?.map({ $0.text ?? "" }), words.count.isMultiple(of: 2)
        else { return nil }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: words.count, by: 2) { fields[words[index]] = words[index + 1] }
        guard let status = fields["status"].flatMap(JobStatus.init), let at = fields["at"]?.moment,
            let source = fields["source"], let recorded = optional(fields["recorded"] ?? "", \.moment)
        else { return nil }
        func text(_ name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
        // The first entry, which create_job wrote, happened when it was written down.
        self.init(
            id: id, previous: StatusID(fields["prev"] ?? ""), status: status, at: at,
            recordedAt: recorded ?? at, actor: text("actor"), source: source,
            request: text("request"))
    }
}
