// Opaque links for following one job without an account. Redis never stores a usable link: its id is the first half of
// the secret's digest. Links are stored in the ledger, so they survive a restart of the live instance. A link allows a
// limited number of viewers. Each session holds a lease and renews it, so the leases of a gateway that dies expire.

package import EnrouteWire
package import NIOCore
package import Redis

/// Tracking links in the ledger. Safe to use from any thread.
package struct TrackingLinks: Sendable {
    private let ledger: RedisClient
    private let writes: RedisClient
    private let keyspace: Keyspace

    /// Length of a secret and of an id: 128 bits in hexadecimal.
    package static let length = Secret.length
    /// Maximum validity of a link, and its default.
    package static let maxLifetime = Duration.seconds(4 * 3600)
    /// Sessions that may use one link at the same time.
    package static let viewers = 1...100
    package static let defaultViewers = 5
    /// How long a viewer lease is valid after it was acquired or renewed.
    package static let leaseDuration = Duration.seconds(150)
    /// The pause before a lease is released again, after Redis was unavailable.
    private static let releasePause = TimeAmount.seconds(1)
    /// A listed link is written within this time, or never.
    private static let writingTime = Duration.seconds(60)

    /// A link that was just created.
    package struct Issued: Sendable, Hashable {
        /// The secret part of the link, which is stored nowhere.
        package var secret: String
        /// The id under which the link is stored.
        package var id: String
        /// ms since the epoch
        package var expiresAt: Int64
    }

    /// The job that a link shows.
    package struct Content: Sendable, Hashable {
        package var job: JobID
        /// The job's customer when the link was created.
        package var customer: PersonID
        /// ms since the epoch
        package var expiresAt: Int64
    }

    /// The result of requesting a viewer lease.
    package enum JoinResult: Sendable, Hashable {
        /// `of`: the job's customer when the link was created. `expiresAt`: of the link, ms since the epoch.
        case leased(JobID, of: PersonID, expiresAt: Int64)
        case noSuchLink
        case full
    }

    /// - Parameter writes: the client for changes that replicas should confirm; `nil` to use `ledger`.
    package init(ledger: RedisClient, writes: RedisClient? = nil, settings: LiveStateSettings) {
        self.ledger = ledger
        self.writes = writes ?? ledger
        self.keyspace = settings.keyspace
    }

    /// The event loop of the client that reads.
    var eventLoop: any EventLoop { self.ledger.eventLoop }

    /// The id of the link that a secret belongs to; `nil` when the text cannot be a secret.
    package static func id(of secret: String) -> String? {
        guard Secret.isValid(secret) else { return nil }
        return Secret.name(of: secret)
    }

    /// The job of a new link does not exist, or has another customer.
    package struct NoSuchJob: Error {}

    /// Creates a link for a job.
    ///
    /// - Parameters:
    ///   - customer: the job's customer. The link is void once the job has another.
    ///   - viewers: one of `viewers`.
    ///   - lifetime: at most `maxLifetime`.
    ///   - actor: who creates it.
    /// - Returns: the link, and how many replicas confirmed it.
    /// - Throws: (in the future) `NoSuchJob`, also if the job is erased meanwhile.
    package func issueDurably(
        for job: JobID, of customer: PersonID, viewers: Int = Self.defaultViewers,
        lifetime: Duration = Self.maxLifetime, by actor: PersonID
    ) -> EventLoopFuture<Durable<Issued>> {
        let secret = Secret.make()
        guard let id = Self.id(of: secret) else { preconditionFailure("a generated secret is not valid") }
        // Listed first, so that an erasure of the job finds every link, even one that is written a moment later.
        return self.list(id, of: job, customer, lifetime).flatMap {
            self.issue(id, secret, job, customer, viewers, lifetime, actor)
        }
    }

    /// Adds a link to the list of its job. The list is in another slot than the link. If the job has too many links,
    /// those that expire first are deleted.
    private func list(
        _ id: String, of job: JobID, _ customer: PersonID, _ lifetime: Duration
    ) -> EventLoopFuture<Void> {
        self.writes.evaluate(
            Scripts.listLink, keys: [self.keyspace.job(job), self.keyspace.links(of: job)],
            arguments: [.text(id), .text(customer.text), .integer(lifetime.milliseconds)]
        ).flatMapThrowing { answer in
            let parts = answer.array ?? []
            switch (parts.first?.integer, parts.last?.integer) {
            case (1, let count?): if count > JobLedger.maxListedLinks { self.dropSurplus(of: job, except: id) }
            case (0, _): throw NoSuchJob()
            default: throw RedisError.unexpectedAnswer(command: Scripts.listLink.name)
            }
        }
    }

    /// Deletes the links beyond the maximum of a job. Each link is deleted before its entry in the list: as long as a
    /// link works, an erasure of the job finds it.
    private func dropSurplus(of job: JobID, except new: String) {
        let key = RedisCommand.Word.text(self.keyspace.links(of: job))
        // One more than the surplus, because the new link may be among them and is kept.
        let first = self.writes.send(["ZRANGE", key, 0, .integer(-JobLedger.maxListedLinks)])
        first.whenSuccess { answer in
            let entries = (answer.array ?? []).compactMap(\.text)
            for entry in entries.filter({ $0 != new }).prefix(max(0, entries.count - 1)) {
                self.drop(entry).whenSuccess { _ in _ = self.writes.send(["ZREM", key, .text(entry)]) }
            }
        }
    }

    private func issue(
        _ id: String, _ secret: String, _ job: JobID, _ customer: PersonID, _ viewers: Int, _ lifetime: Duration,
        _ actor: PersonID
    ) -> EventLoopFuture<Durable<Issued>> {
        self.writes.evaluateDurably(
            Scripts.issueLink, keys: [self.keyspace.link(id)],
            arguments: [
                .text(job.text), .integer(viewers), .integer(lifetime.milliseconds), .text(actor.text),
                .text(customer.text),
            ]
        ).flatMapThrowing { answer in
            // The link was dropped: the job is being erased, or has too many links.
            if answer.value.array?.first?.integer == 0 { throw NoSuchJob() }
            guard let parts = answer.value.array, parts.first?.integer == 1, parts.count == 2,
                let expiresAt = parts[1].timestamp
            else { throw RedisError.unexpectedAnswer(command: Scripts.issueLink.name) }
            return Durable(
                value: Issued(secret: secret, id: id, expiresAt: expiresAt), replicas: answer.replicas)
        }
    }

    /// Creates a link and returns only its secret.
    package func issue(
        for job: JobID, of customer: PersonID, viewers: Int = Self.defaultViewers,
        lifetime: Duration = Self.maxLifetime, by actor: PersonID
    ) -> EventLoopFuture<String> {
        self.issueDurably(for: job, of: customer, viewers: viewers, lifetime: lifetime, by: actor).map(\.value.secret)
    }

    /// Acquires or renews a viewer lease. If Redis does not reply in time, for example because it is frozen, it may still
    /// acquire the lease later: a session that does not use it then has to `leave`.
    ///
    /// - Parameters:
    ///   - id: of the link.
    ///   - session: unique among the sessions of all gateways, 1 to 64 of [A-Za-z0-9_-].
    package func join(_ id: String, as session: String, lease: Duration = Self.leaseDuration) -> EventLoopFuture<
        JoinResult
    > {
        self.ledger.evaluate(
            Scripts.joinLink, keys: self.keys(id), arguments: [.text(session), .integer(lease.milliseconds)]
        ).flatMapThrowing { answer in
            let parts = answer.array ?? []
            switch parts.first?.integer {
            case 0: return .noSuchLink
            case -1: return .full
            case 1:
                guard parts.count == 4, let job = parts[1].text.flatMap({ JobID($0) }),
                    let expiresAt = parts[2].timestamp, let customer = parts[3].text.flatMap({ PersonID($0) })
                else { break }
                return .leased(job, of: customer, expiresAt: expiresAt)
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.link(id), by: Scripts.joinLink.name)
        }
    }

    /// The job that a link shows, without acquiring a lease; `nil` when there is no such link or it has expired.
    package func read(_ id: String) -> EventLoopFuture<Content?> {
        guard Secret.isValid(id) else { return self.ledger.eventLoop.makeSucceededFuture(nil) }
        let key = self.keyspace.link(id)
        return self.ledger.send(["HMGET", .text(key), "job", "customer", "expires"]).map { answer in
            guard answer != .array([.null, .null, .null]) else { return nil }
            let texts = (answer.array ?? []).compactMap(\.text)
            guard texts.count == 3, let job = JobID(texts[0]), let customer = PersonID(texts[1]),
                let expiresAt = texts[2].timestamp
            else {
                self.ledger.refuse(key, by: "HMGET")
                return nil
            }
            return Content(job: job, customer: customer, expiresAt: expiresAt)
        }
    }

    /// Releases a viewer lease of a session that does not use it any longer. If Redis is unavailable, the future fails,
    /// and the lease is released in the background once Redis is available again, unless it has expired by then.
    package func leave(_ id: String, as session: String) -> EventLoopFuture<Void> {
        self.leave(id, as: session, until: .now() + TimeAmount(Self.leaseDuration))
    }

    private func leave(_ id: String, as session: String, until expiry: NIODeadline) -> EventLoopFuture<Void> {
        let reply = self.ledger.send(["ZREM", .text(self.keyspace.viewers(ofLink: id)), .text(session)]).map { _ in }
        reply.whenFailure { error in
            guard (error as? RedisError)?.isOutage == true, .now() + Self.releasePause < expiry else { return }
            self.ledger.eventLoop.scheduleTask(in: Self.releasePause) {
                _ = self.leave(id, as: session, until: expiry)
            }
        }
        return reply
    }

    /// Deletes a link. Sessions that hold a lease are notified when they next renew it.
    ///
    /// - Returns: whether the link existed.
    package func revoke(_ id: String) -> EventLoopFuture<Bool> {
        guard Secret.isValid(id) else { return self.writes.eventLoop.makeSucceededFuture(false) }
        return self.writes.send(["DEL", .text(self.keyspace.link(id)), .text(self.keyspace.viewers(ofLink: id))])
            .map { ($0.integer ?? 0) > 0 }
    }

    /// Deletes a link, even one that is listed but not written yet. Unlike after `revoke`, it cannot be written
    /// afterwards.
    ///
    /// - Returns: how many keys were deleted.
    func drop(_ id: String) -> EventLoopFuture<Int> {
        self.writes.evaluate(
            Scripts.dropLink, keys: self.keys(id), arguments: [.integer(Self.writingTime.milliseconds)]
        ).map { Int(clamping: $0.array?.first?.integer ?? 0) }
    }

    private func keys(_ id: String) -> [String] { [self.keyspace.link(id), self.keyspace.viewers(ofLink: id)] }
}
