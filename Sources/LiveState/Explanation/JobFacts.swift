// What Redis stores about one job, read for an explanation. Values only; Jobs/Explanation draws the conclusions.

package import EnrouteWire
package import Redis

/// The facts about one job at one moment.
package struct JobFacts: Sendable {
    package var job: JobID
    /// ms since the epoch, by the clock of Redis if at least one instance answers.
    package var now: Int64
    // From the ledger.
    package var record: Reading<JobRecord> = .absent
    package var log: Reading<[StatusLogEntry]> = .absent
    package var assignedAt: Reading<Int64> = .absent
    /// The zone of the rider, if the job is open.
    package var riderZone: Reading<ZoneID> = .absent
    /// Whether the job becomes a task only when the rider goes online in that zone.
    package var isRiderJoining: Reading<Bool> = .absent
    /// Entries of the stream `audit` about the job, newest first: what was erased, suggested or stopped.
    package var conclusions: Reading<[AuditStreams.StoredEntry]> = .absent
    package var links: [LinkFacts] = []
    package var revocations = RevocationFacts()
    // From the live instance.
    package var travel: Reading<JobFeed.Travel> = .absent
    package var position: Reading<PositionFacts> = .absent
    package var estimate: Reading<ETAStore.StoredEstimate> = .absent
    package var isEstimateLeased: Reading<Bool> = .absent
    package var verdicts: Reading<StoredVerdicts> = .absent
    package var stopsBefore: Reading<[JobID]> = .absent
    // From both.
    package var watching = WatchingFacts()
    package var liveKeys = KeyFacts()
    package var ledgerKeys = KeyFacts()

    package init(job: JobID, now: Int64) { (self.job, self.now) = (job, now) }

    /// All keys whose content is malformed.
    package var malformed: [MalformedKey] {
        let ofLedger =
            [
                self.record.malformedKey, self.log.malformedKey, self.assignedAt.malformedKey,
                self.riderZone.malformedKey, self.isRiderJoining.malformedKey,
                self.conclusions.malformedKey, self.revocations.malformedKey, self.watching.sessions.malformedKey,
            ] + self.links.flatMap { [$0.link.malformedKey, $0.viewers.malformedKey] }
        let ofLive =
            [
                self.travel.malformedKey, self.position.malformedKey, self.estimate.malformedKey,
                self.isEstimateLeased.malformedKey, self.verdicts.malformedKey, self.stopsBefore.malformedKey,
            ] + self.watching.malformedKeys
        return MalformedKey.list(ledger: ofLedger, live: ofLive)
    }

    /// Why facts are missing.
    package var failures: [RoleFailure] {
        RoleFailure.list(
            ledger: [
                self.record.error, self.log.error, self.assignedAt.error, self.riderZone.error,
                self.isRiderJoining.error, self.conclusions.error,
                self.revocations.error, self.watching.sessions.error, self.watching.eventSubscribers.error,
                self.ledgerKeys.error,
            ] + self.links.flatMap { [$0.link.error, $0.viewers.error] },
            live: [
                self.travel.error, self.position.error, self.estimate.error, self.isEstimateLeased.error,
                self.verdicts.error, self.stopsBefore.error, self.watching.feedSubscribers.error, self.liveKeys.error,
            ] + self.watching.errorsOfGateways)
    }
}

/// Why something could not be read.
package struct RoleFailure: Sendable, Equatable {
    package var role: RedisRole
    package var error: RedisError

    /// Without repetitions, in order.
    static func list(ledger: [RedisError?], live: [RedisError?]) -> [RoleFailure] {
        let all =
            ledger.compactMap { $0 }.map { RoleFailure(role: .ledger, error: $0) }
            + live.compactMap { $0 }.map { RoleFailure(role: .live, error: $0) }
        return all.reduce(into: []) { list, one in if !list.contains(one) { list.append(one) } }
    }
}

/// A key whose content is not what Enroute writes there.
package struct MalformedKey: Sendable, Hashable, Encodable {
    package var role: RedisRole
    package var key: String

    /// Without repetitions, in order.
    static func list(ledger: [String?], live: [String?]) -> [MalformedKey] {
        let all =
            ledger.compactMap { $0 }.map { MalformedKey(role: .ledger, key: $0) }
            + live.compactMap { $0 }.map { MalformedKey(role: .live, key: $0) }
        return all.reduce(into: []) { list, one in if !list.contains(one) { list.append(one) } }
    }
}

/// The stored position. The coordinates are included only if the reader may see them.
package struct PositionFacts: Sendable, Hashable {
    /// When Redis stored it, ms since the epoch.
    package var storedAt: Int64
    /// The message as it was published.
    package var message: [UInt8]

    package init(storedAt: Int64, message: [UInt8]) { (self.storedAt, self.message) = (storedAt, message) }
}

