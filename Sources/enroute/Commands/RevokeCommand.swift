// enroute revoke: revokes directly in Redis, so it works when no gateway responds.

import Access
import ArgumentParser
import EnrouteWire
import LiveState
import NIOCore
import Redis

struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a user, a token, a job or a tracking link.",
        usage: "enroute revoke <kind> <id> [<options>]",
        discussion: wrappable(
            """
            Uses the same configuration as serve. It writes the revocation to the ledger Redis, and every gateway applies it
            within a second: sessions are closed with code 4502, and followers of a job are notified that access has ended.
            A user can sign in again with a token issued more than 30 s after the revocation. It is safe to run the command
            again. Name a link by its id, by its secret, or by the URL of its page in quotes. Exit codes: 0 revoked, 65 no
            such link, 69 Redis is unavailable or the revocation list is full, 78 invalid configuration.

            Examples:
              enroute revoke user customer-1
              enroute revoke token 8d1c3f0a-5b1e-4d7e-9a51-0f3c2b7a9e11 \\
                --reason "lost phone"
              enroute revoke job job-7 --config /etc/enroute/enroute.env
              enroute revoke link 0123456789abcdef0123456789abcdef
              enroute revoke link \\
                'https://example.com/track/job-7#0123456789abcdef0123456789abcdef'
            """))

    @Argument(
        help: "What to revoke: one of \(RevocationSubject.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind: String

    @Argument(help: "The user, the token's jti, the job, or the link: its id, its secret or its URL.")
    var id: String

    @Option(help: "Reason for the record: at most \(RevocationLog.longestReason) bytes.")
    var reason = "command"

    @Option(help: "Who revokes, for the record: 1 to 64 characters of A-Z a-z 0-9 _ -.")
    var actor = "operator"

    @Option(help: configurationFileHelp)
    var config: String?

    func validate() throws {
        guard let kind = RevocationSubject.Kind(rawValue: self.kind) else {
            let kinds = RevocationSubject.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(self.kind) cannot be revoked: it must be one of \(kinds).")
        }
        if kind == .link {
            guard LinkReference(self.id) != nil else {
                throw ValidationError("The link must be \(LinkReference.forms).")
            }
        } else if RevocationSubject(kind, id: self.id) == nil {
            throw ValidationError("The id of a \(kind.rawValue) must be \(kind.form).")
        }
        guard PersonID(self.actor) != nil else {
            throw ValidationError("--actor must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard self.reason.utf8.count <= RevocationLog.longestReason,
            self.reason.utf8.allSatisfy({ $0 >= 32 && $0 != 127 })
        else {
            throw ValidationError(
                "--reason must be at most \(RevocationLog.longestReason) bytes without control characters.")
        }
    }

    func run() async throws {
        try await exitingCleanly {
            let configuration = try ProcessConfiguration(file: self.config, command: "revoke")
            let retention = try configuration.seconds("ENROUTE_JOB_RETENTION_SECONDS")
            try await configuration.withLedger(
                withDev: "send DELETE /api/v1/grants/users/<user> (or tokens, jobs, links) with the token of ops"
            ) { ledger, state in
                var state = state
                state.retention = retention
                try await self.revoke(ledger, state)
            }
        }
    }

    private func revoke(_ ledger: RedisClient, _ state: LiveStateSettings) async throws {
        let subject = try await self.subject(ledger, state)
        // `validate` has checked the actor.
        let answer = try await RevocationLog(ledger: ledger, settings: state)
            .revoke(subject, by: PersonID(self.actor)!, because: self.reason).get()
        guard answer.value == .revoked else {
            throw Unavailable(
                description: "The revocation list is full; nothing was revoked. Entries expire after 50 hours, or "
                    + "2 hours after ENROUTE_JOB_RETENTION_SECONDS if that is later. Retry later.")
        }
        say(
            "revoked \(self.kind) \(subject.id)"
                + (answer.isReplicationUnconfirmed
                    ? "; replication is not confirmed: repeat it after a failover" : ""))
    }

    /// Returns what to revoke. For a link that is named by its secret, this is its id, so that the secret is neither
    /// printed nor stored.
    ///
    /// - Throws: `NoSuchLink`.
    private func subject(_ ledger: RedisClient, _ state: LiveStateSettings) async throws -> RevocationSubject {
        // `validate` has checked both.
        let kind = RevocationSubject.Kind(rawValue: self.kind)!
        guard kind == .link else { return RevocationSubject(kind, id: self.id)! }
        let links = TrackingLinks(ledger: ledger, settings: state)
        guard let id = try await links.find(LinkReference(self.id)!).get() else { throw NoSuchLink() }
        return .link(id)
    }
}

/// No link has this id or secret. The link may have expired, so this is not necessarily a mistake.
struct NoSuchLink: Error, CustomStringConvertible {
    let description =
        "No link has this id or secret: it has expired, or it was not copied completely. Nothing was revoked. To revoke "
        + "every access to its job, use enroute revoke job."
}
