// Explains a job: from the facts in Redis to sentences. A value without I/O, so every finding has a test.

internal import Access
internal import EnrouteWire
package import LiveState
internal import Redis

/// Decides what the facts about a job mean.
package struct JobExplanation: Sendable {
    let facts: JobFacts
    let settings: LiveStateSettings
    let freshness: Duration
    let showsPosition: Bool
    let time: ExplainedTime

    /// - Parameters:
    ///   - freshness: age from which a position is stale.
    ///   - showsPosition: whether the coordinates are included. The caller records that in the audit trail.
    package init(
        _ facts: JobFacts, settings: LiveStateSettings, freshness: Duration, showsPosition: Bool = false
    ) {
        (self.facts, self.settings, self.freshness) = (facts, settings, freshness)
        self.showsPosition = showsPosition
        self.time = ExplainedTime(now: facts.now)
    }

    var record: JobRecord? { self.facts.record.value }
    var now: Int64 { self.facts.now }

    package var document: Explanation {
        let followers = self.followersSection
        let sections = [
            self.jobSection, self.visibilitySection, self.watchingSection, self.travelSection, self.fixesSection,
            followers, self.etaSection, self.redisSection,
        ]
        return Explanation(
            .job, id: self.facts.job.text, at: self.now, found: self.isFound, summary: followers.verdict,
            sections: sections, malformed: self.facts.malformed, failures: self.facts.failures)
    }

    /// A malformed record counts as a job.
    private var isFound: Bool? {
        switch self.facts.record {
        case .value, .malformed: true
        case .absent: false
        case .failed: nil
        }
    }

    /// The state and the verdict of a section that needs a value which could not be read; `nil` if it could.
    func missing<Value>(_ reading: Reading<Value>, _ role: RedisRole) -> (Explanation.State, String)? {
        switch reading {
        case .value, .absent: nil
        case .malformed(let key): (.attention, "The data in \(key) is malformed; Enroute ignores or refuses it.")
        case .failed(let error): (.unknown, error.verdict(about: role))
        }
    }

    // MARK: the job itself

    private var jobSection: Explanation.Section {
        guard let record else {
            let (state, verdict) =
                switch self.facts.record {
                case .malformed(let key):
                    (
                        Explanation.State.attention,
                        "The record \(key) is malformed: gateways refuse every request for this job."
                    )
                default: self.missing(self.facts.record, .ledger) ?? (.attention, "There is no such job.")
                }
            return .init("job", "Job", [], state, verdict)
        }
        var facts: [Explanation.Fact] = [
            .init("status", record.status.rawValue, .text(record.status.rawValue)),
            .init("since", self.time.moment(record.statusAt), .number(record.statusAt)),
            .init("kind", record.kind.rawValue, .text(record.kind.rawValue)),
            .init("customer", record.customer.text, .text(record.customer.text)),
            .init("rider", self.riderText(record), record.rider.map { .text($0.text) }),
            .init("zone", record.zone?.text ?? "none", record.zone.map { .text($0.text) }),
        ]
        let wait = self.waitForTask(record)
        if let wait {
            facts.append(.init("task", "not yet: \(wait.rider) has to go online in zone \(wait.zone)", .flag(false)))
        }
        if let problem = self.logProblem(record) {
            facts.append(.init("log", problem))
            return .init("job", "Job", facts, .attention, problem)
        }
        let verdict =
            switch record.status.end {
            case nil:
                "The job is open: \(record.status.rawValue)."
                    + (wait.map { " It becomes a task when \($0.rider) goes online in zone \($0.zone)." } ?? "")
            case .some: "The job has ended: it is \(record.status.rawValue)."
            }
        return .init("job", "Job", facts, .ok, verdict)
    }

    private func riderText(_ record: JobRecord) -> String {
        guard let rider = record.rider else { return "none" }
        return rider.text + (self.facts.assignedAt.value.map { ", assigned \(self.time.moment($0))" } ?? "")
    }

    /// Who has to go online, and where, before the job is a task; `nil` if it does not wait for that.
    private func waitForTask(_ record: JobRecord) -> (rider: PersonID, zone: ZoneID)? {
        guard record.status.end == nil, self.facts.isRiderJoining.value == true, let rider = record.rider,
            let zone = self.facts.riderZone.value
        else { return nil }
        return (rider, zone)
    }

    /// Why followers would resync repeatedly: the record and its log disagree.
    private func logProblem(_ record: JobRecord) -> String? {
        switch self.facts.log {
        case .value(let log):
            guard let newest = log.last(where: { !$0.isLate }), newest.id != record.head else { return nil }
            return "The record and the status log disagree about the newest status; followers resync repeatedly."
        case .absent: return "The status log is missing; followers that missed a status receive a reset."
        case .malformed(let key):
            return "The status log \(key) is malformed; followers do not receive the statuses that they missed."
        case .failed: return nil
        }
    }

    // MARK: keys

    private var redisSection: Explanation.Section {
        .redis([(.live, self.facts.liveKeys), (.ledger, self.facts.ledgerKeys)])
    }
}

extension Explanation.Section {
    /// Where the keys are.
    static func redis(_ keys: [(role: RedisRole, keys: KeyFacts)]) -> Explanation.Section {
        let facts = keys.map { role, keys in
            Explanation.Fact(role.rawValue, keys.text, keys.master.map { .text($0) })
        }
        let unknown = keys.filter { $0.keys.master == nil }.map(\.role.rawValue)
        let alone = keys.filter { $0.keys.master != nil && $0.keys.replicas.isEmpty && $0.keys.isReplicated }
        guard unknown.isEmpty else {
            return .init(
                "redis", "Redis", facts, .unknown, "The master of \(unknown.listed) is unknown or does not answer.")
        }
        guard alone.isEmpty else {
            return .init(
                "redis", "Redis", facts, .attention,
                "\(alone.map(\.role.rawValue).listed) has no replica: if its master fails, this data is unavailable.")
        }
        return .init("redis", "Redis", facts, .ok, "\(keys.map(\.role.rawValue).listed) answered.")
    }
}

extension KeyFacts {
    /// Whether replicas are expected.
    fileprivate var isReplicated: Bool { self.isCluster || self.isSentinel }

    fileprivate var text: String {
        guard let master else { return self.error?.reasonForStaff ?? "unknown" }
        let place = (self.slot.map { "slot \($0) on " } ?? "") + master
        let origin = self.isSentinel ? " (named by the Sentinels)" : ""
        let replicas =
            self.replicas.isEmpty
            ? (self.isReplicated ? ", no replica" : "") : ", replicas \(self.replicas.joined(separator: ", "))"
        return place + origin + replicas
    }
}

extension RedisError {
    /// The reason without the arguments that were sent. If it is known what to do, the text says so.
    package var reasonForStaff: String {
        guard case .refused("NOPERM", _) = self else { return self.withoutArguments }
        return "the Redis user may not run a command that explanations need: install the access list of this version "
            + "(deploy/redis)"
    }

    /// The verdict of a section that could not be read.
    func verdict(about role: RedisRole) -> String {
        self.isOutage ? "Unknown: the \(role.rawValue) Redis is unavailable." : "Unknown: \(self.reasonForStaff)."
    }
}
