// What Redis knows about a rider, and ids that resemble an unknown one.

package import EnrouteWire
internal import NIOCore
internal import Redis

extension FactsCollector {
    package func facts(of rider: PersonID) async throws -> RiderFacts {
        var facts = RiderFacts(rider: rider, now: try await self.time())
        let home = self.keyspace.home(of: rider)
        facts.zone = try await self.zone(of: rider)
        facts.watching = try await self.watching(rider: rider)
        facts.revocations = try await self.revocations(job: nil, people: [rider], links: [])
        facts.ledgerKeys = try await self.location(
            of: facts.zone.value.map { self.keyspace.rider(rider, in: $0) } ?? home, at: self.ledger)
        if let zone = facts.zone.value {
            facts.record = try await self.riderRecord(rider, in: zone, now: facts.now)
            facts.nextCheck = try await self.score(of: rider, at: self.keyspace.due(in: zone))
            facts.isInPool = try await self.score(of: rider, at: self.keyspace.available(in: zone)).map { _ in true }
            facts.changes = try await self.entries(of: self.keyspace.changeLog(of: zone)) {
                $0.value("rider") == rider.text
            }.get()
            facts.isJoining = try await self.isJoining(rider, in: zone)
        }
        if facts.isJoining.value == true { facts.listed = try await self.newestJobs(of: rider) }
        let tasks = facts.record.value?.tasks ?? [:]
        for (job, state) in tasks.sorted(by: { $0.key.text < $1.key.text }).prefix(RiderFacts.maxJobs) {
            facts.jobs.append(
                RiderFacts.TaskFacts(
                    job: job, state: state, record: try await self.record(of: job).get(),
                    travel: try await self.travel(of: job).get()))
        }
        // Jobs without a task in the zone, such as service visits of riders that have no zone, and open jobs from before
        // the rider entered the zone.
        let followed = Set((facts.watching.sessions.value ?? []).map(\.job))
        let others = followed.union(facts.listed.value ?? []).subtracting(tasks.keys)
        for job in others.sorted(by: { $0.text < $1.text }).prefix(RiderFacts.maxJobs - facts.jobs.count) {
            let record = try await self.record(of: job).get()
            guard record.value?.rider == rider, followed.contains(job) || record.value?.status.end == nil else {
                continue
            }
            facts.jobs.append(
                RiderFacts.TaskFacts(
                    job: job, state: nil, record: record, travel: try await self.travel(of: job).get()))
        }
        return facts
    }

    func zone(of rider: PersonID) async throws -> Reading<ZoneID> {
        let key = self.keyspace.home(of: rider)
        return try await self.ledger.reading(["GET", .text(key)], of: key) { $0.text.flatMap { ZoneID($0) } }.get()
    }

    /// Whether a rider is offline in the zone, and the jobs from before they entered it are not tasks yet.
    func isJoining(_ rider: PersonID, in zone: ZoneID) async throws -> Reading<Bool> {
        let key = self.keyspace.rider(rider, in: zone)
        return try await self.ledger.reading(["HMGET", .text(key), "status", "joined"], of: key) { answer in
            (answer.array ?? []).map(\.text) == [Availability.offline.rawValue, nil]
        }.get()
    }

    private func newestJobs(of rider: PersonID) async throws -> Reading<[JobID]> {
        let key = self.keyspace.jobs(ofRider: rider)
        return try await self.ledger.reading(
            ["ZRANGE", .text(key), 0, .integer(RiderFacts.maxJobs - 1), "REV"], of: key
        ) { answer in
            let names = answer.array ?? []
            let jobs = names.compactMap { $0.text.flatMap { JobID($0) } }
            return jobs.count == names.count ? jobs : nil
        }.get()
    }

    /// As rider_snapshot reads it, without a script.
    private func riderRecord(_ rider: PersonID, in zone: ZoneID, now: Int64) async throws -> Reading<RiderRecord> {
        let (key, tasksKey) = (self.keyspace.rider(rider, in: zone), self.keyspace.tasks(of: rider, in: zone))
        let tasks = try await self.ledger.reading(["HGETALL", .text(tasksKey)], of: tasksKey) { answer -> [String]? in
            let texts = (answer.array ?? []).map { $0.text ?? "" }
            let isValid = texts.indices.allSatisfy { index in
                index.isMultiple(of: 2) ? JobID(texts[index]) != nil : TaskState(rawValue: texts[index]) != nil
            }
            return isValid ? texts : nil
        }.get()
        let timeout = self.settings.heartbeatTimeout.milliseconds
        switch tasks {
        case .malformed(let key): return .malformed(key: key)
        case .failed(let error): return .failed(error)
        case .value, .absent: break
        }
        return try await self.ledger.reading(
            [
                "HMGET", .text(key), "status", "reachable", "approved", "capacity", "heartbeat", "device", "version",
                "status_at", "reason",
            ], of: key
        ) { answer in
            var state = (answer.array ?? []).map { $0.text ?? "" }
            guard state.count == 9, let heartbeat = state[4].isEmpty ? 0 : state[4].timestamp else { return nil }
            if now >= heartbeat + timeout { state[1] = "0" }
            return RiderRecord(state, tasks: tasks.value ?? [])
        }.get()
    }

    private func score(of rider: PersonID, at key: String) async throws -> Reading<Double> {
        try await self.ledger.reading(["ZSCORE", .text(key), .text(rider.text)], of: key) { answer in
            answer.text.flatMap { Double($0) }.flatMap { $0.isNaN ? nil : $0 }
        }.get()
    }

    // MARK: similar ids

    /// Maximum number of zones, and of ids per zone, that are compared with a misspelled id.
    private static let comparedZones = 50
    private static let comparedIDs = 1_000

    /// Ids of open jobs: of each zone, those that changed last.
    package func openJobs() async throws -> [String] {
        try await self.members(zones: ["ZRANGE", .text(self.keyspace.zonesOfJobs), "0", .integer(Self.comparedZones)]) {
            self.keyspace.jobs(in: $0)
        }
    }

    /// Ids of riders that are online.
    package func onlineRiders() async throws -> [String] {
        try await self.members(zones: ["SMEMBERS", .text(self.keyspace.zones)]) { self.keyspace.due(in: $0) }
    }

    private func members(zones: RedisCommand, _ key: (ZoneID) -> String) async throws -> [String] {
        let names = try await self.ledger.reading(zones, of: "zones") { answer in
            answer.array?.compactMap { $0.text.flatMap { ZoneID($0) } }
        }.get()
        var members: [String] = []
        for zone in (names.value ?? []).prefix(Self.comparedZones) {
            let key = key(zone)
            let ids = try await self.ledger.reading(
                ["ZRANGE", .text(key), "0", .integer(Self.comparedIDs - 1), "REV"], of: key
            ) { $0.array?.compactMap { $0.text.flatMap { JobID($0)?.text } } }.get()
            members += ids.value ?? []
        }
        return members
    }

    /// Whether a rider with this id is registered.
    package func isRider(_ id: String) async throws -> Bool {
        guard let rider = PersonID(id) else { return false }
        let key = self.keyspace.home(of: rider)
        return try await self.ledger.reading(["GET", .text(key)], of: key) { $0.text }.get().value != nil
    }

    /// Whether a job with this id exists.
    package func isJob(_ id: String) async throws -> Bool {
        guard let job = JobID(id) else { return false }
        return try await self.record(of: job).get().value != nil
    }
}
