// Single-use tickets for opening a WebSocket. A page cannot send an Authorization header with the upgrade request, and a token
// does not belong in a URL. A ticket is void after a minute or after its first use at any gateway.

internal import Access
internal import Crypto
package import EnrouteWire
package import NIOCore
package import Redis

/// Tickets in the live instance. Safe to use from any thread.
package struct Tickets: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    /// How long a ticket is valid.
    package static let lifetime = Duration.seconds(60)

    /// The grant that a ticket stands for.
    package struct Holder: Sendable, Hashable {
        package var person: PersonID
        package var role: String
        /// The only job it gives access to.
        package var job: JobID?
        /// The only rider whose jobs it gives access to.
        package var rider: PersonID?
        /// `jti` of the token for which the ticket was issued.
        package var token: String
        /// `iat` and `exp` of that token, seconds since the epoch.
        package var issuedAt: Int64
        package var expiresAt: Int64

        package init(
            person: PersonID, role: String, job: JobID?, rider: PersonID?, token: String, issuedAt: Int64,
            expiresAt: Int64
        ) {
            self.person = person
            self.role = role
            self.job = job
            self.rider = rider
            self.token = token
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
        }
    }

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Redis never stores a usable ticket: its key contains the first half of the ticket's digest.
    private func key(of ticket: String) -> String { self.keyspace.ticket(Secret.name(of: ticket)) }

    /// Issues a ticket for a grant.
    ///
    /// - Returns: the ticket, which can be used once.
    package func issue(to holder: Holder) -> EventLoopFuture<String> {
        let ticket = Secret.make()
        let fields = [
            holder.person.text, holder.role, holder.job?.text ?? "", holder.rider?.text ?? "",
            String(holder.issuedAt), String(holder.expiresAt), holder.token,
        ]
        return self.live.send([
            "SET", .text(self.key(of: ticket)), .text(fields.joined(separator: " ")), "PX",
            .integer(Self.lifetime.milliseconds),
        ]).map { _ in ticket }
    }

    /// Redeems a ticket. Of several attempts with the same ticket only one succeeds.
    ///
    /// - Returns: `nil` when there is no such ticket, or it has expired or been used.
    package func redeem(_ ticket: String) -> EventLoopFuture<Holder?> {
        guard Secret.isValid(ticket) else { return self.live.eventLoop.makeSucceededFuture(nil) }
        let key = self.key(of: ticket)
        return self.live.send(["GETDEL", .text(key)]).map { answer in
            self.live.value(answer, of: key, by: "GETDEL", Holder.init)
        }
    }
}

extension Tickets.Holder {
    fileprivate init?(_ value: RESPValue) {
        let fields = (value.text ?? "").split(separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
            .map(String.init)
        // Ignoring a malformed job or rider would grant more than the ticket was issued for.
        guard fields.count == 7, let person = PersonID(fields[0]), Role(rawValue: fields[1]) != nil,
            let job = optional(fields[2], { JobID($0) }), let rider = optional(fields[3], { PersonID($0) }),
            let issuedAt = fields[4].unixSeconds, let expiresAt = fields[5].unixSeconds,
            RevocationSubject(.token, id: fields[6]) != nil
        else { return nil }
        self.init(
            person: person, role: fields[1], job: job, rider: rider, token: fields[6], issuedAt: issuedAt,
            expiresAt: expiresAt)
    }
}

/// Random secrets of 128 bits, in hexadecimal. They cannot be guessed, so even during a lockout they are verified
/// (TrafficControl/Lockout.swift). Shorter secrets must not be.
enum Secret {
    static let length = 32

    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in (generator.next() as UInt64).hexadecimal }.joined()
    }

    /// The name under which a secret is stored: the first half of its SHA-256. The name cannot be used as the secret.
    static func name(of secret: String) -> String {
        SHA256.hash(data: Array(secret.utf8)).prefix(Self.length / 2).hexadecimal
    }

    static func isValid(_ text: String) -> Bool {
        text.utf8.count == Self.length && text.utf8.allSatisfy(\.isLowercaseHexDigit)
    }
}
