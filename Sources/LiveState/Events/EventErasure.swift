// Erasure of a job's events, because they name its customer, its rider and the people who changed it. The event about
// the erasure stays, so that other systems learn of it; it names no person.
//
// Events about riders stay, although they contain the job's id: they are copies of the zone's log of changes, which is
// an audit trail, and the last of them is copied after the erasure.
//
// Gateways hold events in memory for a moment: after they read them from an outbox of a cluster, and before they
// deliver them to a webhook. `EventStreams.forward` appends no event of an erased record, and when the worker of a
// webhook reads the event about the erasure, it removes the job's events from its waiting list.

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    /// Deletes all events of a job: from the stream, and those that wait for a webhook or could not be delivered. The
    /// event about an erasure stays.
    ///
    /// Can be repeated. An event that a gateway is sending at this moment still arrives.
    ///
    /// - Returns: how many events were deleted.
    package func eraseEvents(of job: JobID) -> EventLoopFuture<Int> {
        self.eventLoop.makeFutureWithTask { try await self.eraseEvents(of: job, .all) }
    }

    /// Deletes the events that `eraseEvents` has not seen, once the record is erased. If the job was created again with
    /// the same id, its new events stay.
    ///
    /// - Returns: how many events were deleted.
    package func eraseRemainingEvents(of job: JobID) -> EventLoopFuture<Int> {
        let erased = self.ledger.send(["HGET", .text(self.keyspace.job(job)), "erased"])
        return erased.skippingMalformedData(as: .null).flatMap { answer in
            let epochs = (answer.text ?? "").split(separator: " ").map { String($0) }.filter(\.isNonce)
            return self.eventLoop.makeFutureWithTask {
                try await self.eraseEvents(of: job, .only(Array(epochs.prefix(ErasedRecords.maxEpochs))))
            }
        }
    }

    private func eraseEvents(of job: JobID, _ records: ErasedRecords) async throws -> Int {
        let store = WebhookStore(ledger: self.writes, settings: self.settings)
        return try await EventErasure(job: job, records: records, store: store).run()
    }
}

/// The erasure of one job's events.
struct EventErasure: Sendable {
    let job: JobID
    let records: ErasedRecords
    let store: WebhookStore
    private var streams: EventStreams { self.store.streams }
    private var keyspace: Keyspace { self.streams.settings.keyspace }

    func run() async throws -> Int {
        var count = 0
        if case .cluster = self.streams.ledger.endpoint {
            // Before the search: the search finds what a gateway appends until then, and afterwards the gateway appends
            // nothing.
            if case .only(let epochs) = self.records { try await self.streams.markErased(epochs, of: self.job) }
            let outbox = self.keyspace.outbox(ofSlot: HashSlot.of(self.keyspace.job(self.job)))
            count += try await self.erase(from: outbox)
        }
        count += try await self.erase(from: self.keyspace.events(of: self.job.text))
        for webhook in try await self.store.ids() {
            count += try await self.store.forget([self.job.text: self.records], of: webhook)
        }
        return count
    }

    private func erase(from stream: String) async throws -> Int {
        try await self.streams.erase(from: stream) { fields in
            fields["subject"] == self.job.text && self.records.includes(type: fields["type"], epoch: fields["epoch"])
        }
    }
}

extension EventStreams {
    /// Deletes entries of a stream, from the oldest to the one that is the newest when this starts. A stream has a
    /// maximum length.
    ///
    /// - Parameter isErased: decides by the fields of an entry.
    /// - Returns: how many entries were deleted.
    func erase(from stream: String, where isErased: ([String: String]) -> Bool) async throws -> Int {
        var (count, last) = (0, "0-0")
        while true {
            let entries = try await self.entries(of: stream, after: last)
            let erased = entries.filter { isErased($0.fields) }
            if !erased.isEmpty {
                let start: [RedisCommand.Word] = ["XDEL", .text(stream)]
                let answer = try await self.ledger.send(RedisCommand(start + erased.map { .text($0.id) })).get()
                count += Int(clamping: answer.integer ?? 0)
            }
            guard entries.count == Self.page, let newest = entries.last?.id else { return count }
            last = newest
        }
    }
}

extension WebhookStore {
    /// Deletes events of erased jobs that wait for a webhook or could not be delivered.
    ///
    /// - Parameter jobs: each job's id, and which of its records were erased.
    /// - Returns: how many events were deleted.
    package func forget(_ jobs: [String: ErasedRecords], of id: String) async throws -> Int {
        // Twice, because an undelivered event may be queued again just before this loop finds it.
        var count = try await self.forgetWaiting(jobs, of: id)
        try await skippingMalformedData {
            count += try await self.streams.erase(from: self.keyspace.dead(ofWebhook: id)) { fields in
                guard let subject = fields["subject"], let records = jobs[subject] else { return false }
                let event = fields["event"].map { WaitingEvent(subject: subject, stored: $0) }
                let attributes = event?.attributes
                return records.includes(type: attributes?.type, epoch: attributes?.epoch)
            }
        }
        return count + (try await self.forgetWaiting(jobs, of: id))
    }

    private func forgetWaiting(_ jobs: [String: ErasedRecords], of id: String) async throws -> Int {
        var count = 0
        for (job, records) in jobs {
            let keys = [
                self.keyspace.webhook(id), self.keyspace.due(ofWebhook: id), self.keyspace.attempts(ofWebhook: id),
                self.keyspace.waiting(of: job, ofWebhook: id),
            ]
            // The script removes the events first, so malformed data elsewhere does not prevent that.
            try await skippingMalformedData {
                let answer = try await self.ledger.evaluate(
                    Scripts.forgetEvents, keys: keys,
                    arguments: [.text(job), .text(records.word), .text(records.epochs)]
                ).get()
                count += Int(clamping: answer.array?.last?.integer ?? 0)
            }
        }
        return count
    }

    /// Deletes the waiting events of jobs whose erasure the worker of a webhook has read. All events that it read
    /// earlier belong to an earlier record than the job's current one.
    package func forgetErased(_ jobs: Set<String>, of id: String) async throws {
        var records: [String: ErasedRecords] = [:]
        for job in jobs.compactMap({ JobID($0) }) {
            let answer = self.ledger.send(["HGET", .text(self.keyspace.job(job)), "epoch"])
            let epoch = try await answer.skippingMalformedData(as: .null).get().text
            records[job.text] = .allExcept(epoch?.isNonce == true ? epoch : nil)
        }
        guard !records.isEmpty else { return }
        _ = try await self.forget(records, of: id)
    }
}
