// Collects what Redis knows about a job or a rider. It only reads, with commands that both users `enroute` and
// `operations` of deploy/redis may use. It never fails: data that cannot be read is a fact too. It needs no running
// gateway.

package import Access
package import EnrouteWire
internal import NIOCore
package import Redis

/// Reads the facts for explanations. Safe to use from any thread.
package struct FactsCollector: Sendable {
    let live: RedisClient
    let ledger: RedisClient
    let settings: LiveStateSettings
    var keyspace: Keyspace { self.settings.keyspace }
    /// Maximum number of pages of the stream `access` that are read.
    let accessPages: Int
    /// The revocations that a gateway knows; `nil` to read the stream.
    let revocationTime: (@Sendable (RevocationSubject) -> Int64?)?
    /// This machine's clock, ms since the epoch. Used when neither Redis answers.
    let now: @Sendable () -> Int64
    /// Time between two reads of subscriptions and the audit trail: two ticks of an event loop by default.
    let rereadDelay: Duration

    /// Pages of the stream `access` that a gateway reads for a request.
    package static let pagesOfRequest = 5
    package static let pagesOfCommand = 20
    /// Maximum number of times that the subscriptions and the audit trail are read again because they contradict the
    /// gateways' reports, which are older.
    static let maxRereads = 3
    /// Maximum number of entries about one job or rider that are shown.
    static let maxEntries = 3
    /// Maximum number of tracking links that are read.
    static let maxLinks = 20
    /// Maximum number of sessions that are listed.
    package static let maxSessions = 100

    package init(
        live: RedisClient, ledger: RedisClient, settings: LiveStateSettings, accessPages: Int,
        revocationTime: (@Sendable (RevocationSubject) -> Int64?)? = nil,
        rereadDelay: Duration = .milliseconds(200), now: @escaping @Sendable () -> Int64
    ) {
        (self.live, self.ledger, self.settings) = (live, ledger, settings)
        (self.accessPages, self.revocationTime, self.now) = (accessPages, revocationTime, now)
        self.rereadDelay = rereadDelay
    }

    // MARK: a job

    package func facts(of job: JobID) async throws -> JobFacts {
        var facts = JobFacts(job: job, now: try await self.time())
        facts.record = try await self.record(of: job).get()
        let logKey = self.keyspace.log(of: job)
        facts.log = try await self.ledger.reading(["XRANGE", .text(logKey), "-", "+"], of: logKey) { answer in
            let entries = answer.array ?? []
            let log = entries.compactMap { StatusLogEntry($0) }
            return log.count == entries.count ? log : nil
        }.get()
        let key = self.keyspace.job(job)
        facts.assignedAt = try await self.ledger.reading(["HMGET", .text(key), "assigned_at"], of: key) {
            $0.array?.first?.text?.timestamp
        }.get()
        if let rider = facts.record.value?.rider, facts.record.value?.status.end == nil {
            facts.riderZone = try await self.zone(of: rider)
            if let zone = facts.riderZone.value {
                facts.isRiderJoining = try await self.isJoining(rider, in: zone)
            }
        }
        facts.conclusions = try await self.conclusions(about: job)
        try await self.readLive(&facts)
        facts.watching = try await self.watching(job)
        let links = try await self.links(opened: facts.watching)
        facts.links = links
        var people = [facts.record.value?.customer, facts.record.value?.rider].compactMap { $0 }
        people += (facts.watching.sessions.value ?? []).map(\.person)
        facts.revocations = try await self.revocations(job: job, people: Set(people), links: links.map(\.id))
        facts.liveKeys = try await self.location(of: self.keyspace.travel(of: job), at: self.live)
        facts.ledgerKeys = try await self.location(of: key, at: self.ledger)
        return facts
    }

    private func readLive(_ facts: inout JobFacts) async throws {
        let job = facts.job
        facts.travel = try await self.travel(of: job).get()
        facts.position = try await self.value(at: self.keyspace.position(of: job)) { bytes in
            bytes.withUnsafeBytes { PublishedLocation.read($0, of: job) }.map {
                PositionFacts(storedAt: Int64($0.id / 1000), message: bytes)
            }
        }
        facts.estimate = try await self.value(at: self.keyspace.eta(of: job)) { ETAStore.StoredEstimate($0, of: job) }
        facts.isEstimateLeased = try await self.value(at: self.keyspace.etaLease(of: job)) { _ in true }
        facts.stopsBefore = try await self.value(at: self.keyspace.stopsBefore(job)) { bytes in
            let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            let stops = parts.compactMap { JobID(String($0)) }
            return stops.count == parts.count && stops.count <= StopSequenceStore.maxStops ? stops : nil
        }
        let key = self.keyspace.verdicts(of: job)
        facts.verdicts = try await self.live.reading(["HGETALL", .text(key)], of: key) { answer in
            let stored = StoredVerdicts(answer)
            return stored.isValid ? stored : nil
        }.get()
    }

    private func value<Value: Sendable>(
        at key: String, _ parse: @escaping @Sendable ([UInt8]) -> Value?
    ) async throws -> Reading<Value> {
        try await self.live.reading(["GET", .text(key)], of: key) { $0.bytes.flatMap(parse) }.get()
    }

    func travel(of job: JobID) -> EventLoopFuture<Reading<JobFeed.Travel>> {
        let key = self.keyspace.travel(of: job)
        return self.live.reading(["GET", .text(key)], of: key, JobFeed.Travel.init)
    }

    /// Without recover_job, so that a user without EVAL can read it.
    func record(of job: JobID) -> EventLoopFuture<Reading<JobRecord>> {
        let key = self.keyspace.job(job)
        return self.ledger.reading(
            JobRecord.query(JobRecord.briefFields, of: key), of: key, isAbsent: JobRecord.isMissing
        ) { JobRecord(answer: $0) }
    }

    private func conclusions(about job: JobID) async throws -> Reading<[AuditStreams.StoredEntry]> {
        let key = self.keyspace.stream(.audit)
        return try await self.entries(of: key) { $0.value("job") == job.text }.get()
    }

    /// The newest entries of a stream that match, in its last page.
    func entries(
        of key: String, _ isMeant: @escaping @Sendable (AuditStreams.StoredEntry) -> Bool
    ) -> EventLoopFuture<Reading<[AuditStreams.StoredEntry]>> {
        self.ledger.reading(
            ["XREVRANGE", .text(key), "+", "-", "COUNT", .integer(AuditStreams.page)], of: key
        ) { answer in
            // A malformed entry of another job does not matter here.
            let entries = (answer.array ?? []).compactMap { AuditStreams.StoredEntry($0) }
            return Array(entries.lazy.filter(isMeant).prefix(Self.maxEntries))
        }
    }

    // MARK: both

    /// The clock of the live instance, or of the ledger; this machine's if neither answers.
    func time() async throws -> Int64 {
        for client in [self.live, self.ledger] {
            let time = try await client.reading(["TIME"], of: "TIME") { answer -> Int64? in
                let parts = answer.array?.compactMap { $0.text.flatMap { Int64($0) } } ?? []
                guard parts.count == 2, parts[0].isSecond, (0..<1_000_000).contains(parts[1]) else { return nil }
                return parts[0] * 1000 + parts[1] / 1000
            }.get()
            if let time = time.value { return time }
        }
        return self.now()
    }

    /// Finds the slot of a key, its master and its replicas.
    func location(of key: String, at client: RedisClient) async throws -> KeyFacts {
        var facts = KeyFacts()
        switch client.endpoint {
        case .cluster:
            facts.isCluster = true
            let slot = HashSlot.of(key)
            facts.slot = slot
            let nodes = try await client.reading(["CLUSTER", "SLOTS"], of: "CLUSTER SLOTS") { Self.nodes(of: slot, $0) }
                .get()
            facts.error = nodes.error
            facts.master = nodes.value?.first
            facts.replicas = Array((nodes.value ?? []).dropFirst())
        case .sentinels, .tcp, .unix:
            if case .sentinels = client.endpoint { facts.isSentinel = true }
            let replicas = try await client.reading(["ROLE"], of: "ROLE") { answer -> [String]? in
                guard let parts = answer.array, parts.count == 3, parts[0].text == "master" else { return nil }
                return (parts[2].array ?? []).compactMap { replica in
                    guard let address = replica.array, address.count >= 2 else { return nil }
                    return Self.node(address)
                }
            }.get()
            facts.error = replicas.error
            facts.replicas = replicas.value ?? []
            guard facts.error == nil else { break }
            facts.master = try? await client.master(ofKey: key).map(\.description).get()
        }
        return facts
    }

    /// The master of a slot and its replicas, from the reply to CLUSTER SLOTS.
    private static func nodes(of slot: Int, _ answer: RESPValue) -> [String]? {
        for range in answer.array ?? [] {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].integer, let last = parts[1].integer
            else { return nil }
            guard first <= Int64(slot), Int64(slot) <= last else { continue }
            return parts.dropFirst(2).compactMap { $0.array }.compactMap { Self.node($0) }
        }
        return nil
    }

    private static func node(_ parts: [RESPValue]) -> String? {
        guard parts.count >= 2, let host = parts[0].text, host.utf8.count <= 253,
            host.utf8.allSatisfy({ $0 > 32 && $0 < 127 })
        else { return nil }
        // ROLE has ports as text, CLUSTER SLOTS as numbers.
        guard let port = parts[1].integer ?? parts[1].text.flatMap({ Int64($0) }), (1...65_535).contains(port) else {
            return nil
        }
        return "\(host.isEmpty ? "?" : host):\(port)"
    }
}
