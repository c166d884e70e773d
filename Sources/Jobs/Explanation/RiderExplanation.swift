// Explains a rider: from the facts in Redis to sentences.

internal import EnrouteWire
package import LiveState
internal import Redis

/// Decides what the facts about a rider mean.
package struct RiderExplanation: Sendable {
    private let facts: RiderFacts
    private let settings: LiveStateSettings
    private let time: ExplainedTime

    package init(_ facts: RiderFacts, settings: LiveStateSettings) {
        (self.facts, self.settings) = (facts, settings)
        self.time = ExplainedTime(now: facts.now)
    }

    private var record: RiderRecord? { self.facts.record.value }
    private var rider: PersonID { self.facts.rider }

    package var document: Explanation {
        let availability = self.availabilitySection
        return Explanation(
            .rider, id: self.rider.text, at: self.facts.now, found: self.isFound, summary: availability.verdict,
            sections: [
                availability, self.presenceSection, self.tasksSection, self.offlineSection, self.sessionsSection,
                self.revocationsSection, .redis([(.ledger, self.facts.ledgerKeys)]),
            ], malformed: self.facts.malformed, failures: self.facts.failures)
    }

    /// A rider without a zone exists only as a person with sessions.
    private var isFound: Bool? {
        switch (self.facts.zone, self.facts.record) {
        case (.failed, _), (_, .failed): nil
        case (.malformed, _), (_, .malformed), (_, .value): true
        default: self.hasSessions ? true : self.facts.watching.isIncomplete ? nil : false
        }
    }

    private var hasSessions: Bool {
        !self.connected.isEmpty || self.facts.watching.sessions.value?.isEmpty == false
    }

    private var connected: [GatewayFacts] {
        (self.facts.watching.gateways.value ?? []).filter { ($0.riderSessions.value ?? 0) > 0 }
    }

    private var missing: (Explanation.State, String)? {
        if let key = self.facts.zone.malformedKey ?? self.facts.record.malformedKey {
            return (.attention, "The data in \(key) is malformed: gateways refuse every request about this rider.")
        }
        if let error = self.facts.zone.error ?? self.facts.record.error {
            return (.unknown, error.verdict(about: .ledger))
        }
        guard self.record == nil else { return nil }
        return (
            .attention,
            self.facts.zone.value.map { "The rider is registered in zone \($0), but has no record there." }
                ?? "The rider is not registered in any zone, and so never available for tasks."
        )
    }

    // MARK: availability

    private var availabilitySection: Explanation.Section {
        guard let record, self.missing == nil else {
            let (state, verdict) = self.missing ?? (.unknown, "")
            return .init("availability", "Availability", [], state, verdict)
        }
        var facts: [Explanation.Fact] = [
            .init("zone", self.facts.zone.value?.text ?? "none", self.facts.zone.value.map { .text($0.text) }),
            .init(
                "status", record.status.rawValue + (record.statusAt.map { " since \(self.time.moment($0))" } ?? ""),
                .text(record.status.rawValue)),
            .init("approved", record.isApproved ? "yes" : "no", .flag(record.isApproved)),
            .init("capacity", "\(record.tasks.count) of \(record.capacity) tasks", .number(Int64(record.capacity))),
        ]
        if let reason = record.reason { facts.append(.init("reason", reason.onOneLine, .text(reason.onOneLine))) }
        if let key = self.facts.isInPool.malformedKey {
            return .init("availability", "Availability", facts, .attention, "The data in \(key) is malformed.")
        }
        let isInPool = self.facts.isInPool.value == true
        facts.append(.init("in_pool", isInPool ? "yes" : "no", .flag(isInPool)))
        let refusals = self.reasonsAgainstTasks(record)
        guard refusals.isEmpty else {
            return .init(
                "availability", "Availability", facts, record.status == .online ? .attention : .ok,
                "The rider receives no tasks: \(refusals.listed).")
        }
        return .init(
            "availability", "Availability", facts, isInPool ? .ok : .attention,
            isInPool
                ? "The rider is available for tasks."
                : "The rider is available for tasks, but the pool does not list them; their next heartbeat corrects that."
        )
    }

    private func reasonsAgainstTasks(_ record: RiderRecord) -> [String] {
        var reasons: [String] = []
        if record.status == .offline {
            reasons.append("they are offline" + (record.reason == "expired" ? " after a long silence (expired)" : ""))
        } else if !record.isReachable {
            reasons.append("they have sent no heartbeat for \(self.settings.heartbeatTimeout.milliseconds / 1000) s")
        }
        if !record.isApproved { reasons.append("they are not approved") }
        if record.tasks.count >= record.capacity { reasons.append("they have as many tasks as their capacity allows") }
        return reasons
    }

    // MARK: presence

    private var presenceSection: Explanation.Section {
        guard let record, self.missing == nil else {
            return .init("presence", "Presence", [], self.missing?.0 ?? .unknown, "There is no presence to check.")
        }
        var facts: [Explanation.Fact] = []
        if let device = record.device { facts.append(.init("device", device.text, .text(device.text))) }
        if let check = self.facts.nextCheck.value {
            let isTime = check >= 0 && check < 10_000_000_000_000
            facts.append(
                .init(
                    "next_check", isTime ? self.time.moment(Int64(check)) : "after its task is released",
                    isTime ? .number(Int64(check)) : nil))
        }
        guard let heartbeat = record.heartbeat else {
            return .init("presence", "Presence", facts, .ok, "The rider has never sent a heartbeat.")
        }
        facts.insert(.init("heartbeat", self.time.moment(heartbeat), .number(heartbeat)), at: 0)
        guard record.status == .online else {
            return .init("presence", "Presence", facts, .ok, "The rider is offline; presence does not matter.")
        }
        // Both durations are limited by their settings, so the sums do not overflow.
        let timeout = heartbeat + self.settings.heartbeatTimeout.milliseconds
        if record.isReachable {
            return .init(
                "presence", "Presence", facts, .ok,
                "The rider is reachable; without a heartbeat they become unreachable \(self.time.distance(timeout)).")
        }
        let offline = heartbeat + self.settings.autoOfflineDelay.milliseconds
        return .init(
            "presence", "Presence", facts, .attention,
            record.tasks.isEmpty
                ? "The rider is unreachable; they are set offline \(self.time.distance(offline)) unless they return."
                : "The rider is unreachable with a task, so they stay online: call the rider, or reassign the task.")
    }

    // MARK: tasks

    private var tasksSection: Explanation.Section {
        let jobs = self.facts.jobs
        let facts = jobs.map { task -> Explanation.Fact in
            let record = task.record.value
            let problem = self.problem(with: task)
            let travel = record?.isTravelling == true ? ", travel mode on" : ""
            let state = task.state.map { "task \($0.rawValue)" } ?? (self.isWaiting(task) ? "no task yet" : "no task")
            return .init(
                "task",
                "\(task.job): \(state), job \(record?.status.rawValue ?? "unknown")\(travel)"
                    + (problem.map { "; \($0)" } ?? ""), .text(task.job.text))
        }
        if let (state, verdict) = self.missing, jobs.isEmpty { return .init("tasks", "Tasks", facts, state, verdict) }
        let problems = jobs.filter { self.problem(with: $0) != nil }
        guard problems.isEmpty else {
            return .init(
                "tasks", "Tasks", facts, .attention,
                "Something is wrong with \(problems.map(\.job.text).listed).")
        }
        let travelling = jobs.filter { $0.record.value?.isTravelling == true }.map(\.job.text)
        var verdict =
            jobs.isEmpty
            ? "The rider has no active task."
            : "The rider has \(String.count(jobs.count, "job")); travel mode is on for "
                + (travelling.isEmpty ? "none." : "\(travelling.listed).")
        let waiting = jobs.filter(self.isWaiting).map(\.job.text)
        if !waiting.isEmpty {
            verdict += " When the rider goes online, \(waiting.listed) "
            verdict += waiting.count == 1 ? "becomes a task." : "become tasks."
        }
        return .init("tasks", "Tasks", facts, .ok, verdict)
    }

    /// Whether the rider had the job before they entered the zone, and it is not a task yet.
    private func isWaiting(_ task: RiderFacts.TaskFacts) -> Bool {
        task.state == nil && self.facts.isJoining.value == true && self.problem(with: task) == nil
    }

    private func problem(with task: RiderFacts.TaskFacts) -> String? {
        if let key = task.record.malformedKey ?? task.travel.malformedKey { return "\(key) is malformed" }
        if task.record.error != nil { return "it could not be read" }
        guard let record = task.record.value else { return "there is no such job; a sweep releases the task" }
        if record.rider != self.rider {
            return "it belongs to \(record.rider?.text ?? "nobody"); a sweep releases the task"
        }
        if record.status.end != nil { return "it has ended; a sweep releases the task" }
        return nil
    }

    // MARK: going offline

    /// The same check as set_rider_offline makes in one step: a rider with a task stays online.
    private var offlineSection: Explanation.Section {
        let title = "Going offline"
        guard let record, self.missing == nil else {
            return .init("offline", title, [], self.missing?.0 ?? .unknown, "There is no status to change.")
        }
        let tasks = record.tasks.keys.map(\.text).sorted()
        let facts = [Explanation.Fact("allowed", tasks.isEmpty ? "yes" : "no", .flag(tasks.isEmpty))]
        if record.status == .offline {
            return .init("offline", title, facts, .ok, "The rider is already offline.")
        }
        guard tasks.isEmpty else {
            return .init(
                "offline", title, facts, .attention,
                "The rider cannot go offline: they have \(String.count(tasks.count, "active task")) (\(tasks.listed)). "
                    + "Finish or reassign each first.")
        }
        return .init("offline", title, facts, .ok, "The rider can go offline: they have no active task.")
    }

    // MARK: sessions and revocations

    private var sessionsSection: Explanation.Section {
        let watching = self.facts.watching
        if let error = watching.gateways.error {
            return .init("sessions", "Sessions", [], .unknown, error.verdict(about: .live))
        }
        if let key = watching.gateways.malformedKey {
            return .init("sessions", "Sessions", [], .attention, "The data in \(key) is malformed.")
        }
        var facts = self.connected.map { gateway in
            Explanation.Fact(
                "gateway",
                "\(gateway.title): \(String.count(gateway.riderSessions.value ?? 0, "session")), "
                    + "reported \(self.time.distance(gateway.at))", .text(gateway.title))
        }
        facts += .sessions(watching, self.time, most: 3)
        let silent = (watching.gateways.value ?? []).filter(\.isSilent).map(\.title)
        if !silent.isEmpty { facts.append(.init("silent", "\(silent.listed) stopped reporting")) }
        guard !self.connected.isEmpty else {
            return .init(
                "sessions", "Sessions", facts, self.record?.status == .online ? .attention : .ok,
                "No gateway has reported a session of the rider. A new session is reported within 5 s.")
        }
        return .init(
            "sessions", "Sessions", facts, .ok, "The rider is connected to \(self.connected.map(\.title).listed).")
    }

    private var revocationsSection: Explanation.Section {
        let revocations = self.facts.revocations
        if let error = revocations.error {
            return .init("revocations", "Revocations", [], .unknown, error.verdict(about: .ledger))
        }
        guard let at = revocations.people[self.rider] else {
            return .init("revocations", "Revocations", [], .ok, "No revocation applies to this user.")
        }
        return .init(
            "revocations", "Revocations", [.init("revoked", self.time.moment(at), .number(at))], .attention,
            "Tokens issued before \(self.time.moment(at)) are revoked: the rider needs a new one.")
    }
}
