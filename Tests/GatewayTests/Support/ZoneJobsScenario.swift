// A watcher of a zone's jobs that checks what it receives against the guarantees, and changes of jobs over REST.

import EnrouteClient
import EnrouteWire
import Testing

/// What one watcher shows of a zone.
struct ZoneJobsWitness {
    private(set) var rows: [JobID: JobRow] = [:]
    private(set) var resets = 0
    private(set) var isComplete = false
    private(set) var violations: [String] = []

    mutating func take(_ view: ZoneJobsView) {
        if view.isReset { (self.rows, self.resets, self.isComplete) = ([:], self.resets + 1, false) }
        if self.resets == 0 { self.violations.append("changes before the list") }
        if view.jobs.count + view.gone.count > 100 { self.violations.append("a message with more than 100 jobs") }
        for row in view.jobs { self.rows[row.job] = row }
        for job in view.gone { self.rows[job] = nil }
        if !view.hasMore { self.isComplete = true }
    }

    subscript(_ job: String) -> JobRow? { JobID(job).flatMap { self.rows[$0] } }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// Receives messages until `isEnough` returns `true`.
    mutating func watchJobs(
        _ witness: inout ZoneJobsWitness, until isEnough: (ZoneJobsWitness) -> Bool
    ) async throws {
        while !isEnough(witness) {
            guard let message = try await self.next() else { throw Missing() }
            if case .jobs(let view) = message { witness.take(view) }
            if case .error(let refusal) = message { throw refusal.code }
        }
    }
}

extension RunningGateway {
    /// Creates a job, or describes it again.
    func putJob(_ job: String, _ body: String) async throws {
        let answer = try await self.rest("PUT", "/api/v1/jobs/\(job)", by: "orders", .service, body)
        #expect([200, 201].contains(answer.status), "\(answer)")
    }

    func changeJob(_ job: String, to status: String) async throws {
        let answer = try await self.rest(
            "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
        #expect(answer.status == 200, "\(answer)")
    }
}
