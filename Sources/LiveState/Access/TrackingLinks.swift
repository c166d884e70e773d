// Opaque links to follow one job without an account. Redis never holds what opens one: a link is kept under an id, the
// first half of its secret's digest, at the ledger, so that it outlives the live instance. It has so many places; a session
// holds one for a while and renews it, so that the places of a gateway that died become free by themselves.

package import EnrouteWire
package import NIOCore
package import Redis

/// Tracking links at the ledger. May be used from any thread.
package struct TrackingLinks: Sendable {
    private let ledger: RedisClient
    private let writes: RedisClient
    private let keyspace: Keyspace

    /// Characters of a secret and of an id: 128 bits in hexadecimal.
    package static let length = Secret.length
    /// How long a link is valid at most, and when nothing else is said.
    package static let longestLifetime = Duration.seconds(4 * 3600)
    /// Sessions that may follow by one link at once.
    package static let viewers = 1...100
    package static let defaultViewers = 5
    /// How long a place counts after it was taken or renewed.
    package static let hold = Duration.seconds(150)

    /// A link that was just made.
    package struct Issued: Sendable, Hashable {
        /// Opens it; to be shown once, and kept nowhere.
        package var secret: String
        /// What it is known by.
        package var id: String
        /// ms since the epoch
        package var expiresAt: Int64
    }

    /// What a link is for.
    package struct Content: Sendable, Hashable {
        package var job: JobID
        /// Whose it was when the link was made.
        package var customer: PersonID
    }

    /// What became of a wish for a place.
    package enum Place: Sendable, Hashable {
        /// `of`: whose job it was when the link was made. `expiresAt`: of the link, ms since the epoch.
        case taken(JobID, of: PersonID, expiresAt: Int64)
        case noSuchLink
        case full
    }

    /// - Parameter writes: for what a replica should have too; `nil`: the same.
    package init(ledger: RedisClient, writes: RedisClient? = nil, settings: LiveStateSettings) {
        self.ledger = ledger
        self.writes = writes ?? ledger
        self.keyspace = settings.keyspace
    }

    /// The id of the link that a secret opens; `nil` for what can not be a secret.
    package static func id(of secret: String) -> String? {
        guard Secret.isOne(secret) else { return nil }
        return Secret.name(of: secret)
    }

    /// Makes a link for a job, whether or not there is such a job.
    ///
    /// - Parameters:
    ///   - customer: whose job it is: the link is worth nothing once it is another's.
    ///   - viewers: one of `viewers`.
    ///   - lifetime: at most `longestLifetime`.
    ///   - actor: who makes it.
    /// - Returns: the link, and whether a replica has it.
    package func issueDurably(
        for job: JobID, of customer: PersonID, viewers: Int = Self.defaultViewers,
        lifetime: Duration = Self.longestLifetime, by actor: PersonID
    ) -> EventLoopFuture<Durable<Issued>> {
        let secret = Secret.make()
        guard let id = Self.id(of: secret) else { preconditionFailure("what was made is no secret") }
        return self.writes.evaluateDurably(
            Scripts.issueLink, keys: [self.keyspace.link(id)],
            arguments: [
                .text(job.text), .integer(viewers), .integer(lifetime.milliseconds), .text(actor.text),
                .text(customer.text),
            ]
        ).flatMapThrowing { answer in
            guard let parts = answer.value.array, parts.first?.integer == 1, parts.count == 2,
                let expiresAt = parts[1].moment
            else { throw RedisError.unexpectedAnswer(command: Scripts.issueLink.name) }
            return Durable(
                value: Issued(secret: secret, id: id, expiresAt: expiresAt), replicas: answer.replicas)
        }
    }

    /// The same, its secret alone.
    package func issue(
        for job: JobID, of customer: PersonID, viewers: Int = Self.defaultViewers,
        lifetime: Duration = Self.longestLifetime, by actor: PersonID
    ) -> EventLoopFuture<String> {
        self.issueDurably(for: job, of: customer, viewers: viewers, lifetime: lifetime, by: actor).map(\.value.secret)
    }

    /// Takes a place, or renews it: it counts for another `hold`.
    ///
    /// - Parameters:
    ///   - id: of the link.
    ///   - session: one name for each session of all gateways, 1 to 64 of [A-Za-z0-9_-].
    package func join(_ id: String, as session: String, hold: Duration = Self.hold) -> EventLoopFuture<Place> {
        self.ledger.evaluate(
            Scripts.joinLink, keys: self.keys(id), arguments: [.text(session), .integer(hold.milliseconds)]
        ).flatMapThrowing { answer in
            let parts = answer.array ?? []
            switch parts.first?.integer {
            case 0: return .noSuchLink
            case -1: return .full
            case 1:
                guard parts.count == 4, let job = parts[1].text.flatMap({ JobID($0) }),
                    let expiresAt = parts[2].moment, let customer = parts[3].text.flatMap({ PersonID($0) })
                else { break }
                return .taken(job, of: customer, expiresAt: expiresAt)
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.link(id), by: Scripts.joinLink.name)
        }
    }

    /// What a link is for, without taking a place of it; `nil` when there is none (any more).
    package func read(_ id: String) -> EventLoopFuture<Content?> {
        guard Secret.isOne(id) else { return self.ledger.eventLoop.makeSucceededFuture(nil) }
        let key = self.keyspace.link(id)
        return self.ledger.send(["HMGET", .text(key), "job", "customer"]).map { answer in
            guard answer != .array([.null, .null]) else { return nil }
            let texts = (answer.array ?? []).compactMap(\.text)
            guard texts.count == 2, let job = JobID(texts[0]), let customer = PersonID(texts[1]) else {
                self.ledger.refuse(key, by: "HMGET")
                return nil
            }
            return Content(job: job, customer: customer)
        }
    }

    /// Gives a place back.
    package func leave(_ id: String, as session: String) -> EventLoopFuture<Void> {
        self.ledger.send(["ZREM", .text(self.keyspace.viewers(ofLink: id)), .text(session)]).map { _ in }
    }

    /// Ends a link. Sessions that hold a place are told at their next renewal.
    ///
    /// - Returns: whether there was one.
    package func revoke(_ id: String) -> EventLoopFuture<Bool> {
        guard Secret.isOne(id) else { return self.writes.eventLoop.makeSucceededFuture(false) }
        return self.writes.send(["DEL", .text(self.keyspace.link(id)), .text(self.keyspace.viewers(ofLink: id))])
            .map { ($0.integer ?? 0) > 0 }
    }

    private func keys(_ id: String) -> [String] { [self.keyspace.link(id), self.keyspace.viewers(ofLink: id)] }
}
