// Who may see a job and why, and who follows it now.

internal import Access
internal import EnrouteWire
internal import LiveState
internal import Redis

extension JobExplanation {
    // MARK: who may see it

    /// Uses the table of permissions itself (Access/Grant.swift), so that the explanation cannot differ from it.
    var visibilitySection: Explanation.Section {
        let title = "Who may see it"
        guard let record else {
            let (state, verdict) =
                self.missing(self.facts.record, .ledger) ?? (.attention, "There is no such job, so nobody can see it.")
            return .init("visibility", title, [], state, verdict)
        }
        var facts: [Explanation.Fact] = []
        var seeing: [String] = []
        func add(_ person: PersonID?, _ role: Role, _ why: String) {
            let refusal = self.refusal(of: person, role, record)
            let text = (person.map { "\($0): " } ?? "") + (refusal.map { "no, \($0)" } ?? why)
            facts.append(.init(role.rawValue, text, .flag(refusal == nil)))
            if refusal == nil { seeing.append(role.plural) }
        }
        let end = record.status.end == nil ? "until the job ends" : "the last status only, the job has ended"
        add(record.customer, .customer, "yes, it is their job; \(end)")
        if let rider = record.rider { add(rider, .rider, "yes, it is assigned to them; \(end)") }
        add(nil, .ops, "yes, every job; a token may be limited to one job or rider")
        add(nil, .service, "yes, every job; a token may be limited to one job or rider")
        let links = self.facts.links.map { self.fact(about: $0, record) }
        facts += links.map(\.fact)
        let valid = links.count { $0.isValid }
        if valid > 0 { seeing.append(.count(valid, "tracking link")) }
        let unreadable = self.missing(self.facts.watching.sessions, .ledger)
        if unreadable != nil {
            facts.append(.init("links", "unknown, because the audit trail could not be read"))
        } else if self.facts.links.isEmpty {
            facts.append(.init("links", "none was opened recently; others are not listed"))
        }
        if let error = self.facts.revocations.error {
            return .init("visibility", title, facts, .unknown, error.verdict(about: .ledger))
        }
        if let at = self.facts.revocations.job {
            return .init(
                "visibility", title, facts, .attention,
                "Only operations and services may see it: the job was revoked at \(self.time.moment(at)).")
        }
        if let (state, verdict) = unreadable { return .init("visibility", title, facts, state, verdict) }
        // A token that was issued later is valid, so the person may be able to see the job after all.
        let isRefused = facts.contains { ["customer", "rider"].contains($0.name) && $0.value == .flag(false) }
        return .init(
            "visibility", title, facts, isRefused ? .attention : .ok, "It may be seen by \(seeing.listed).")
    }

    private func refusal(of person: PersonID?, _ role: Role, _ record: JobRecord) -> String? {
        // Any person of a role that sees all jobs.
        let grant = Grant(person: person ?? record.customer, role: role)
        guard grant.allows(.followJob),
            grant.reaches(self.facts.job, customer: record.customer, rider: record.rider)
        else { return "this role may not follow it" }
        if let at = self.facts.revocations.job, role == .customer || role == .rider {
            return "the job was revoked at \(self.time.clock(at))"
        }
        if let person, let at = self.facts.revocations.people[person] {
            return "tokens issued before \(self.time.moment(at)) are revoked"
        }
        return nil
    }

    private func fact(about link: LinkFacts, _ record: JobRecord) -> (fact: Explanation.Fact, isValid: Bool) {
        let (isValid, text): (Bool, String) =
            if let at = self.facts.revocations.links[link.id] {
                (false, "revoked at \(self.time.moment(at))")
            } else {
                switch link.link {
                case .absent: (false, "expired or deleted")
                case .malformed: (false, "its record is malformed")
                case .failed: (false, "unknown")
                case .value(let known):
                    if known.customer != record.customer {
                        (false, "void: it was created for another customer (\(known.customer))")
                    } else if known.expiresAt <= self.now {
                        (false, "expired at \(self.time.moment(known.expiresAt))")
                    } else {
                        (
                            self.facts.revocations.job == nil,
                            "\(link.viewers.value ?? 0) of \(known.mostViewers) viewers; "
                                + "until \(self.time.moment(known.expiresAt))"
                        )
                    }
                }
            }
        return (.init("link", "\(link.id.prefix(8))…: \(text)", .flag(isValid)), isValid)
    }

    // MARK: who follows it now

