// What is good no more although its time is not over: users, tokens, jobs and links. A table, which decides, and one copy
// of it that all event loops and the REST routes of a gateway share. What was revoked is remembered for longer than any
// token lives, and then forgotten, so that the table stays as small as the stream it is read from.

package import EnrouteWire
internal import Synchronization

/// Who or what is revoked.
package enum RevocationSubject: Hashable, Sendable {
    /// Every token of the person that was issued until then.
    case user(PersonID)
    /// `jti`
    case token(String)
    /// For all but operations and services.
    case job(JobID)
    /// The id of a tracking link, which is not its secret.
    case link(String)

    package enum Kind: String, CaseIterable, Sendable {
        case user, token, job, link

        /// How an id of the kind looks, for people.
        package var form: String {
            switch self {
            case .user, .job: "1 to 64 of [A-Za-z0-9_-]"
            case .token: "the jti of a token, 1 to \(RevocationSubject.longestToken) printable ASCII characters"
            case .link: "\(RevocationSubject.linkLength) of [0-9a-f]"
            }
        }
    }

    /// Characters of a `jti`, at most.
    package static let longestToken = 256
    /// Hexadecimal digits of a link's id.
    package static let linkLength = 32

    /// - Returns: `nil` when `id` is not one of its kind.
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
                bytes.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
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

/// What is revoked, and since when. Looking is O(1).
package struct RevocationTable: Sendable {
    private var times: [RevocationSubject: Int64] = [:]

    package init() {}

    package var count: Int { self.times.count }

    /// In any order, and as often as it comes.
    ///
    /// - Returns: whether it was not known before.
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
        // A token says when it was issued in whole seconds: one of the same second may be older.
        guard let at = self.times[.user(grant.person)] else { return false }
        return token.issuedAt <= at / 1000
    }

    package func isRevoked(_ job: JobID) -> Bool { self.times[.job(job)] != nil }

    /// Forgets what is older than `time`, ms since the epoch. O(n).
    package mutating func forget(before time: Int64) { self.times = self.times.filter { $0.value >= time } }
}

/// The table of one gateway, used by all of its loops, for as long as a look into a dictionary takes.
package final class Revocations: Sendable {
    private struct State {
        var table = RevocationTable()
        /// ms since the epoch.
        var forgotAt: Int64 = 0
    }

    private let state = Mutex(State())
    /// How long an entry counts, ms.
    private let retention: Int64

    /// Between two looks for what may be forgotten, ms.
    private static let forgettingPause: Int64 = 60_000

    package init(retentionMilliseconds: Int64 = TokenVerifier.longestLifetime * 1000) {
        self.retention = retentionMilliseconds
    }

    /// - Parameter now: ms since the epoch.
    /// - Returns: those that nobody had applied before.
    package func apply(_ revocations: [Revocation], now: Int64) -> [Revocation] {
        self.state.withLock { state in
            if now >= state.forgotAt + Self.forgettingPause {
                state.forgotAt = now
                // The clocks of the gateway and of Redis may differ, by as much as those of tokens.
                state.table.forget(before: now - self.retention - TokenVerifier.skew * 1000)
            }
            return revocations.filter { state.table.apply($0) }
        }
    }

    package func isRevoked(_ grant: Grant) -> Bool { self.state.withLock { $0.table.isRevoked(grant) } }

    package func isRevoked(_ job: JobID) -> Bool { self.state.withLock { $0.table.isRevoked(job) } }

    /// Whether the job is revoked for this role: for operations and services none is.
    package func hides(_ job: JobID, from role: Role) -> Bool {
        switch role {
        case .customer, .rider: self.isRevoked(job)
        case .ops, .service: false
        }
    }
}
