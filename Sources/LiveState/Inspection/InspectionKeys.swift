// Which role's keys a Redis holds. This detects swapped URLs before someone applies a remedy, because a remedy for one
// role would delete the data of the other. A few hundred key names are examined; if the user may not SCAN, the keys
// with fixed names. No value is read.

package import NIOCore
package import Redis

/// Determines roles from the names of keys.
package struct RoleDetector: Sendable {
    private let keyspace: Keyspace

    /// Limits of the scan: number of SCAN calls, and keys per call.
    private static let steps = 10
    private static let keysInStep = 200

    package init(keyspace: Keyspace) { self.keyspace = keyspace }

    /// Examines the names of some keys.
    ///
    /// - Returns: the roles whose keys were found; empty when there are no keys, or when neither command is allowed.
    package func roles(at client: RedisClient) -> EventLoopFuture<Set<RedisRole>> {
        self.scan(client, from: "0", left: Self.steps, found: []).flatMapError { error in
            guard case RedisError.refused = error else { return client.eventLoop.makeFailedFuture(error) }
            return self.fixedNames(client)
        }
    }

    private func scan(
        _ client: RedisClient, from cursor: String, left: Int, found: Set<RedisRole>
    ) -> EventLoopFuture<Set<RedisRole>> {
        client.send([
            "SCAN", .text(cursor), "MATCH", .text(self.keyspace.everyKey), "COUNT", .integer(Int64(Self.keysInStep)),
        ]).flatMap { answer in
            let parts = answer.array ?? []
            let names = parts.last?.array?.compactMap(\.text) ?? []
            let all = found.union(names.compactMap { self.keyspace.role(ofKey: $0) })
            guard left > 1, let next = parts.first?.text, next != "0", all.count < RedisRole.allCases.count else {
                return client.eventLoop.makeSucceededFuture(all)
            }
            return self.scan(client, from: next, left: left - 1, found: all)
        }
    }

    private func fixedNames(_ client: RedisClient) -> EventLoopFuture<Set<RedisRole>> {
        let questions: [(RedisRole, RedisCommand)] = [
            (.ledger, ["XLEN", .text(self.keyspace.control)]),
            (.ledger, ["XLEN", .text(self.keyspace.stream(.access))]),
            (.ledger, ["XLEN", .text(self.keyspace.stream(.audit))]),
            (.ledger, ["ZCARD", .text(self.keyspace.zonesOfJobs)]),
            (.live, ["ZRANGEBYSCORE", .text(self.keyspace.gateways), "-inf", "+inf", "LIMIT", "0", "1"]),
        ]
        let answers = questions.map { role, command in
            client.send(command).map { answer -> RedisRole? in
                (answer.integer ?? Int64(answer.array?.count ?? 0)) > 0 ? role : nil
            }.flatMapErrorThrowing { error in
                guard case RedisError.refused = error else { throw error }
                return nil
            }
        }
        return EventLoopFuture.whenAllSucceed(answers, on: client.eventLoop).map { Set($0.compactMap { $0 }) }
    }
}

extension Keyspace {
    /// The role to which a key belongs; `nil` for a name that is not Enroute's.
    package func role(ofKey key: String) -> RedisRole? {
        switch self.kind(of: key) {
        case .travel, .position, .eta, .etaLease, .stopsBefore, .etaBudget, .verdicts, .push, .feed, .ticket, .signIn,
            .places,
            .placesSeen, .gateways, .gateway, .followed, .ridersConnected:
            .live
        case .job, .log, .events, .link, .viewers, .rider, .tasks, .request, .idempotency, .home, .moving, .zones,
            .available, .due, .taskOwners, .changeLog, .changes, .jobs, .zonesOfJobs, .jobLinks, .riderJobs,
            .customerJobs, .stream, .control, .eventStream, .outbox, .webhooks, .webhook:
            .ledger
        case .other: nil
        }
    }
}

extension RedisFacts {
    /// The instance that is configured as live holds the ledger's data, so nothing in it may be deleted.
    var holdsJobs: Bool { self.role == .live && self.keys.contains(.ledger) }
}

/// Whether the two URLs were swapped, judged by the keys of both instances or, when both are empty, by their settings.
///
/// - Returns: `nil` when nothing suggests it.
package func swapFinding(_ live: RedisFacts, _ ledger: RedisFacts) -> Finding? {
    guard !live.isOne(with: ledger) else { return nil }
    let evidence: String
    if live.keys == [.ledger], !ledger.keys.contains(.ledger) {
        evidence = "the instance configured as live holds jobs"
    } else if ledger.keys == [.live], !live.keys.contains(.live) {
        evidence = "the instance configured as the ledger holds positions"
    } else if live.keys.isEmpty, ledger.keys.isEmpty, live.appends == true, ledger.appends == false,
        live.evictionPolicy == "noeviction", ledger.evictionPolicy?.hasPrefix("volatile") == true
    {
        evidence =
            "the instance configured as live persists and never evicts, and the other one does not persist and evicts"
    } else {
        return nil
    }
    return Finding(
        .error, .live, .swapped, what: "The live URL and the ledger URL look swapped: \(evidence).",
        why: "The two roles need opposite settings, so a remedy for one role would delete the data of the other.",
        remedy:
            "swap \(RedisURLSetting.live) and \(RedisURLSetting.ledger) (and the admin URLs); change nothing in Redis"
    )
}

extension [Finding] {
    /// Findings that do not depend on the configured role, which is wrong when the URLs are swapped.
    package func withoutRoles() -> [Finding] {
        let lasting: Set<Finding.Subject> = [.connection, .version, .master, .clock, .encryption]
        return self.filter { lasting.contains($0.subject) }
    }
}