extension PositionFacts: CustomReflectable {
    /// Omits the bytes, because logs must not reveal where someone is.
    package var customMirror: Mirror { Mirror(self, children: ["storedAt": self.storedAt], displayStyle: .struct) }
}

/// A tracking link that somebody has opened.
package struct LinkFacts: Sendable {
    package var id: String
    package var link: Reading<Link>
    /// Number of viewer leases that are valid.
    package var viewers: Reading<Int>

    package struct Link: Sendable, Hashable {
        package var customer: PersonID
        package var mostViewers: Int
        /// ms since the epoch
        package var expiresAt: Int64

        package init(customer: PersonID, mostViewers: Int, expiresAt: Int64) {
            (self.customer, self.mostViewers, self.expiresAt) = (customer, mostViewers, expiresAt)
        }
    }

    package init(id: String, link: Reading<Link>, viewers: Reading<Int>) {
        (self.id, self.link, self.viewers) = (id, link, viewers)
    }
}

/// When the job, its people and its links were revoked, ms since the epoch.
package struct RevocationFacts: Sendable {
    package var job: Int64?
    package var people: [PersonID: Int64] = [:]
    package var links: [String: Int64] = [:]
    /// Why the revocations could not be read.
    package var error: RedisError?
    package var malformedKey: String?

    package init() {}
}

/// Who follows the job, as far as Redis knows: from the gateways' reports every few seconds, from subscriptions, and
/// from the audit trail.
package struct WatchingFacts: Sendable {
    package var gateways: Reading<[GatewayFacts]> = .absent
    /// The list of gateways, if some of its entries are malformed.
    package var malformedRegistry: String?
    /// Sessions that have started to follow and not stopped, newest first.
    package var sessions: Reading<[SessionFacts]> = .absent
    /// The time of the oldest entry that was read; `nil` when the whole stream was read.
    package var sessionsSince: Int64?
    /// Number of event loops subscribed to the job's channels.
    package var feedSubscribers: Reading<Int> = .absent
    package var eventSubscribers: Reading<Int> = .absent

    package init() {}

    /// Followers of the job at all gateways together.
    package var followers: Int { (self.gateways.value ?? []).reduce(0) { $0 + $1.currentFollowers } }

    /// Whether sessions may be missing, because something could not be read.
    package var isIncomplete: Bool { (self.errorsOfGateways + [self.sessions.error]).contains { $0 != nil } }

    var errorsOfGateways: [RedisError?] {
        [self.gateways.error]
            + (self.gateways.value ?? []).flatMap { [$0.health.error, $0.followers.error, $0.riderSessions.error] }
    }

    var malformedKeys: [String?] {
        [self.gateways.malformedKey, self.malformedRegistry]
            + (self.gateways.value ?? []).flatMap {
                [$0.health.malformedKey, $0.followers.malformedKey, $0.riderSessions.malformedKey]
            }
    }
}

/// One gateway's last report.
package struct GatewayFacts: Sendable {
    package var id: String
    /// When it last reported, ms since the epoch.
    package var at: Int64
    package var health: Reading<Health>
    /// Followers of the job at this gateway, in the report.
    package var followers: Reading<Int>
    /// How many of them have left since the report, according to the audit trail.
    package var departed = 0
    /// Sessions of the rider at this gateway.
    package var riderSessions: Reading<Int>

    /// The part of a health report that an explanation uses.
    package struct Health: Sendable, Hashable {
        package var name: String
        package var state: String

        package init(name: String, state: String) { (self.name, self.state) = (name, state) }
    }

    package init(
        id: String, at: Int64, health: Reading<Health>, followers: Reading<Int> = .absent,
        riderSessions: Reading<Int> = .absent
    ) {
        (self.id, self.at, self.health) = (id, at, health)
        (self.followers, self.riderSessions) = (followers, riderSessions)
    }

    package var currentFollowers: Int { max(0, (self.followers.value ?? 0) - self.departed) }
}

/// A session in the audit trail.
package struct SessionFacts: Sendable, Hashable {
    package var job: JobID
    package var person: PersonID
    package var role: String
    package var via: String
    package var link: String?
    package var session: String
    /// The name of its gateway.
    package var gateway: String
    /// Since when it follows, ms since the epoch.
    package var since: Int64

    package init(
        job: JobID, person: PersonID, role: String, via: String, link: String? = nil, session: String, gateway: String,
        since: Int64
    ) {
        (self.job, self.person, self.role, self.via, self.link) = (job, person, role, via, link)
        (self.session, self.gateway, self.since) = (session, gateway, since)
    }
}

/// Where keys are.
package struct KeyFacts: Sendable, Equatable {
    /// Only in a cluster.
    package var slot: Int?
    /// Host and port of the master; `nil` when it is unknown.
    package var master: String?
    package var replicas: [String] = []
    /// How the master was found.
    package var isCluster = false
    package var isSentinel = false
    /// Why the master is unknown.
    package var error: RedisError?

    package init() {}
}
