// Who follows a job, and where a rider is connected. Gateways report their followers per job and their sessions per rider every
// few seconds (GatewayRegistry); the audit trail names the sessions; Redis counts subscribed event loops.

internal import Access
internal import EnrouteWire
internal import NIOCore
internal import Redis

extension FactsCollector {
    func watching(_ job: JobID) async throws -> WatchingFacts {
        var facts = WatchingFacts()
        (facts.gateways, facts.malformedRegistry) = try await self.gateways { id, gateway in
            let key = self.keyspace.followed(atGateway: id)
            gateway.followers = try await self.count(at: key, of: job, most: GatewayRegistry.maxFollowedJobs)
        }
        let reported = facts.gateways.value?.reduce(0) { $0 + ($1.followers.value ?? 0) }
        for attempt in 0...Self.maxRereads {
            if attempt > 0 { try await Task.sleep(for: self.rereadDelay) }
            // In the order in which a loop stops following: it unsubscribes, and its next tick writes the audit entry.
            facts.feedSubscribers = try await self.subscribers(of: self.keyspace.feed(of: job), at: self.live)
            facts.eventSubscribers = try await self.subscribers(of: self.keyspace.events(of: job), at: self.ledger)
            let trail = try await self.trail(expected: reported) { $0.job == job }
            (facts.sessions, facts.sessionsSince) = (trail.sessions, trail.since)
            facts.gateways = facts.gateways.map { $0.map { $0.without(trail.departed.values) } }
            guard facts.isContradictory else { break }
        }
        return facts
    }

    func watching(rider: PersonID) async throws -> WatchingFacts {
        var facts = WatchingFacts()
        (facts.gateways, facts.malformedRegistry) = try await self.gateways { id, gateway in
            let key = self.keyspace.ridersConnected(atGateway: id)
            gateway.riderSessions = try await self.count(at: key, of: rider, most: GatewayRegistry.maxRiders)
        }
        let trail = try await self.trail(expected: nil) { $0.person == rider && $0.role == Role.rider.rawValue }
        (facts.sessions, facts.sessionsSince) = (trail.sessions, trail.since)
        return facts
    }

    /// The gateways that reported within `GatewayRegistry.retention`, sorted by id.
    private func gateways(
        _ complete: (String, inout GatewayFacts) async throws -> Void
    ) async throws -> (Reading<[GatewayFacts]>, malformedKey: String?) {
        let key = self.keyspace.gateways
        // A malformed entry does not hide the others.
        struct Listed: Sendable {
            var gateways: [GatewayFacts] = []
            var isValid = true
        }
        let listed = try await self.live.reading(
            ["ZRANGEBYSCORE", .text(key), "-inf", "+inf", "WITHSCORES"], of: key
        ) { answer -> Listed in
            let items = (answer.array ?? []).map { $0.text ?? "" }
            var listed = Listed()
            for index in stride(from: 0, to: items.count - 1, by: 2) {
                guard items[index].isNonce, let at = items[index + 1].timestamp else {
                    listed.isValid = false
                    continue
                }
                listed.gateways.append(GatewayFacts(id: items[index], at: at, health: .absent))
            }
            return listed
        }.get()
        guard case .value(let all) = listed else { return (listed.map(\.gateways), nil) }
        var gateways: [GatewayFacts] = []
        for var gateway in all.gateways.suffix(GatewayRegistry.maxGateways) {
            let key = self.keyspace.gateway(gateway.id)
            gateway.health = try await self.live.reading(["GET", .text(key)], of: key) { answer in
                answer.bytes.flatMap { GatewayFacts.Health(json: $0) }
            }.get()
            try await complete(gateway.id, &gateway)
            gateways.append(gateway)
        }
        return (.value(gateways.sorted { $0.id < $1.id }), all.isValid ? nil : key)
    }

    /// The count of one job or rider in a gateway's report: absent when the report has expired, 0 when the report does
    /// not list it.
    private func count<Kind>(at key: String, of id: Identifier<Kind>, most: Int) async throws -> Reading<Int> {
        try await self.live.reading(["GET", .text(key)], of: key) { answer -> Int? in
            guard let text = answer.text else { return nil }
            let counts: [Identifier<Kind>: Int]? = GatewayRegistry.counts(text, most: most)
            return counts.map { $0[id] ?? 0 }
        }.get()
    }

    /// Number of subscribed event loops, according to the node of the channel's slot.
    private func subscribers(of channel: String, at client: RedisClient) async throws -> Reading<Int> {
        try await client.reading(["PUBSUB", "SHARDNUMSUB", .text(channel)], of: "PUBSUB SHARDNUMSUB") { answer in
            answer.array?.last?.integer.flatMap { $0.isCount ? Int($0) : nil }
        }.get()
    }

    /// What a session followed.
    private struct Followed: Hashable {
        var session: String
        var job: JobID
    }

    /// What the newest entries of the stream `access` say about a job or a rider.
    private struct Trail {
        /// Sessions that follow a job.
        var sessions: Reading<[SessionFacts]> = .value([])
        /// The entries of sessions that have stopped, newest first.
        var departed: [Followed: [Passage]] = [:]
        /// The time of the oldest entry that was read; `nil` when the whole stream was read.
        var since: Int64?
    }

