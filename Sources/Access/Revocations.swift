// Revocation: users, tokens, jobs and links that are invalid before they expire. RevocationTable decides; Revocations is the
// one copy that all event loops and the REST routes of a gateway share. An entry is remembered for longer than any token can
// live and then dropped, so the table stays as small as the stream it is read from.

package import EnrouteWire
internal import Synchronization

/// What is revoked.
package enum RevocationSubject: Hashable, Sendable {
    /// Every token of this person that was issued up to now, even by a clock that is fast by `TokenVerifier.skew`. So
    /// it also covers tokens that are issued in the next 30 s.
    case user(PersonID)
    /// A token, by its `jti`.
    case token(String)
    /// Access to this job, for every role except operations and services.
    case job(JobID)
    /// A tracking link, by its id, which is not its secret.
    case link(String)

    package enum Kind: String, CaseIterable, Sendable {
        case user, token, job, link

        /// The accepted form of an id of this kind, for error messages.
        package var form: String {
            switch self {
            case .user, .job: "1 to 64 of [A-Za-z0-9_-]"
            case .token: "the jti of a token, 1 to \(RevocationSubject.longestToken) printable ASCII characters"
            case .link: "\(RevocationSubject.linkLength) hexadecimal digits in lower case"
            }
        }
    }

    /// Maximum length of a `jti`, in characters.
    package static let longestToken = 256
    /// Hexadecimal digits of a link's id.
    package static let linkLength = 32

    /// - Returns: `nil` when `id` does not have the form of its kind.
    package init?(_ kind: Kind, id: String) {
        let bytes = id.utf8
        switch kind {
        case .user:
            guard let person = PersonID(id) else { return nil }
            self = .user(person)
        case .token:
            guard (1...Self.longestToken).contains(bytes.count), bytes.allSatisfy({ (33...126).contains($0) }) else {
                return nil
            }
            self = .token(id)
        case .job:
            guard let job = JobID(id) else { return nil }
            self = .job(job)
        case .link:
            guard bytes.count == Self.linkLength,
                bytes.allSatisfy(\.isLowercaseHexDigit)
            else { return nil }
            self = .link(id)
        }
    }

    package var kind: Kind {
        switch self {
        case .user: .user
        case .token: .token
        case .job: .job
        case .link: .link
        }
    }

    package var id: String {
        switch self {
        case .user(let person): person.text
        case .token(let id), .link(let id): id
        case .job(let job): job.text
        }
    }
}

/// One entry of the stream.
package struct Revocation: Hashable, Sendable {
    package let subject: RevocationSubject
    /// When, ms since the epoch, by the clock of Redis.
    package let at: Int64

    package init(_ subject: RevocationSubject, at: Int64) {
        self.subject = subject
        self.at = at
    }
}

/// Which subjects are revoked, and since when. Lookups are O(1).
package struct RevocationTable: Sendable {
    private var times: [RevocationSubject: Int64] = [:]

    package init() {}

    package var count: Int { self.times.count }

    /// Adds a revocation. Order and repetitions do not matter.
    ///
    /// - Returns: whether it was unknown.
    package mutating func apply(_ revocation: Revocation) -> Bool {
        guard revocation.at > self.times[revocation.subject] ?? .min else { return false }
        self.times[revocation.subject] = revocation.at
        return true
    }

    package func isRevoked(_ grant: Grant) -> Bool {
        guard !self.times.isEmpty else { return false }
        if let link = grant.link, self.times[.link(link)] != nil { return true }
        guard let token = grant.token else { return false }
        if self.times[.token(token.id)] != nil { return true }
        // The clock of an issuer may be fast by as much as is tolerated, so a token with a later `iat` may be older than the
        // revocation. `iat` has a resolution of one second.
        guard let at = self.times[.user(grant.person)] else { return false }
        return token.issuedAt <= at / 1000 + TokenVerifier.skew
    }

    package func isRevoked(_ job: JobID) -> Bool { self.times[.job(job)] != nil }

    /// When it was revoked, ms since the epoch; `nil` if it was not.
    package func time(of subject: RevocationSubject) -> Int64? { self.times[subject] }

    /// Removes entries older than `time`, ms since the epoch. O(n).
    package mutating func removeEntries(before time: Int64) { self.times = self.times.filter { $0.value >= time } }
}

/// The revocation table of one gateway, shared by all loops. The lock is held for one dictionary lookup.
package final class Revocations: Sendable {
    private struct State {
        var table = RevocationTable()
        /// ms since the epoch.
        var forgotAt: Int64 = 0
    }

    private let state = Mutex(State())
    /// How long an entry is kept, ms.
    private let retention: Int64

    /// Minimum time between two removals of old entries, ms.
    private static let forgettingPause: Int64 = 60_000

    package init(retentionMilliseconds: Int64 = TokenVerifier.longestRevocation * 1000) {
        self.retention = retentionMilliseconds
    }

    /// Adds revocations, and removes expired entries at most once a minute.
    ///
    /// - Parameter now: ms since the epoch.
    /// - Returns: the revocations that were not in the table before.
    package func apply(_ revocations: [Revocation], now: Int64) -> [Revocation] {
        self.state.withLock { state in
            if now >= state.forgotAt + Self.forgettingPause {
                state.forgotAt = now
                // The clocks of the gateway and of Redis may differ by the skew that is tolerated for tokens.
                state.table.removeEntries(before: now - self.retention - TokenVerifier.skew * 1000)
            }
            return revocations.filter { state.table.apply($0) }
        }
    }

    package func isRevoked(_ grant: Grant) -> Bool { self.state.withLock { $0.table.isRevoked(grant) } }

    package func isRevoked(_ job: JobID) -> Bool { self.state.withLock { $0.table.isRevoked(job) } }

    /// When it was revoked, ms since the epoch; `nil` if it was not.
    package func time(of subject: RevocationSubject) -> Int64? {
        self.state.withLock { $0.table.time(of: subject) }
    }

    /// Whether the job is revoked for this role; never for operations and services.
    package func hides(_ job: JobID, from role: Role) -> Bool {
        switch role {
        case .customer, .rider: self.isRevoked(job)
        case .ops, .service: false
        }
    }
}