    var watchingSection: Explanation.Section {
        let (title, watching) = ("Who is watching now", self.facts.watching)
        if let (state, verdict) = self.missing(watching.gateways, .live) {
            return .init("watching", title, self.sessionFacts, state, verdict)
        }
        let gateways = watching.gateways.value ?? []
        let followed = gateways.filter { $0.currentFollowers > 0 }
        let count = watching.followers
        var facts = [Explanation.Fact("followers", "\(count), a few seconds ago", .number(Int64(count)))]
        facts += gateways.filter { ($0.followers.value ?? 0) > 0 }.map { gateway in
            let departed = gateway.departed > 0 ? "; \(gateway.departed) left since" : ""
            return .init(
                "gateway",
                "\(gateway.title): \(String.count(gateway.followers.value ?? 0, "follower")), "
                    + "reported \(self.time.distance(gateway.at))\(departed)", .text(gateway.title))
        }
        facts += self.sessionFacts
        if let subscribed = watching.feedSubscribers.value, let events = watching.eventSubscribers.value {
            facts.append(
                .init(
                    "subscriptions",
                    "\(String.count(subscribed, "event loop")) subscribed to locations, \(events) to statuses",
                    .number(Int64(subscribed))))
        }
        let problems = self.watchingProblems(gateways, followed, count)
        guard problems.isEmpty else {
            return .init("watching", title, facts, .attention, problems.joined(separator: " "))
        }
        guard count > 0 else {
            let isSubscribed = (watching.feedSubscribers.value ?? 0) > 0
            return .init(
                "watching", title, facts, .ok,
                isSubscribed
                    ? "Somebody has just started or stopped following the job: gateways report their followers every 5 s."
                    : "Nobody follows the job.")
        }
        let places = followed.map { "\($0.title) (\($0.currentFollowers))" }.listed
        return .init("watching", title, facts, .ok, "\(String.count(count, "follower")) on \(places).")
    }

    private func watchingProblems(
        _ gateways: [GatewayFacts], _ followed: [GatewayFacts], _ count: Int
    ) -> [String] {
        var problems: [String] = []
        let silent = gateways.filter { $0.isSilent }
        if gateways.isEmpty {
            problems.append("No gateway has reported for 10 minutes: none runs, or none reaches Redis.")
        }
        if !silent.isEmpty {
            problems.append(
                "\(silent.map(\.title).listed) stopped reporting \(self.time.distance(silent.map(\.at).max() ?? 0)): "
                    + (silent.count == 1
                        ? "it has stopped, or cannot reach Redis; its followers are not counted."
                        : "they have stopped, or cannot reach Redis; their followers are not counted."))
        }
        let troubled = followed.filter { !["serving", nil].contains($0.health.value?.state) }
        problems += troubled.map { "\($0.title) is \($0.health.value?.state ?? "")." }
        // Followers that have just left are not counted, and those that have just joined are subscribed: the collector
        // has waited for both.
        if count > 0, self.facts.watching.feedSubscribers.value == 0 {
            problems.append("Followers receive no locations: no event loop is subscribed to them.")
        }
        if count > 0, self.facts.watching.eventSubscribers.value == 0 {
            problems.append("Followers receive no statuses: no event loop is subscribed to them.")
        }
        return problems
    }

    /// Maximum number of sessions on the screen.
    private static let shownSessions = 6

    private var sessionFacts: [Explanation.Fact] {
        .sessions(self.facts.watching, self.time, most: Self.shownSessions)
    }
}

extension [Explanation.Fact] {
    /// The open sessions in the audit trail.
    static func sessions(
        _ watching: WatchingFacts, _ time: ExplainedTime, most: Int
    ) -> [Explanation.Fact] {
        guard let sessions = watching.sessions.value else { return [] }
        let silent = Set((watching.gateways.value ?? []).filter { $0.isSilent }.map(\.title))
        let known = Set((watching.gateways.value ?? []).map(\.title))
        var facts = sessions.prefix(most).map { session in
            let isUnknown = watching.gateways.value != nil && !known.contains(session.gateway)
            let isGone = silent.contains(session.gateway) || isUnknown
            return Explanation.Fact(
                "session",
                "\(session.role) \(session.person) by \(session.via) on \(session.gateway) since "
                    + time.moment(session.since) + (isGone ? "; that gateway is gone" : ""), .text(session.session))
        }
        if sessions.count > most { facts.append(.init("sessions", "and \(sessions.count - most) more sessions")) }
        if let since = watching.sessionsSince {
            facts.append(.init("audit", "the audit trail was read back to \(time.moment(since))", .number(since)))
        }
        return facts
    }
}

extension GatewayFacts {
    /// The configured name; the id if the name is unknown.
    var title: String { self.health.value?.name ?? self.id }

    /// Whether its report has expired.
    var isSilent: Bool { if case .absent = self.health { true } else { false } }
}

extension Role {
    fileprivate var plural: String {
        switch self {
        case .customer: "the customer"
        case .rider: "the rider"
        case .ops: "operations"
        case .service: "services"
        }
    }
}