    /// Reads the newest entries of the stream `access`. The newest entry about a session and a job decides whether the
    /// session follows the job.
    ///
    /// - Parameter expected: the number of sessions that gateways report; the search stops when it has found as many.
    ///   `nil` if unknown.
    private func trail(expected: Int?, _ isMeant: (SessionFacts) -> Bool) async throws -> Trail {
        let key = self.keyspace.stream(.access)
        var (trail, found, decided) = (Trail(), [SessionFacts](), Set<Followed>())
        var end = "+"
        for _ in 0..<self.accessPages {
            let page = try await self.ledger.reading(
                ["XREVRANGE", .text(key), .text(end), "-", "COUNT", .integer(AuditStreams.page)], of: key
            ) { $0.array }.get()
            guard case .value(let entries) = page else {
                if case .absent = page { trail.since = nil } else { trail.sessions = page.map { _ in found } }
                return trail
            }
            let stored = entries.compactMap { AuditStreams.StoredEntry($0) }
            for entry in stored {
                guard let session = SessionFacts(entry), isMeant(session) else { continue }
                let followed = Followed(session: session.session, job: session.job)
                let passage = Passage(
                    gateway: session.gateway, at: session.since, hasLeft: entry.value("type") == "left")
                guard decided.insert(followed).inserted else {
                    trail.departed[followed]?.append(passage)
                    continue
                }
                switch entry.value("type") {
                case "followed" where found.count < Self.maxSessions: found.append(session)
                case "left": trail.departed[followed] = [passage]
                default: break
                }
            }
            trail.sessions = .value(found)
            guard entries.count == AuditStreams.page, let last = stored.last?.id else {
                trail.since = nil
                return trail
            }
            trail.since = String(last.prefix { $0 != "-" }).timestamp
            if let expected, found.count >= expected { break }
            end = "(" + last
        }
        return trail
    }

    /// The tracking links with which sessions of the audit trail were opened.
    func links(opened watching: WatchingFacts) async throws -> [LinkFacts] {
        var ids: [String] = []
        for case let link? in (watching.sessions.value ?? []).map(\.link) where !ids.contains(link) { ids.append(link) }
        var links: [LinkFacts] = []
        for id in ids.prefix(Self.maxLinks) {
            let (key, viewers) = (self.keyspace.link(id), self.keyspace.viewers(ofLink: id))
            let link = try await self.ledger.reading(
                ["HMGET", .text(key), "customer", "viewers", "expires"], of: key
            ) { answer -> LinkFacts.Link? in
                let texts = (answer.array ?? []).compactMap(\.text)
                guard texts.count == 3, let customer = PersonID(texts[0]), let most = texts[1].amount,
                    let expires = texts[2].timestamp
                else { return nil }
                return LinkFacts.Link(customer: customer, mostViewers: most, expiresAt: expires)
            }.get()
            let now = try await self.time()
            let leases = try await self.ledger.reading(
                ["ZRANGE", .text(viewers), .integer(now), "+inf", "BYSCORE"], of: viewers
            ) { $0.array?.count }.get()
            links.append(LinkFacts(id: id, link: link, viewers: leases))
        }
        return links
    }
}

extension WatchingFacts {
    /// Followers are counted although no event loop is subscribed. Either they have just left or joined, or they
    /// receive nothing.
    fileprivate var isContradictory: Bool {
        self.followers > 0 && (self.feedSubscribers.value == 0 || self.eventSubscribers.value == 0)
    }
}

/// A session started to follow a job, or left it.
private struct Passage {
    var gateway: String
    /// By the gateway's clock, ms since the epoch.
    var at: Int64
    var hasLeft: Bool
}

extension GatewayFacts {
    /// The facts with the sessions that have left since the report. Both times are by the gateway's clock. A session that
    /// started to follow after the report is not counted in it.
    fileprivate func without(_ sessions: some Sequence<[Passage]>) -> GatewayFacts {
        var facts = self
        facts.departed = sessions.count { passages in
            let name = self.health.value?.name
            return passages.last { $0.gateway == name && $0.at > self.at }?.hasLeft == true
        }
        return facts
    }
}

extension SessionFacts {
    fileprivate init?(_ entry: AuditStreams.StoredEntry) {
        guard let job = entry.value("job").flatMap({ JobID($0) }),
            let person = entry.value("person").flatMap({ PersonID($0) }), let role = entry.value("role"), role.isNonce,
            let via = entry.value("via"), via.isNonce, let session = entry.value("session"), session.isNonce,
            let since = entry.value("at")?.timestamp
        else { return nil }
        let link = entry.value("link").flatMap { $0.isEmpty ? nil : $0 }
        guard link.map({ RevocationSubject(.link, id: $0) != nil }) != false else { return nil }
        let gateway = entry.value("gateway") ?? ""
        self.init(
            job: job, person: person, role: role, via: via, link: link, session: session,
            gateway: gateway.isPrintable ? gateway : "?", since: since)
    }
}

extension GatewayFacts.Health {
    /// - Returns: `nil` if it is not a health report. Unknown members are ignored.
    fileprivate init?(json bytes: [UInt8]) {
        let members = bytes.withUnsafeBytes { bytes -> (String, String)? in
            var reader = JSONReader(bytes)
            var (name, state) = (String?.none, String?.none)
            do throws(BadMessage) {
                try reader.object { (member, reader) throws(BadMessage) in
                    switch String(decoding: member, as: UTF8.self) {
                    case "name": name = try reader.string()
                    case "state": state = try reader.string()
                    default: try reader.value()
                    }
                }
                try reader.end()
            } catch {
                return nil
            }
            guard let name, name.isPrintable, let state, state.isNonce else { return nil }
            return (name, state)
        }
        guard let members else { return nil }
        self.init(name: members.0, state: members.1)
    }
}

extension String {
    /// A name that can be shown on a terminal.
    fileprivate var isPrintable: Bool {
        (1...255).contains(self.utf8.count) && self.utf8.allSatisfy { $0 >= 32 && $0 < 127 }
    }
}
